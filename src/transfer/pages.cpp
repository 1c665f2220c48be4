// Copies of pages that lie scattered, as lanes and movers: one by one, in a batch, as a graph, by one kernel,
// gathered into one contiguous copy, and by kernels of several GPUs.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/statistics.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/transfer/shape_copy.hpp"
#include "shape_lane.hpp"

namespace grainscope::transfer {

PageEnds::PageEnds(const PageCopy& copy, const Surroundings& surroundings)
    : copy_(copy),
      source_table_(source_table(copy.pages)),
      destination_table_(destination_table(copy.pages)),
      source_(copy.source, copy.pages.memory_bytes(copy.pages.source), surroundings, 0, copy.relay.gpus),
      destination_(copy.destination, copy.pages.memory_bytes(copy.pages.destination), surroundings, 0,
                   copy.relay.gpus) {}

void PageEnds::fill() const {
  source_.fill(kPayload);
  destination_.fill(kPoison);
}

void PageEnds::poison() const {
  if (!destination_.on_host()) {
    destination_.fill(kPoison);
    return;
  }
  // By the GPU: what the CPU wrote last would be in its caches, and what it needs to submit copies no longer.
  const cuda::Stream stream;
  const std::uint64_t words = (copy_.pages.memory_bytes(copy_.pages.destination) + 3) / sizeof(std::uint32_t);
  cuda::fill_pattern(reinterpret_cast<std::uint32_t*>(destination_.device_data()), words, kPoison, stream);
  stream.synchronize();
}

void PageEnds::flush() const {
  source_.flush();
  destination_.flush();
}

std::vector<PieceCopy> PageEnds::pieces(bool for_kernel) const {
  const std::byte* from = for_kernel ? source_.device_data() : source_.data();
  std::byte* to = for_kernel ? destination_.device_data() : destination_.data();
  const Pages& pages = copy_.pages;
  std::vector<PieceCopy> pieces;
  pieces.reserve(pages.count);
  for (std::size_t i = 0; i < pages.count; ++i) {
    pieces.push_back({to + pages.slot_offset(destination_table_[i]),
                      from + pages.slot_offset(source_table_[i]), pages.page_bytes});
  }
  return pieces;
}

std::string PageEnds::verify() const {
  const HostView found = destination_.read();
  if (const auto wrong = find_page_mismatch(found.data, copy_.pages)) {
    throw FailedError("wrong result: byte " + std::to_string(*wrong) +
                      " of the pool at the destination is not what it must be; a page is missing or "
                      "misplaced, or something was written between the pages");
  }
  return "every byte of every page at the destination, which held other data before the last sample, and "
         "that every byte between and around the pages still does";
}

namespace {

// The ways to submit many copies.
class OneByOne final : public PieceCopier {
 public:
  explicit OneByOne(const std::vector<PieceCopy>& pieces) : pieces_(pieces) {}

  void issue(const cuda::Stream& stream) override {
    for (const PieceCopy& piece : pieces_) {
      cuda::check(cudaMemcpyAsync(piece.to, piece.from, piece.bytes, cudaMemcpyDefault, stream.get()),
                  "copy one piece of many");
    }
  }
  [[nodiscard]] std::uint64_t copies() const override { return pieces_.size(); }

 private:
  std::vector<PieceCopy> pieces_;
};

class InOneBatch final : public PieceCopier {
 public:
  InOneBatch(const std::vector<PieceCopy>& pieces, bool merge) : pieces_(pieces), merge_(merge) {
    if (!cuda::kHasBatchCopy) {
      throw SkipError("needs CUDA 12.8: this program was built with an older one");
    }
    if (merge) {
      merged_.reserve(pieces.size());
    }
    to_.reserve(pieces.size());
    from_.reserve(pieces.size());
    sizes_.reserve(pieces.size());
  }

