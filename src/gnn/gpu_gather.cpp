// Gathers into a GPU's memory, timed and checked: by kernels, and by the copy engine.

#include "gpu_gather.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "gpu_tables.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "grainscope/system/numa.hpp"
#include "staged_copy.hpp"
#include "staged_rows.hpp"

namespace grainscope::gnn {

std::vector<cuda::DeviceBuffer> copy_to_gpu(const RowLists& lists, int gpu) {
  std::vector<cuda::DeviceBuffer> copies;
  for (const std::vector<std::uint32_t>& list : lists) {
    const std::uint64_t bytes = list.size() * sizeof(std::uint32_t);
    copies.emplace_back(gpu, bytes);
    cuda::check(cudaMemcpy(copies.back().data(), list.data(), bytes, cudaMemcpyHostToDevice),
                "copy a list of rows to the GPU");
  }
  return copies;
}

GpuGather::GpuGather(FeatureStore& store, RowLists lists)
    : store_(store),
      lists_(std::move(lists)),
      guard_(gpu()),
      device_lists_(copy_to_gpu(lists_, gpu())),
      rig_(gpu(), lists_.size(), count() * row_bytes(), cuda::GatherRig::Word::lowest) {}

void GpuGather::prepare() {
  store_.make_cold();
  prepare_others();
  rig_.make_cold(stream_);
}

void GpuGather::check(std::size_t list) {
  if (const Features* const own = store_.features()) {
    unlike_file_ += count_unlike_file(*own, out(), on_host(list), stream_);
  } else {
    check_rows(out(), on_gpu(list), count(), store_.shape(), rig_.word(), stream_);
  }
}

double GpuGather::run() {
  const std::size_t list = rig_.next_list();
  const double seconds = move(list);
  if (const auto moved = store_.moved_bytes()) {
    moved_bytes_.push_back(*moved);
  }
  check(list);
  return seconds;
}

double GpuGather::time_ungated_s(const std::function<void()>& enqueue) const {
  stream_.synchronize();
  start_.record(stream_);
  enqueue();
  stop_.record(stream_);
  stop_.synchronize();
  return cuda::elapsed_s(start_, stop_);
}

void GpuGather::run_counted() {
  if (issue(0)) {
    check(0);
    stream_.synchronize();
  }
}

std::string GpuGather::verify() {
  const Features* const own = store_.features();
  if (own == nullptr) {
    require_rows_right(rig_, stream_);
  } else if (rig_.samples() == 0 || unlike_file_ > 0) {
    throw FailedError(rig_.samples() == 0
                          ? "wrong result: no rows were gathered"
                          : "wrong result: " + std::to_string(unlike_file_) +
                                " elements of gathers' outputs are not those of " + own->file()->path());
  }
  return "every byte of every sample's output against " +
         (own != nullptr ? own->spoken() : Features().spoken());
}

void GpuGather::describe(Measurement& measurement) {
  if (!moved_bytes_.empty()) {
    std::vector<std::uint64_t> ordered = moved_bytes_;
    std::sort(ordered.begin(), ordered.end());
    measurement.link_bytes_least = ordered[(ordered.size() - 1) / 2];
    measurement.counters["moved_bytes"] = static_cast<double>(*measurement.link_bytes_least);
  }
}

std::unique_ptr<Operation> make_gpu_gather(FeatureStore& store, RowLists lists,
                                           const GatherRequest& request) {
  switch (request.mode) {
    case Mode::cpu_gather_dma:
      return make_staged_gather(store, std::move(lists), request);
    case Mode::row_dma:
      return make_row_dma(store, std::move(lists));
    default:
      return make_kernel_gather(store, std::move(lists), request);
  }
}

// Gathers by kernels: the sort, where the mode has one, and the kernel, between two events behind a gate.

namespace {

// A GPU that gathers its share of each list over its own link, right into the output of the one that asked.
class Neighbour {
 public:
  // On `gpu`, which is current.
  Neighbour(const FeatureStore& store, const RowLists& lists, const GatherRequest& request, int gpu,
            Share share, std::byte* out)
      : gpu_(gpu),
        access_(gpu, store.request().gpu),
        lists_(copy_to_gpu(cut(lists, share), gpu)),
        count_(share.last - share.first),
        out_(out + share.first * store.shape().row_bytes),
        rig_(gpu, lists.size(), 0, cuda::GatherRig::Word::lowest),
        kernel_(store.view(), request.mode, request.width, gpu, request.blocks) {
    if (sorts(request.mode)) {
      order_ = std::make_unique<AddressOrder>(gpu, count_, store.shape().rows);
    }
  }

