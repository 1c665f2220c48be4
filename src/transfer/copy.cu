// Copies in one piece or in pieces one after another, as lanes: by the copy engine, by a kernel, by the
// runtime within the host.

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../cuda/bulk.cuh"
#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/end_memory.hpp"
#include "grainscope/transfer/mover.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

// What copies that a GPU has a part in share: memory at both ends, and its check.
class EndsLane : public Lane {
 public:
  EndsLane(const Transfer& transfer, const Surroundings& surroundings)
      : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
        transfer_(transfer),
        reach_(transfer),
        ends_(transfer.source, transfer.destination, transfer.bytes, surroundings) {
    ends_.fill();
  }

  void prepare() final {
    if (transfer_.flush) {
      ends_.source.flush();
      ends_.destination.flush();
    }
    expect_on_host();
  }
  void check_sample() final { expect_on_host(); }

  std::string verify() final {
    ends_.destination.expect_payload();
    return "every word at the destination, which held other data before";
  }

 protected:
  [[nodiscard]] const Transfer& transfer() const { return transfer_; }
  [[nodiscard]] const EndMemory& source() const { return ends_.source; }
  [[nodiscard]] const EndMemory& destination() const { return ends_.destination; }

 private:
  void expect_on_host() const {
    ends_.source.expect_on_host();
    ends_.destination.expect_on_host();
  }

  Transfer transfer_;
  PeerReach reach_;
  BothEnds ends_;
};

// By the copy engine: between host and GPU, between two GPUs, within one.
class CopyLane final : public EndsLane {
 public:
  using EndsLane::EndsLane;

  void issue(const cuda::Stream& stream) override {
    const std::uint64_t piece = transfer().piece_bytes > 0 ? transfer().piece_bytes : bytes();
    for (std::uint64_t first = 0; first < bytes(); first += piece) {
      const std::uint64_t size = std::min(piece, bytes() - first);
      // Without peer access a copy by unified addresses is staged through the host like any other.
      cuda::check(cudaMemcpyAsync(destination().data() + first, source().data() + first, size,
                                  cudaMemcpyDefault, stream.get()),
                  "copy " + format_bytes(size));
    }
  }

  [[nodiscard]] Conduct conduct() const override {
    if (transfer().source.placement == Placement::pageable ||
        transfer().destination.placement == Placement::pageable) {
      return Conduct::hosted;
    }
    // The driver stages these, and waits for what stands before them.
    if (transfer().host_end().placement == Placement::managed_host) {
      return Conduct::called;
    }
    // Between GPUs that cannot reach each other the driver stages the copy, and may wait for what is before.
    const bool staged = transfer().between_gpus() && !transfer().within_gpu() && !transfer().peer_access;
    return staged ? Conduct::called : Conduct::enqueued;
  }

  [[nodiscard]] bool launches_kernels() const override { return false; }
  [[nodiscard]] std::string action() const override {
    return transfer().piece_bytes > 0 ? "one cudaMemcpyAsync a piece" : "one cudaMemcpyAsync";
  }
};

// By a kernel, both ends memory: what a program gets that moves data with its own multiprocessors.

constexpr int kThreads = 512;
constexpr int kInFlight = 4;  // independent 16-byte loads of a thread before its first store
static_assert(kThreads * kInFlight * sizeof(uint4) == kUnderWayOfCopyBlock);
constexpr int kBlocksOnMultiprocessor = 4;
constexpr int kBlocksBesideOthers = 2;  // of all kernels that run at once

// Copies `elements` of 16 bytes, then `words` of 4 behind them.
__global__ void __launch_bounds__(kThreads)
    copy_elements(const uint4* __restrict__ from, uint4* __restrict__ to, std::uint64_t elements, int words) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::uint64_t i = first;
  for (; i + (kInFlight - 1) * stride < elements; i += kInFlight * stride) {
    uint4 values[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      values[k] = from[i + k * stride];
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      to[i + k * stride] = values[k];
    }
  }
  for (; i < elements; i += stride) {
    to[i] = from[i];
  }
  if (first < static_cast<std::uint64_t>(words)) {
    reinterpret_cast<std::uint32_t*>(to + elements)[first] =
        reinterpret_cast<const std::uint32_t*>(from + elements)[first];
  }
}