  void issue(const cuda::Stream& stream) override {
    make_arrays();
    const cudaError_t status =
        cuda::copy_batch(to_.data(), from_.data(), sizes_.data(), sizes_.size(), stream.get());
    if (status == cudaErrorCallRequiresNewerDriver) {
      static_cast<void>(cudaGetLastError());
      throw SkipError("needs a driver for CUDA 12.8");
    }
    cuda::check(status, "copy many pieces by cudaMemcpyBatchAsync");
  }
  [[nodiscard]] std::uint64_t copies() const override { return sizes_.size(); }

 private:
  void make_arrays() {
    if (merge_) {
      merge_runs(pieces_, merged_);
    }
    to_.clear();
    from_.clear();
    sizes_.clear();
    for (const PieceCopy& piece : merge_ ? merged_ : pieces_) {
      to_.push_back(piece.to);
      from_.push_back(piece.from);
      sizes_.push_back(piece.bytes);
    }
  }

  std::vector<PieceCopy> pieces_;
  std::vector<PieceCopy> merged_;
  bool merge_;
  std::vector<void*> to_;
  std::vector<const void*> from_;
  std::vector<std::size_t> sizes_;
};

class AsGraph final : public PieceCopier {
 public:
  explicit AsGraph(const std::vector<PieceCopy>& pieces) : copies_(pieces.size()) {
    for (const PieceCopy& piece : pieces) {
      graph_.add(piece.to, piece.from, piece.bytes);
    }
    const cuda::Stream stream;
    graph_.instantiate(stream);
    stream.synchronize();
  }

  void issue(const cuda::Stream& stream) override { graph_.launch(stream); }
  [[nodiscard]] std::uint64_t copies() const override { return copies_; }

 private:
  std::uint64_t copies_;
  cuda::CopyGraph graph_;
};

// A program's pages are others each time. So the table comes to the GPU each time, or the kernel reads it
// where it lies: beside pages that cross the link an entry costs less than a copy before the kernel.
class ByKernel final : public PieceCopier {
 public:
  ByKernel(const std::vector<PieceCopy>& pieces, bool bulk, TableAt table, std::optional<unsigned> blocks)
      : on_host_(pieces.size() * sizeof(PieceCopy), cuda::PinnedBuffer::Kind::cached) {
    if (table == TableAt::gpu) {
      on_gpu_.emplace(cuda::current_gpu(), on_host_.bytes());
    }
    std::copy(pieces.begin(), pieces.end(), static_cast<PieceCopy*>(on_host_.data()));
    load_piece_kernel(bulk);
    launch_.table = static_cast<const PieceCopy*>(on_gpu_ ? on_gpu_->data() : on_host_.device_data());
    launch_.pieces = pieces.size();
    launch_.bulk = bulk;
    for (const PieceCopy& piece : pieces) {
      launch_.largest_bytes = std::max(launch_.largest_bytes, piece.bytes);
      if (bulk && (reinterpret_cast<std::uintptr_t>(piece.to) | reinterpret_cast<std::uintptr_t>(piece.from) |
                   piece.bytes) %
                          kBulkBytes !=
                      0) {
        throw UsageError("bulk copies move multiples of " + std::to_string(kBulkBytes) +
                         " B from and to addresses that are");
      }
    }
    launch_.blocks = piece_blocks(launch_.pieces, launch_.largest_bytes, bulk, blocks);
  }

  void issue(const cuda::Stream& stream) override {
    if (on_gpu_) {
      cuda::check(cudaMemcpyAsync(on_gpu_->data(), on_host_.data(), on_gpu_->bytes(), cudaMemcpyHostToDevice,
                                  stream.get()),
                  "bring a table of pieces to the GPU");
    }
    launch_piece_kernel(launch_, stream);
  }
  [[nodiscard]] unsigned blocks() const override { return launch_.blocks; }