  void make_cold() const {
    const cuda::DeviceGuard guard(gpu_);
    rig_.make_cold(stream_);
    stream_.synchronize();
  }

  // Behind `begun`.
  void enqueue(std::size_t list, const cuda::Event& begun) {
    const cuda::DeviceGuard guard(gpu_);
    stream_.wait_for(begun);
    const auto* const rows = static_cast<const std::uint32_t*>(lists_[list].data());
    kernel_.launch(order_ != nullptr ? order_->sort(rows, count_, out_, stream_)
                                     : GatherLists{rows, nullptr, count_, out_},
                   stream_);
    done_.record(stream_);
  }
  [[nodiscard]] const cuda::Event& done() const { return done_; }

 private:
  static RowLists cut(const RowLists& lists, Share share) {
    RowLists parts;
    for (const std::vector<std::uint32_t>& list : lists) {
      parts.emplace_back(list.begin() + static_cast<std::ptrdiff_t>(share.first),
                         list.begin() + static_cast<std::ptrdiff_t>(share.last));
    }
    return parts;
  }

  int gpu_;
  cuda::PeerAccess access_;
  std::vector<cuda::DeviceBuffer> lists_;
  std::uint64_t count_;
  std::byte* out_;
  cuda::GatherRig rig_;  // for its evictor
  GatherKernel kernel_;
  std::unique_ptr<AddressOrder> order_;
  cuda::Stream stream_;
  cuda::Event done_;
};

class KernelGather final : public GpuGather {
 public:
  KernelGather(FeatureStore& store, RowLists lists, const GatherRequest& request)
      : GpuGather(store, std::move(lists)),
        kernel_(store.view(), request.mode, request.width, gpu(), request.blocks) {
    const std::size_t ranks = request.neighbours.size() + 1;
    own_ = share_of_gpu(count(), 0, ranks).last;
    if (sorts(request.mode) && own_ > 0) {
      order_ = std::make_unique<AddressOrder>(gpu(), own_, store.shape().rows);
    }
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const Share share = share_of_gpu(count(), rank, ranks);
      if (share.first == share.last) {
        continue;  // of a list of few rows
      }
      const int neighbour = request.neighbours[rank - 1];
      const cuda::DeviceGuard guard(neighbour);
      neighbours_.push_back(
          std::make_unique<Neighbour>(store, this->lists(), request, neighbour, share, out()));
    }
  }

  // Accesses go in the reverse order of their beginning.
  ~KernelGather() override {
    while (!neighbours_.empty()) {
      neighbours_.pop_back();
    }
  }

  [[nodiscard]] Timing timing() const override {
    if (store().begins()) {
      return {
          Clock::event, false,
          "a prefetch of the table, in which the driver works, and the gather between two events on an idle "
          "stream"};
    }
    std::string what = order_ != nullptr ? "a sort of the rows and one kernel" : "one kernel";
    what += neighbours_.empty() ? " between two events"
                                : " on each GPU, until the last is done, between two events of the first";
    return {Clock::event, true, what};
  }

  void describe(Measurement& measurement) override {
    GpuGather::describe(measurement);
    if (order_ == nullptr) {
      return;
    }
    std::array<double, 9> seconds{};
    for (double& each : seconds) {
      each = stopwatch().time_s(stream(),
                                [&] { static_cast<void>(order_->sort(on_gpu(0), own_, out(), stream())); });
    }
    std::sort(seconds.begin(), seconds.end());
    measurement.counters["sort_s"] = seconds[seconds.size() / 2];
  }

 protected:
  void prepare_others() override {
    for (const auto& each : neighbours_) {
      each->make_cold();
    }
  }
  double move(std::size_t list) override {
    const auto enqueue = [&] { static_cast<void>(issue(list)); };
    return store().begins() ? time_ungated_s(enqueue) : stopwatch().time_s(stream(), enqueue);
  }
  bool issue(std::size_t list) override {
    store().begin(stream());
    if (!neighbours_.empty()) {
      begun_.record(stream());
    }
    for (const auto& each : neighbours_) {
      each->enqueue(list, begun_);
    }
    if (own_ > 0) {
      kernel_.launch(order_ != nullptr ? order_->sort(on_gpu(list), own_, out(), stream())
                                       : GatherLists{on_gpu(list), nullptr, own_, out()},
                     stream());
    }
    for (const auto& each : neighbours_) {
      stream().wait_for(each->done());
    }
    return true;
  }