// The same by bulk copies: the first lane of each warp has a chunk loaded into the warp's stage, and stored
// from there. Neighbouring chunks are those of neighbouring stages.
__global__ void __launch_bounds__(kMostStages* cuda::kLanesOfWarp)
    copy_chunks(const std::byte* from, std::byte* to, std::uint64_t bytes, unsigned chunk_bytes) {
  cuda::BulkStage stage(chunk_bytes);
  const std::uint64_t in_bulk = bytes - bytes % cuda::kBulkUnit;
  if (cuda::lane_of_warp() == 0) {
    const std::uint64_t stride = cuda::stages_of_grid() * chunk_bytes;
    for (std::uint64_t at = cuda::stage_of_grid() * chunk_bytes; at < in_bulk; at += stride) {
      const auto size = static_cast<unsigned>(min(std::uint64_t{chunk_bytes}, in_bulk - at));
      stage.expect(size);
      stage.load(0, from + at, size);
      stage.wait();
      cuda::bulk_store(to + at, stage.chunk(), size);
      cuda::bulk_commit();
      cuda::bulk_wait_read<0>();
    }
    cuda::bulk_wait_stored();
  }
  // Words behind the last whole unit.
  const std::uint64_t word = in_bulk / sizeof(std::uint32_t) + cuda::thread_of_grid();
  if (word < bytes / sizeof(std::uint32_t)) {
    reinterpret_cast<std::uint32_t*>(to)[word] = reinterpret_cast<const std::uint32_t*>(from)[word];
  }
}

// On the stream's GPU, which is current.
void launch_copy(const std::byte* from, std::byte* to, std::uint64_t bytes, unsigned blocks,
                 const cuda::Stream& stream) {
  copy_elements<<<blocks, kThreads, 0, stream.get()>>>(
      reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to), bytes / sizeof(uint4),
      static_cast<int>(bytes % sizeof(uint4) / sizeof(std::uint32_t)));
  cuda::check_launch("copy_elements");
}

// A grid with work for each of its blocks, of `most` at most.
unsigned copy_blocks(std::uint64_t bytes, int most) {
  const auto full = static_cast<std::uint64_t>(std::max(1, most));
  const std::uint64_t elements = bytes / sizeof(uint4);
  return static_cast<unsigned>(std::clamp<std::uint64_t>((elements + kThreads - 1) / kThreads, 1, full));
}

class KernelCopyLane final : public EndsLane {
 public:
  KernelCopyLane(const Transfer& transfer, const Surroundings& surroundings)
      : EndsLane(transfer, surroundings) {
    if (in_bulk()) {
      cuda::load_bulk_kernel(copy_chunks, shared_bytes(), gpu());
    } else {
      cuda::load_kernel(copy_elements, "load the kernel that copies");
    }
  }

  void issue(const cuda::Stream& stream) override {
    if (in_bulk()) {
      copy_chunks<<<blocks(), static_cast<unsigned>(walk().stages * cuda::kLanesOfWarp),
                    static_cast<unsigned>(shared_bytes()), stream.get()>>>(
          source().device_data(), destination().device_data(), bytes(),
          static_cast<unsigned>(walk().chunk_bytes));
      cuda::check_launch("copy_chunks");
      return;
    }
    launch_copy(source().device_data(), destination().device_data(), bytes(), blocks(), stream);
  }

  [[nodiscard]] std::string action() const override { return "one kernel that copies"; }

  void describe(Measurement& measurement) const override { measurement.counters["blocks"] = blocks(); }

 private:
  [[nodiscard]] const Walk& walk() const { return transfer().walk; }
  [[nodiscard]] bool in_bulk() const { return walk().load == Load::bulk; }
  [[nodiscard]] std::uint64_t shared_bytes() const {
    return cuda::BulkStage::shared_bytes(walk().chunk_bytes, walk().stages);
  }

  // Enough to fill the GPU, or to leave room on it, or as many blocks as asked for; none without work.
  [[nodiscard]] unsigned blocks() const {
    if (in_bulk()) {
      return bulk_blocks(walk(), bytes(), gpu());
    }
    const int on_each = walk().kernels > 1 ? kBlocksBesideOthers : kBlocksOnMultiprocessor;
    const int most = walk().blocks > 0 ? walk().blocks : on_each * cuda::sm_count(gpu()) / walk().kernels;
    return copy_blocks(bytes(), most);
  }
};