 private:
  cuda::PinnedBuffer on_host_;
  std::optional<cuda::DeviceBuffer> on_gpu_;
  PieceLaunch launch_;
};

}  // namespace

std::unique_ptr<PieceCopier> make_piece_copier(PageMethod method, const std::vector<PieceCopy>& pieces,
                                               TableAt table, std::optional<unsigned> blocks) {
  switch (method) {
    case PageMethod::one_by_one:
      return std::make_unique<OneByOne>(pieces);
    case PageMethod::batch:
    case PageMethod::batch_merged:
      return std::make_unique<InOneBatch>(pieces, method == PageMethod::batch_merged);
    case PageMethod::graph:
      return std::make_unique<AsGraph>(pieces);
    case PageMethod::kernel:
    case PageMethod::bulk:
      return std::make_unique<ByKernel>(pieces, method == PageMethod::bulk, table, blocks);
    case PageMethod::staged:
    case PageMethod::cpu_gather:
    case PageMethod::relay:
      break;
  }
  throw UsageError(
      "pages are staged in buffers of their own, or copied by several GPUs: make a mover of them");
}

namespace {

// Over a link so many blocks of the kernel, on as many multiprocessors, have several times the bytes under
// way that it takes; more would be taken from other kernels for nothing.
constexpr unsigned kBlocksOverLink = 8;

// Timed by the host's clock, since submitting the copies is half of their price.
class PageLane : public ShapeLane<PageCopy, PageEnds> {
 public:
  PageLane(const PageCopy& copy, const Surroundings& surroundings)
      : ShapeLane(copy, copy.pages.bytes(), surroundings) {}

  void prepare() override {
    ends().poison();
    if (copy().flush) {
      ends().flush();
    }
  }

  void issue(const cuda::Stream& stream) final {
    const double start_s = thread_cpu_s();
    copy_pages(stream);
    cpu_s_.push_back(thread_cpu_s() - start_s + others_cpu_s());
  }

  [[nodiscard]] Conduct conduct() const final { return Conduct::hosted; }

  void describe(Measurement& measurement) const override {
    measurement.counters["cpu_s"] = summarize(cpu_s_).median;
  }

 protected:
  virtual void copy_pages(const cuda::Stream& stream) = 0;
  // CPU time that threads beside the caller took for the last one.
  [[nodiscard]] virtual double others_cpu_s() const { return 0; }

 private:
  std::vector<double> cpu_s_;
};

// Of the kernel that copies the pages of `copy`.
std::optional<unsigned> blocks_of(const PageCopy& copy) {
  return copy.blocks || !copy.has_host() ? copy.blocks : std::optional(kBlocksOverLink);
}

void describe_blocks(unsigned blocks, Measurement& measurement) {
  measurement.counters["blocks"] = blocks;
  measurement.counters["multiprocessors"] = std::min<double>(blocks, cuda::sm_count(cuda::current_gpu()));
}

// Each page copied from place to place.
class DirectPageLane final : public PageLane {
 public:
  DirectPageLane(const PageCopy& copy, const Surroundings& surroundings)
      : PageLane(copy, surroundings),
        copier_(make_piece_copier(copy.method, ends().pieces(has_blocks(copy.method)),
                                  copy.has_host() ? TableAt::host : TableAt::gpu, blocks_of(copy))) {}

  [[nodiscard]] bool launches_kernels() const override { return has_blocks(copy().method); }

  [[nodiscard]] std::string action() const override {
    switch (copy().method) {
      case PageMethod::one_by_one:
        return "one cudaMemcpyAsync a page";
      case PageMethod::batch:
        return "one cudaMemcpyBatchAsync";
      case PageMethod::batch_merged:
        return "one cudaMemcpyBatchAsync of merged runs";
      case PageMethod::graph:
        return "one launch of a graph of copies";
      case PageMethod::kernel:
        return "one kernel that copies all pages";
      default:
        return "one kernel that copies all pages in bulk";
    }
  }

  void describe(Measurement& measurement) const override {
    PageLane::describe(measurement);
    if (copier_->blocks() > 0) {
      describe_blocks(copier_->blocks(), measurement);
    } else {
      measurement.counters["copies"] = static_cast<double>(copier_->copies());
    }
  }

 private:
  void copy_pages(const cuda::Stream& stream) override { copier_->issue(stream); }

