// One GPU of a pipeline and its producer.

#include "replica.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "gpu_tables.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/access.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "grainscope/system/numa.hpp"
#include "sage_kernels.hpp"
#include "staged_copy.hpp"

namespace grainscope::gnn {
namespace {

// Bytes that lanes ask for at once, over PCIe 5: found by trial on an H100, as the least with which gathers
// alone are no slower. With what 8 multiprocessors hold, three times as much, the steps beside them are.
constexpr int kUnderWay = 320 * 1024;

// One kernel, with a sort before it where the mode has one.
class KernelProducer final : public Producer {
 public:
  KernelProducer(const TableView& view, const PipelineRequest& request, int gpu, int sms, std::uint64_t most)
      : kernel_(view, request.mode, width_of(request.mode, view.shape.row_bytes), gpu,
                blocks_of(request, view.shape.row_bytes, gpu, sms), sms) {
    if (sorts(request.mode)) {
      order_ = std::make_unique<AddressOrder>(gpu, most, view.shape.rows);
      constexpr std::uint64_t kListsOfASort = 5;
      gpu_bytes_ = kListsOfASort * most * sizeof(std::uint32_t);
    }
  }

  void enqueue(const std::uint32_t* rows, std::uint64_t count, std::byte* out,
               const cuda::Stream& stream) override {
    kernel_.launch(
        order_ != nullptr ? order_->sort(rows, count, out, stream) : GatherLists{rows, nullptr, count, out},
        stream);
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return gpu_bytes_; }

 private:
  // naive and circular_shift load an element; the others what is widest.
  static std::uint32_t width_of(Mode mode, std::uint32_t row_bytes) {
    return mode == Mode::naive || mode == Mode::circular_shift ? sizeof(float) : widest_load(mode, row_bytes);
  }

  // Beside other stages no more than fills the link: launches and copies of theirs would stand in line behind
  // what is under way. As many on each of the gather's multiprocessors, where these are fewer than the
  // blocks. A sorted gather has a most of its own there; without multiprocessors of its own, half a block for
  // each. 0: as many as there is room for.
  static int blocks_of(const PipelineRequest& request, std::uint32_t row_bytes, int gpu, int sms) {
    if (!crosses_link(request.store) || request.unbounded) {
      return 0;
    }
    if (sorts(request.mode)) {
      return sms > 0 ? 0 : std::max(1, cuda::sm_count(gpu) / 2);
    }
    const std::uint32_t width = width_of(request.mode, row_bytes);
    const int blocks = divide_up(kUnderWay, kGatherThreads * static_cast<int>(width) * loads_of_tile(width));
    return sms > 0 && sms < blocks ? divide_up(blocks, sms) * sms : blocks;
  }
  static int divide_up(int what, int by) { return (what + by - 1) / by; }

  GatherKernel kernel_;
  std::unique_ptr<AddressOrder> order_;
  std::uint64_t gpu_bytes_ = 0;
};

// Threads gather into page-locked buffers, which the copy engine empties.
class StagedProducer final : public Producer {
 public:
  StagedProducer(const TableView& view, int threads, const std::vector<int>& cpus, std::uint64_t most)
      : copy_(view, threads, cpus), list_(most * sizeof(std::uint32_t), cuda::PinnedBuffer::Kind::cached) {}