// A copy between the host and a GPU of which other GPUs pass on a part, each over its own link to the host.
// By copy engines a chunk goes to a buffer in the other GPU's memory and from there on, while the chunk
// behind it comes; kernels of the other GPUs copy straight from one end to the other.
class RelayLane final : public EndsLane {
 public:
  RelayLane(const Transfer& transfer, const Surroundings& surroundings)
      : EndsLane(transfer, surroundings),
        relayed_(relayed_bytes(transfer)),
        by_kernel_(transfer.engine == Engine::sm) {
    if (by_kernel_) {
      cuda::load_kernel(copy_elements, "load the kernel that copies");
    }
    const std::vector<int> gpus = relays_of(transfer);
    const std::uint64_t part = relayed_ / gpus.size();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const cuda::DeviceGuard guard(gpus[i]);
      // Their parts come first, so that each begins at a page.
      parts_.push_back(std::make_unique<Part>(*this, gpus[i], i * part, part));
    }
  }
  ~RelayLane() override {
    while (!parts_.empty()) {
      parts_.pop_back();  // accesses end in the reverse order of their beginning
    }
  }

  void issue(const cuda::Stream& stream) override {
    start_.record(stream);
    copy_direct(stream);
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

  [[nodiscard]] bool launches_kernels() const override { return by_kernel_; }
  [[nodiscard]] std::string action() const override {
    return by_kernel_ ? "kernels that copy, on the GPU and on those that pass bytes on"
                      : "copies over the GPU's link, and over the links of those that pass bytes on";
  }

  // Of the last sample, which has ended.
  void describe(Measurement& measurement) const override {
    measurement.counters["relayed_bytes"] = static_cast<double>(relayed_);
    measurement.counters["direct_s"] = cuda::elapsed_s(start_, direct_);
    measurement.counters["relays_s"] = cuda::elapsed_s(start_, relays_);
    if (!by_kernel_) {
      measurement.counters["chunk_bytes"] = static_cast<double>(relay_chunk_bytes(transfer()));
    }
  }

 private:
  // What one GPU, which is current when it is made, passes on. Its streams and events are that GPU's.
  class Part {
   public:
    Part(const RelayLane& lane, int gpu, std::uint64_t first, std::uint64_t bytes)
        : lane_(lane),
          gpu_(gpu),
          first_(first),
          bytes_(bytes),
          reach_(Endpoint::gpu(Placement::device, gpu), Endpoint::gpu(Placement::device, lane.gpu())),
          chunk_(relay_chunk_bytes(lane.transfer())) {
      if (lane.by_kernel_) {
        cuda::load_kernel(copy_elements, "load the kernel that copies");
        blocks_ = copy_blocks(bytes, kBlocksOnMultiprocessor * cuda::sm_count(gpu));
        return;
      }
      const auto buffers = static_cast<std::size_t>(lane.transfer().relay.buffers);
      held_.emplace(gpu, chunk_ * buffers);
      filled_ = std::vector<cuda::Event>(buffers);
      emptied_ = std::vector<cuda::Event>(buffers);
    }

    void issue(const cuda::Event& start) const {
      const cuda::DeviceGuard guard(gpu_);
      in_.wait_for(start);
      if (lane_.by_kernel_) {
        launch_copy(lane_.source().device_data() + first_, lane_.destination().device_data() + first_, bytes_,
                    blocks_, in_);
        done_.record(in_);
        return;
      }
      for (std::uint64_t at = 0, chunk = 0; at < bytes_; at += chunk_, ++chunk) {
        const std::size_t buffer = chunk % filled_.size();
        const std::uint64_t size = std::min(chunk_, bytes_ - at);
        std::byte* const held = static_cast<std::byte*>(held_->data()) + buffer * chunk_;
        if (chunk >= filled_.size()) {
          in_.wait_for(emptied_[buffer]);
        }
        copy(held, lane_.source().data() + first_ + at, size, in_);
        filled_[buffer].record(in_);
        out_.wait_for(filled_[buffer]);
        copy(lane_.destination().data() + first_ + at, held, size, out_);
        emptied_[buffer].record(out_);
      }
      done_.record(out_);
    }
    [[nodiscard]] const cuda::Event& done() const { return done_; }

   private:
    const RelayLane& lane_;
    int gpu_;
    std::uint64_t first_;
    std::uint64_t bytes_;
    PeerReach reach_;
    std::uint64_t chunk_;
    unsigned blocks_ = 1;
    cuda::Stream in_;
    cuda::Stream out_;
    std::optional<cuda::DeviceBuffer> held_;
    std::vector<cuda::Event> filled_;
    std::vector<cuda::Event> emptied_;
    cuda::Event done_;
  };

  static void copy(std::byte* to, const std::byte* from, std::uint64_t size, const cuda::Stream& stream) {
    cuda::check(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream.get()),
                "copy " + format_bytes(size));
  }

  void copy_direct(const cuda::Stream& stream) const {
    const std::uint64_t direct = bytes() - relayed_;
    if (direct == 0) {
      return;
    }
    if (by_kernel_) {
      launch_copy(source().device_data() + relayed_, destination().device_data() + relayed_, direct,
                  copy_blocks(direct, kBlocksOnMultiprocessor * cuda::sm_count(gpu())), stream);
    } else {
      copy(destination().data() + relayed_, source().data() + relayed_, direct, stream);
    }
  }

  std::uint64_t relayed_;
  bool by_kernel_;
  std::vector<std::unique_ptr<Part>> parts_;
  cuda::Stream arrivals_;
  cuda::Event start_;
  cuda::Event direct_;
  cuda::Event relays_;
};