  std::unique_ptr<PieceCopier> copier_;
};

constexpr std::uint64_t kMostGatherers = 8;
constexpr std::uint64_t kBytesPerGatherer = 512 * kKiB;
// Where the host has a part in it, so much is copied while the next is gathered.
constexpr std::uint64_t kBytesOfPart = 2 * kMiB;
constexpr std::uint64_t kMostParts = 16;

// Pages gathered into a contiguous buffer beside the source, one contiguous copy, scattered from a buffer
// beside the destination: by kernels on GPUs, by threads on the host. What lies packed needs no buffer.
class StagedPageLane final : public PageLane {
 public:
  StagedPageLane(const PageCopy& copy, const Surroundings& surroundings)
      : PageLane(copy, surroundings), pieces_(ends().pieces(false)) {
    const std::uint64_t from_bytes = stage_bytes(copy, copy.pages.source);
    const std::uint64_t to_bytes = stage_bytes(copy, copy.pages.destination);
    if (from_bytes > 0) {
      from_stage_.emplace(copy.source, from_bytes, surroundings);
    }
    if (to_bytes > 0) {
      to_stage_.emplace(copy.destination, to_bytes, surroundings);
    }
    from_ = from_stage_ ? from_stage_->data() : pieces_.front().from;
    to_ = to_stage_ ? to_stage_->data() : pieces_.front().to;
    if (copy.method == PageMethod::cpu_gather) {
      take_gatherers(surroundings);
    }
    if (from_stage_ && !from_stage_->on_host()) {
      gather_ = make_piece_copier(PageMethod::kernel, staged_at_source());
    }
    if (to_stage_ && !to_stage_->on_host()) {
      const cuda::DeviceGuard guard(copy.destination.id);
      scatter_ = make_piece_copier(PageMethod::kernel, staged_at_destination());
    }
    if (copy.between_gpus()) {
      at_destination_.emplace(copy.destination.id);
    }
  }

  void prepare() override {
    PageLane::prepare();
    if (gatherers_) {
      on_cpu_.emplace(gatherers_->callers_cpu());
    }
  }
  void check_sample() override { on_cpu_.reset(); }

  [[nodiscard]] bool on_callers_thread() const override { return !gatherers_ || gatherers_->size() == 1; }

  [[nodiscard]] std::string action() const override {
    return gatherers_ ? "host threads that gather or scatter, contiguous copies beside them, and a kernel on "
                        "the GPU's side"
                      : "kernels that gather and scatter around one contiguous copy";
  }

  void describe(Measurement& measurement) const override {
    PageLane::describe(measurement);
    measurement.counters["copies"] = static_cast<double>(parts_.size() + 1);
    if (gatherers_) {
      measurement.counters["host_threads"] = gatherers_->size();
    }
    const unsigned blocks = std::max(gather_ ? gather_->blocks() : 0U, scatter_ ? scatter_->blocks() : 0U);
    if (blocks > 0) {
      describe_blocks(blocks, measurement);
    }
  }

 private:
  void take_gatherers(const Surroundings& surroundings) {
    const std::vector<int>& cpus = surroundings.topology->find_node(copy().node())->allowed_cpus;
    const std::uint64_t most = std::min<std::uint64_t>(cpus.size(), kMostGatherers);
    const std::uint64_t useful = copy().pages.bytes() / kBytesPerGatherer;
    gatherers_.emplace(static_cast<int>(std::clamp<std::uint64_t>(useful, 1, most)), cpus);
    worker_cpu_s_.resize(static_cast<std::size_t>(gatherers_->size()));
    const std::uint64_t parts = copy().pages.bytes() / kBytesOfPart;
    const std::uint64_t most_parts = std::min(kMostParts, copy().pages.count);
    // An event behind each part but the last.
    parts_ = std::vector<cuda::Event>(std::clamp<std::uint64_t>(parts, 1, most_parts) - 1);
  }