 private:
  GatherKernel kernel_;
  std::unique_ptr<AddressOrder> order_;
  std::uint64_t own_ = 0;  // rows of each list that this GPU gathers itself
  cuda::Event begun_;
  std::vector<std::unique_ptr<Neighbour>> neighbours_;
};

}  // namespace

std::unique_ptr<Operation> make_kernel_gather(FeatureStore& store, RowLists lists,
                                              const GatherRequest& request) {
  return std::make_unique<KernelGather>(store, std::move(lists), request);
}

class StagedCopy::Engine final : public Outbox {
 public:
  Engine(StagedCopy& of, std::byte* out, const cuda::Stream& stream) : of_(of), out_(out), stream_(stream) {}

  [[nodiscard]] std::size_t buffers() const override { return of_.buffers_.size(); }
  [[nodiscard]] std::byte* buffer(std::size_t which) override {
    return static_cast<std::byte*>(of_.buffers_[which].memory.data());
  }
  [[nodiscard]] bool is_free(std::size_t which) override { return of_.buffers_[which].free.done(); }
  void send(std::size_t which, std::uint64_t first, std::uint64_t count) override {
    const std::uint64_t row_bytes = of_.view_.shape.row_bytes;
    cuda::check(cudaMemcpyAsync(out_ + first * row_bytes, buffer(which), count * row_bytes,
                                cudaMemcpyHostToDevice, stream_.get()),
                "copy gathered rows to the GPU");
    of_.buffers_[which].free.record(stream_);
  }

 private:
  StagedCopy& of_;
  std::byte* out_;
  const cuda::Stream& stream_;
};

StagedCopy::StagedCopy(const TableView& view, int threads, const std::vector<int>& cpus)
    : view_(view),
      rows_of_piece_(std::max<std::uint64_t>(1, kPieceBytes / view.shape.row_bytes)),
      team_(threads, cpus) {
  for (std::size_t i = 0; i < kBuffers; ++i) {
    buffers_.emplace_back(rows_of_piece_ * view.shape.row_bytes);
  }
}

void StagedCopy::enqueue(std::span<const std::uint32_t> rows, std::byte* out, const cuda::Stream& stream) {
  Engine engine(*this, out, stream);
  stage_rows(team_, view_, rows, rows_of_piece_, engine);
}

// Gathers by the copy engine: of rows that threads have put side by side before, and of each row by itself.

namespace {

constexpr std::uint64_t kMostBehindAGate = 512;  // copies: a stream holds about a thousand

class StagedGather final : public GpuGather {
 public:
  StagedGather(FeatureStore& store, RowLists lists, const GatherRequest& request)
      : GpuGather(store, std::move(lists)), copy_(store.view(), request.threads, current_affinity()) {}

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false, "threads that gather into buffers, and the buffers' copies beside them"};
  }

 protected:
  double move(std::size_t list) override {
    const OnCpu placed(copy_.callers_cpu());
    stream().synchronize();
    const double start_s = steady_now_s();
    copy_.enqueue(on_host(list), out(), stream());
    stream().synchronize();
    return steady_now_s() - start_s;
  }

 private:
  StagedCopy copy_;
};

class RowDma final : public GpuGather {
 public:
  RowDma(FeatureStore& store, RowLists lists) : GpuGather(store, std::move(lists)) {}

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, gated(), "a copy for each row between two events"};
  }

 protected:
  double move(std::size_t list) override {
    if (gated()) {
      return stopwatch().time_s(stream(), [&] { enqueue(list); });
    }
    // Too many for a gate: each submission is about as dear as its copy.
    return time_ungated_s([&] { enqueue(list); });
  }

 private:
  [[nodiscard]] bool gated() const { return count() <= kMostBehindAGate; }

  void enqueue(std::size_t list) const {
    std::byte* to = out();
    for (const std::uint32_t row : on_host(list)) {
      cuda::check(
          cudaMemcpyAsync(to, store().view().row(row), row_bytes(), cudaMemcpyHostToDevice, stream().get()),
          "copy a row to the GPU");
      to += row_bytes();
    }
  }
};

}  // namespace

std::unique_ptr<Operation> make_staged_gather(FeatureStore& store, RowLists lists,
                                              const GatherRequest& request) {
  return std::make_unique<StagedGather>(store, std::move(lists), request);
}

std::unique_ptr<Operation> make_row_dma(FeatureStore& store, RowLists lists) {
  return std::make_unique<RowDma>(store, std::move(lists));
}

}  // namespace grainscope::gnn