  void enqueue(const std::uint32_t* rows, std::uint64_t count, std::byte* out,
               const cuda::Stream& stream) override {
    // Not behind the copies of rows that the stream still has.
    cuda::check(cudaMemcpyAsync(list_.data(), rows, count * sizeof(std::uint32_t), cudaMemcpyDeviceToHost,
                                lists_.get()),
                "copy a list of rows to the host");
    lists_.synchronize();
    copy_.enqueue({static_cast<const std::uint32_t*>(list_.data()), count}, out, stream);
  }
  [[nodiscard]] int callers_cpu() const override { return copy_.callers_cpu(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return 0; }

 private:
  StagedCopy copy_;
  cuda::PinnedBuffer list_;
  cuda::Stream lists_;
};

// With this GPU's part of the request's threads, on its part of the CPUs.
std::unique_ptr<Producer> make_staged(const TableView& view, const PipelineRequest& request, int gpu,
                                      std::uint64_t most) {
  const int gpus = static_cast<int>(request.gpus.size());
  const auto at = std::find(request.gpus.begin(), request.gpus.end(), gpu) - request.gpus.begin();
  const auto part = [&](std::size_t count) { return share_of(count, static_cast<int>(at), gpus); };
  const Share threads = part(static_cast<std::size_t>(request.threads));
  std::vector<int> cpus = current_affinity();
  if (cpus.size() >= request.gpus.size()) {
    const Share own = part(cpus.size());
    cpus = {cpus.begin() + static_cast<std::ptrdiff_t>(own.first),
            cpus.begin() + static_cast<std::ptrdiff_t>(own.last)};
  }
  return std::make_unique<StagedProducer>(view, std::max(1, static_cast<int>(threads.last - threads.first)),
                                          cpus, most);
}

}  // namespace

std::unique_ptr<Producer> make_producer(const TableView& view, const PipelineRequest& request, int gpu,
                                        int sms, std::uint64_t most) {
  if (gathers_on_host(request.mode)) {
    return make_staged(view, request, gpu, most);
  }
  return std::make_unique<KernelProducer>(view, request, gpu, sms, most);
}

namespace {

// A part for gathering where one is asked for and the driver can; else all share all.
cuda::SmSplit split_for(const PipelineRequest& request, int gpu) {
  if (request.gather_sms > 0) {
    try {
      return cuda::split_multiprocessors(gpu, cuda::ShareBy::green_context, request.gather_sms);
    } catch (const SkipError&) {
    }
  }
  return cuda::split_multiprocessors(gpu, cuda::ShareBy::unlimited, cuda::sm_count(gpu));
}

// Null where the CPU samples.
std::unique_ptr<PlacedLists> lists_for(const TrainingPlan& plan, const PipelineRequest& request, int gpu,
                                       const PlacedLists* of_first, const cuda::Surroundings& surroundings) {
  if (!request.lists) {
    return nullptr;
  }
  const bool shared = *request.lists == ListPlacement::interleaved;
  ListRequest lists{*request.lists, gpu, {}};
  lists.node = request.node;
  if (shared) {
    lists.gpus = request.gpus;
  }
  return place_lists(plan.neighbours, lists, surroundings, shared ? of_first : nullptr);
}

std::unique_ptr<GpuSampler> sampler_for(const TrainingPlan& plan, const PlacedLists* lists, int gpu) {
  const SampleRequest& request = plan.request.sample;
  const std::uint64_t seeds = plan.seeds.front().size();
  return lists != nullptr ? make_gpu_sampler(*lists, request, seeds)
                          : make_sending_sampler(plan.neighbours, gpu, request, seeds);
}

// Of the process whose only GPU it is.
PipelineRequest alone(PipelineRequest request, int gpu) {
  request.gpus = {gpu};
  return request;
}

}  // namespace

Replica::Replica(const TrainingPlan& plan, const FeatureTable& table, const PipelineRequest& request,
                 std::size_t rank, const Replica* first, const cuda::Surroundings& surroundings,
                 Shared* shared)
    : plan_(plan),
      rank_(rank),
      ranks_(request.gpus.size()),
      gpu_(request.gpus[rank]),
      window_(static_cast<std::uint64_t>(request.window)),
      hops_(plan.request.sample.fanouts.size()),
      guard_(gpu_),
      split_(split_for(request, gpu_)),
      gather_sms_(split_.part->given_sms() < cuda::sm_count(gpu_) ? split_.part->given_sms() : 0),
      most_(most_of(plan.request.sample.fanouts, plan.seeds.front().size(), plan.neighbours.vertices())),
      table_(table, request.store, request.hot_percent, gpu_, request.gpus,
             first != nullptr    ? first->table_.view().spread
             : shared != nullptr ? shared->parts.data()
                                 : nullptr),
      lists_(lists_for(plan, request, gpu_, first != nullptr ? first->lists_.get() : nullptr, surroundings)),
      sampler_(sampler_for(plan, lists_.get(), gpu_)),
      model_(std::make_unique<CudaSage>(gpu_, plan.request.shape, most_, plan.seeds.size(),
                                        shared != nullptr ? shared->gradient : nullptr)),
      producer_(make_producer(table_.view(), shared != nullptr ? alone(request, gpu_) : request, gpu_,
                              gather_sms_, window_ * most_.nodes.back())),
      labels_(gpu_, plan.labels.size() * sizeof(std::uint16_t)),
      window_list_(gpu_, (window_ > 1 ? window_ * most_.nodes.back() : 1) * sizeof(std::uint32_t)),
      wrong_(gpu_, sizeof(unsigned long long)),
      sizes_(slots_.size() * window_ * (2 * hops_ + 1) * sizeof(std::uint64_t),
             cuda::PinnedBuffer::Kind::cached),
      sampled_(plan.seeds.size() / (window_ * ranks_)),
      gathered_(sampled_.size()),
      trained_(sampled_.size() * window_) {
  if (shared != nullptr) {
    ready_ = std::move(shared->ready);
    updated_ = std::move(shared->updated);
  }
  for (Slot& each : slots_) {
    for (std::uint64_t at = 0; at < window_; ++at) {
      each.sampled.push_back(sampler_->make_batch());
    }
  }
  for (std::uint64_t i = 0; i < kRowBuffers; ++i) {
    rows_.push_back(std::make_unique<Rows>(gpu_, window_ * most_.nodes.back() * table.row_bytes()));
  }
  cuda::check(cudaMemcpy(labels_.data(), plan.labels.data(), labels_.bytes(), cudaMemcpyHostToDevice),
              "copy labels to the GPU");
  cuda::check(cudaMemset(wrong_.data(), 0, wrong_.bytes()), "clear a check's result");
  cuda::check(cudaDeviceSynchronize(), "prepare a GPU for training");
}

std::uint64_t* Replica::sizes(std::uint64_t window, std::uint64_t at) const {
  const std::uint64_t place = window % slots_.size() * window_ + at;
  return static_cast<std::uint64_t*>(sizes_.data()) + place * (2 * hops_ + 1);
}

std::uint64_t Replica::rows_before(std::uint64_t window, std::uint64_t at) const {
  std::uint64_t rows = 0;
  for (std::uint64_t i = 0; i < at; ++i) {
    rows += nodes_of(window, i);
  }
  return rows;
}

void Replica::sample(std::uint64_t window) {
  const cuda::DeviceGuard guard(gpu_);
  Slot& into = slot(window);
  sampling_.wait_for(into.trained);
  sampled_[window].begin.record(sampling_);
  auto* const reported = static_cast<std::uint64_t*>(sizes_.device_data());
  for (std::uint64_t at = 0; at < window_; ++at) {
    const std::uint64_t batch = (window * window_ + at) * ranks_ + rank_;
    sampler_->enqueue(plan_.seeds[batch], batch, *into.sampled[at], sampling_.get());
    const DeviceMiniBatch& view = into.sampled[at]->view();
    SizeSources sources;
    sources.nodes_upto = view.nodes_upto;
    sources.hops = static_cast<int>(hops_);
    std::transform(view.layers.begin(), view.layers.end(), sources.offsets,
                   [](const DeviceLayer& layer) { return layer.offsets; });
    report_sizes(sources, reported + (sizes(window, at) - static_cast<std::uint64_t*>(sizes_.data())),
                 sampling_.get());
  }
  sampled_[window].end.record(sampling_);
}

void Replica::wait_sizes(std::uint64_t window) {
  sampled_[window].end.synchronize();
  for (std::uint64_t at = 0; at < window_; ++at) {
    if (nodes_of(window, at) > most_.nodes.back()) {
      throw FailedError("wrong result: a mini-batch sampled on GPU " + std::to_string(gpu_) +
                        " says that it has more nodes than there is room for");
    }
  }
}

void Replica::gather(std::uint64_t window) {
  const cuda::DeviceGuard guard(gpu_);
  Slot& from = slot(window);
  Rows& to = rows(window);
  gathering_.wait_for(sampled_[window].end);
  gathering_.wait_for(to.trained);
  gathered_[window].begin.record(gathering_);
  const std::uint32_t* list = from.sampled.front()->view().nodes;
  if (window_ > 1) {
    auto* const joined = static_cast<std::uint32_t*>(window_list_.data());
    for (std::uint64_t at = 0; at < window_; ++at) {
      cuda::check(cudaMemcpyAsync(joined + rows_before(window, at), from.sampled[at]->view().nodes,
                                  nodes_of(window, at) * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice,
                                  gathering_.get()),
                  "join the lists of a window");
    }
    list = joined;
  }
  producer_->enqueue(list, rows_before(window, window_), static_cast<std::byte*>(to.memory.data()),
                     gathering_);
  gathered_[window].end.record(gathering_);
}

void Replica::gradient(std::uint64_t step) {
  const cuda::DeviceGuard guard(gpu_);
  const std::uint64_t window = step / window_;
  const std::uint64_t at = step % window_;
  Slot& from = slot(window);
  Rows& gathered = rows(window);
  training_.wait_for(gathered_[window].end);
  trained_[step].begin.record(training_);
  const std::uint64_t* const counts = sizes(window, at);
  SageBatch batch;
  batch.sampled = &from.sampled[at]->view();
  batch.nodes_upto.assign(counts, counts + hops_ + 1);
  batch.edges.assign(counts + hops_ + 1, counts + 2 * hops_ + 1);
  batch.rows = static_cast<const float*>(gathered.memory.data()) +
               rows_before(window, at) * plan_.request.shape.features;
  batch.labels = static_cast<const std::uint16_t*>(labels_.data());
  model_->enqueue_gradient(batch, step, training_);
  ready_.record(training_);
  if (at + 1 == window_) {
    from.trained.record(training_);
    gathered.trained.record(training_);
  }
}

void Replica::update(std::uint64_t step, const std::vector<Fellow>& all) {
  const cuda::DeviceGuard guard(gpu_);
  std::vector<const float*> gradients;
  gradients.reserve(all.size());
  for (const Fellow& each : all) {
    if (each.ready != &ready_) {
      training_.wait_for(*each.ready);
    }
    gradients.push_back(each.gradient);
  }
  model_->enqueue_update(plan_.request.rate, gradients, training_);
  updated_.record(training_);
  trained_[step].end.record(training_);
}

void Replica::follow(const std::vector<Fellow>& all) {
  const cuda::DeviceGuard guard(gpu_);
  for (const Fellow& each : all) {
    if (each.updated != &updated_) {
      training_.wait_for(*each.updated);
    }
  }
}

void Replica::begin() {
  const cuda::DeviceGuard guard(gpu_);
  begun_.record(sampling_);
}

std::vector<TimelineLane> Replica::lanes(std::uint64_t windows) const {
  const cuda::DeviceGuard guard(gpu_);
  const auto lane = [&](const char* stage, const std::vector<Span>& spans, std::uint64_t count) {
    TimelineLane result{stage, gpu_, {}, {}};
    for (std::uint64_t i = 0; i < count; ++i) {
      result.begin_s.push_back(cuda::elapsed_s(begun_, spans[i].begin));
      result.end_s.push_back(cuda::elapsed_s(begun_, spans[i].end));
    }
    return result;
  };
  return {lane("sampling", sampled_, windows), lane("gathering", gathered_, windows),
          lane("training", trained_, windows * window_)};
}

void Replica::reset() {
  model_->reset(plan_.parameters);
}

void Replica::check_rows(std::uint64_t window) {
  const cuda::DeviceGuard guard(gpu_);
  const std::uint32_t columns = plan_.request.shape.features;
  for (std::uint64_t at = 0; at < window_; ++at) {
    const auto* const found =
        static_cast<const float*>(rows(window).memory.data()) + rows_before(window, at) * columns;
    const graph::Vertex* const nodes = slot(window).sampled[at]->view().nodes;
    const std::uint64_t count = nodes_of(window, at);
    if (plan_.features.file() == nullptr) {
      count_wrong(found, nodes, count, columns, kFeatureSeed, static_cast<unsigned long long*>(wrong_.data()),
                  gathering_.get());
      continue;
    }
    std::vector<graph::Vertex> asked(count);
    cuda::check(cudaMemcpyAsync(asked.data(), nodes, count * sizeof(graph::Vertex), cudaMemcpyDeviceToHost,
                                gathering_.get()),
                "copy a list of rows to the host");
    gathering_.synchronize();
    unlike_file_ +=
        count_unlike_file(plan_.features, reinterpret_cast<const std::byte*>(found), asked, gathering_);
  }
}

std::uint64_t Replica::wrong_elements() const {
  synchronize();
  unsigned long long wrong = 0;
  cuda::check(cudaMemcpy(&wrong, wrong_.data(), sizeof(wrong), cudaMemcpyDeviceToHost),
              "read a check's result");
  return wrong + unlike_file_;
}

void Replica::synchronize() const {
  sampling_.synchronize();
  gathering_.synchronize();
  training_.synchronize();
}

std::uint64_t Replica::gpu_bytes() const {
  std::uint64_t bytes = table_.gpu_bytes() + (lists_ != nullptr ? lists_->gpu_bytes() : 0) +
                        sampler_->gpu_bytes() + model_->gpu_bytes() + producer_->gpu_bytes() +
                        labels_.bytes() + window_list_.bytes();
  for (const Slot& each : slots_) {
    for (const auto& batch : each.sampled) {
      bytes += batch->gpu_bytes();
    }
  }
  for (const auto& each : rows_) {
    bytes += each->memory.bytes();
  }
  return bytes;
}

}  // namespace grainscope::gnn