  [[nodiscard]] std::vector<PieceCopy> staged_at_source() const {
    std::vector<PieceCopy> staged = pieces_;
    for (std::size_t i = 0; i < staged.size(); ++i) {
      staged[i].to = from_stage_->data() + i * copy().pages.page_bytes;
    }
    return staged;
  }
  [[nodiscard]] std::vector<PieceCopy> staged_at_destination() const {
    std::vector<PieceCopy> staged = pieces_;
    for (std::size_t i = 0; i < staged.size(); ++i) {
      staged[i].from = to_stage_->data() + i * copy().pages.page_bytes;
    }
    return staged;
  }

  void copy_pages(const cuda::Stream& stream) override {
    std::fill(worker_cpu_s_.begin(), worker_cpu_s_.end(), 0);
    if (gather_) {
      gather_->issue(stream);
    }
    const auto parts = static_cast<int>(parts_.size()) + 1;
    const bool gathered_by_host = gatherers_ && from_stage_ && from_stage_->on_host();
    const bool scattered_by_host = gatherers_ && to_stage_ && to_stage_->on_host();
    for (int part = 0; part < parts; ++part) {
      const Share pages = share_of(pieces_.size(), part, parts);
      if (gathered_by_host) {
        on_host(pages, true);
      }
      copy_staged(pages, stream);
      if (scattered_by_host && part + 1 < parts) {
        parts_[static_cast<std::size_t>(part)].record(stream);
      }
    }
    for (int part = 0; scattered_by_host && part < parts; ++part) {
      if (part + 1 < parts) {
        parts_[static_cast<std::size_t>(part)].synchronize();
      } else {
        stream.synchronize();
      }
      on_host(share_of(pieces_.size(), part, parts), false);
    }
    if (scatter_ && at_destination_) {
      at_destination_->run(stream, [&](const cuda::Stream& there) { scatter_->issue(there); });
    } else if (scatter_) {
      scatter_->issue(stream);
    }
  }

  void copy_staged(const Share& pages, const cuda::Stream& stream) const {
    const std::uint64_t page_bytes = copy().pages.page_bytes;
    const std::uint64_t first = pages.first * page_bytes;
    cuda::check(cudaMemcpyAsync(to_ + first, from_ + first, (pages.last - pages.first) * page_bytes,
                                cudaMemcpyDefault, stream.get()),
                "copy gathered pages");
  }

  // Pages from their slots to the buffer beside them, or back.
  void on_host(const Share& pages, bool gather) {
    const std::uint64_t page_bytes = copy().pages.page_bytes;
    gatherers_->spread([&](int worker) {
      const double start_s = thread_cpu_s();
      const Share own = share_of(pages.last - pages.first, worker, gatherers_->size());
      for (std::size_t i = pages.first + own.first; i < pages.first + own.last; ++i) {
        if (gather) {
          std::memcpy(from_stage_->data() + i * page_bytes, pieces_[i].from, page_bytes);
        } else {
          std::memcpy(pieces_[i].to, to_stage_->data() + i * page_bytes, page_bytes);
        }
      }
      // The caller is worker 0, and its time is counted with all that it does.
      if (worker > 0) {
        worker_cpu_s_[static_cast<std::size_t>(worker)] += thread_cpu_s() - start_s;
      }
    });
  }

  [[nodiscard]] double others_cpu_s() const override {
    double sum = 0;
    for (const double seconds : worker_cpu_s_) {
      sum += seconds;
    }
    return sum;
  }