// Within the host, by the runtime: the CPU copies.
class HostCopyLane final : public Lane {
 public:
  HostCopyLane(const HostCopy& copy, const Surroundings& surroundings)
      : Lane(copy.gpu, copy.from_node, copy.bytes),
        flush_(copy.flush),
        ends_(Endpoint::host(Placement::pageable, copy.from_node),
              Endpoint::host(Placement::registered, copy.to_node), copy.bytes, surroundings) {
    ends_.fill();
  }

  void prepare() override {
    if (flush_) {
      ends_.source.flush();
      ends_.destination.flush();
    }
  }

  void issue(const cuda::Stream& stream) override {
    cuda::check(cudaMemcpyAsync(ends_.destination.data(), ends_.source.data(), bytes(), cudaMemcpyHostToHost,
                                stream.get()),
                "copy " + format_bytes(bytes()) + " within the host");
  }

  std::string verify() override {
    ends_.destination.expect_payload();
    return "every word at the destination, which held other data before";
  }

  // Where the CPU copies, the clock is the host's.
  [[nodiscard]] Conduct conduct() const override { return Conduct::hosted; }
  [[nodiscard]] bool launches_kernels() const override { return false; }
  [[nodiscard]] std::string action() const override { return "one cudaMemcpyAsync from host to host"; }

 private:
  bool flush_;
  BothEnds ends_;
};

}  // namespace

unsigned bulk_blocks(const Walk& walk, std::uint64_t bytes, int gpu) {
  const std::uint64_t turn = walk.chunk_bytes * static_cast<std::uint64_t>(walk.stages);
  const std::uint64_t useful = (bytes + turn - 1) / turn;
  const int most = walk.blocks > 0 ? walk.blocks : cuda::sm_count(gpu) / walk.kernels;
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(useful, 1, static_cast<std::uint64_t>(std::max(1, most))));
}

std::unique_ptr<Lane> make_copy_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<CopyLane>(transfer, surroundings);
}

std::unique_ptr<Lane> make_kernel_copy_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<KernelCopyLane>(transfer, surroundings);
}

std::unique_ptr<Lane> make_relay_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<RelayLane>(transfer, surroundings);
}

std::unique_ptr<Mover> make_host_copy_mover(const HostCopy& copy, const Surroundings& surroundings) {
  if (copy.bytes == 0 || copy.bytes % sizeof(std::uint32_t) != 0) {
    throw UsageError("a copy within the host moves a multiple of 4 bytes, at least 4; not " +
                     std::to_string(copy.bytes));
  }
  const NodeBinding binding(*surroundings.topology, copy.from_node);
  const cuda::DeviceGuard guard(copy.gpu);
  std::vector<MoverLane> lanes;
  lanes.push_back({std::make_unique<HostCopyLane>(copy, surroundings)});
  return std::make_unique<Mover>(std::move(lanes), surroundings);
}

}  // namespace grainscope::transfer
