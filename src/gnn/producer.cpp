#include "producer.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/access.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "grainscope/system/numa.hpp"
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
    if (!crosses_link(request.store)) {
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

}  // namespace grainscope::gnn