  std::vector<PieceCopy> pieces_;
  std::optional<EndMemory> from_stage_;
  std::optional<EndMemory> to_stage_;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::optional<ThreadTeam> gatherers_;
  std::optional<OnCpu> on_cpu_;
  std::vector<double> worker_cpu_s_;
  std::vector<cuda::Event> parts_;
  std::unique_ptr<PieceCopier> gather_;
  std::unique_ptr<PieceCopier> scatter_;
  std::optional<Detour> at_destination_;
};

// Pages between the host and a GPU by the kernel of that GPU and those of others, each over its own link to
// the host: the others read or write the GPU's pages where they lie, so that nothing is staged.
class RelayPageLane final : public PageLane {
 public:
  RelayPageLane(const PageCopy& copy, const Surroundings& surroundings)
      : PageLane(copy, surroundings), relayed_(relayed_pages(copy)) {
    own_ = copier_of({relayed_, copy.pages.count});
    const std::vector<int> gpus = relays_of(copy.relay);
    const std::size_t part = relayed_ / gpus.size();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const cuda::DeviceGuard guard(gpus[i]);
      parts_.push_back(std::make_unique<Part>(*this, gpus[i], Share{i * part, (i + 1) * part}));
    }
  }
  ~RelayPageLane() override {
    while (!parts_.empty()) {
      parts_.pop_back();  // accesses end in the reverse order of their beginning
    }
  }

  [[nodiscard]] std::string action() const override {
    return "kernels that copy pages, on the GPU and on those that pass pages on";
  }

  // Of the last sample, which has ended.
  void describe(Measurement& measurement) const override {
    PageLane::describe(measurement);
    describe_blocks(own_->blocks(), measurement);
    measurement.counters["relayed_bytes"] = static_cast<double>(relayed_ * copy().pages.page_bytes);
    measurement.counters["direct_s"] = cuda::elapsed_s(start_, direct_);
    measurement.counters["relays_s"] = cuda::elapsed_s(start_, relays_);
  }

 private:
  // What one GPU, which is current when it is made, passes on. Its stream and event are that GPU's.
  class Part {
   public:
    Part(const RelayPageLane& lane, int gpu, const Share& pages)
        : gpu_(gpu),
          reach_(Endpoint::gpu(Placement::device, gpu), Endpoint::gpu(Placement::device, lane.gpu())),
          copier_(lane.copier_of(pages)) {}

    void issue(const cuda::Event& start) const {
      const cuda::DeviceGuard guard(gpu_);
      stream_.wait_for(start);
      copier_->issue(stream_);
      done_.record(stream_);
    }
    [[nodiscard]] const cuda::Event& done() const { return done_; }

   private:
    int gpu_;
    PeerReach reach_;
    std::unique_ptr<PieceCopier> copier_;
    cuda::Stream stream_;
    cuda::Event done_;
  };

  // For the current GPU, with a table of its own.
  [[nodiscard]] std::unique_ptr<PieceCopier> copier_of(const Share& pages) const {
    const std::vector<PieceCopy> all = ends().pieces(true);
    const auto at = [&](std::size_t page) { return all.begin() + static_cast<std::ptrdiff_t>(page); };
    return make_piece_copier(PageMethod::kernel, {at(pages.first), at(pages.last)}, TableAt::host,
                             blocks_of(copy()));
  }

  void copy_pages(const cuda::Stream& stream) override {
    start_.record(stream);
    own_->issue(stream);
    direct_.record(stream);
    for (const auto& part : parts_) {
      part->issue(start_);
    }
    for (const auto& part : parts_) {
      arrivals_.wait_for(part->done());
    }
    relays_.record(arrivals_);
    stream.wait_for(relays_);
  }

  std::uint64_t relayed_;
  std::unique_ptr<PieceCopier> own_;
  std::vector<std::unique_ptr<Part>> parts_;
  cuda::Stream arrivals_;
  cuda::Event start_;
  cuda::Event direct_;
  cuda::Event relays_;
};

}  // namespace

std::unique_ptr<Mover> make_page_mover(const PageCopy& copy, const Surroundings& surroundings) {
  require_possible(copy);
  const auto make = [](const PageCopy& pages, const Surroundings& around) -> std::unique_ptr<PageLane> {
    if (pages.method == PageMethod::staged || pages.method == PageMethod::cpu_gather) {
      return std::make_unique<StagedPageLane>(pages, around);
    }
    if (pages.method == PageMethod::relay) {
      return std::make_unique<RelayPageLane>(pages, around);
    }
    return std::make_unique<DirectPageLane>(pages, around);
  };
  return make_shape_mover(copy, surroundings, make);
}

}  // namespace grainscope::transfer
