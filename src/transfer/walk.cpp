// Walks: a kernel loads from, or stores to, memory at the other end of a link. Over host memory this is
// zero-copy, the toy of EMOGI (section 3.3, figures 3 and 4) and of Comm|Scope (section 3.3), with every
// load's result used; over a peer's memory the same between GPUs.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/end_memory.hpp"
#include "lanes.hpp"
#include "peer_reach.hpp"
#include "walk_kernels.hpp"

namespace grainscope::transfer {
namespace {

// The end that is memory, by any of the ways to make it, with room for the walk's offset.
class WalkedMemory {
 public:
  WalkedMemory(const Transfer& transfer, const Endpoint& end, const Surroundings& surroundings)
      : words_(transfer.bytes / sizeof(std::uint32_t)) {
    const int offset = transfer.walk.offset_bytes;
    if (end.on_host() && transfer.allocation == Allocation::accessed_by) {
      const std::uint64_t bytes = transfer.bytes + static_cast<std::uint64_t>(offset);
      managed_.emplace(*surroundings.managed, transfer.gpu(), bytes);
      cuda::check(cuda::advise(managed_->data(), bytes, cudaMemAdviseSetAccessedBy,
                               cuda::Location::gpu(transfer.gpu())),
                  "map managed memory for GPU " + std::to_string(transfer.gpu()));
      device_ = static_cast<std::byte*>(managed_->data()) + offset;
      return;
    }
    Endpoint place = end;
    if (end.on_host() && transfer.allocation == Allocation::registered) {
      place.placement = Placement::registered;
    }
    buffer_.emplace(place, transfer.bytes, surroundings, offset);
    device_ = buffer_->device_data();
  }

  // As the kernel addresses it.
  [[nodiscard]] std::byte* device() const { return device_; }

  void fill(std::uint32_t seed) const {
    if (buffer_) {
      buffer_->fill(seed);
    } else {
      grainscope::fill_pattern(managed_words(), words_, seed);
    }
  }
  void expect_payload() const {
    if (buffer_) {
      buffer_->expect_payload();
    } else {
      transfer::expect_payload(grainscope::find_mismatch(managed_words(), words_, kPayload), "on the host");
    }
  }
  void flush() const {
    if (buffer_) {
      buffer_->flush();
    }
  }

 private:
  [[nodiscard]] std::uint32_t* managed_words() const { return reinterpret_cast<std::uint32_t*>(device_); }

  std::uint64_t words_;
  std::optional<EndMemory> buffer_;
  std::optional<cuda::ManagedBuffer> managed_;
  std::byte* device_ = nullptr;
};

class WalkLane final : public Lane {
 public:
  WalkLane(const Transfer& transfer, const Surroundings& surroundings)
      : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
        transfer_(transfer),
        reads_(transfer.destination.placement == Placement::registers),
        reach_(transfer),
        memory_(transfer, reads_ ? transfer.source : transfer.destination, surroundings),
        // The running outcome lives on the GPU: on the host it would be written over the link that is
        // measured.
        outcome_(transfer.gpu(), sizeof(WalkOutcome)) {
    load_walk_kernel(transfer.walk, reads_);
    memory_.fill(reads_ ? kPayload : kPoison);
    cuda::check(cudaMemset(outcome_.data(), 0, sizeof(WalkOutcome)), "clear a sum on the GPU");
  }

  void prepare() override {
    if (transfer_.flush) {
      memory_.flush();
    }
  }

  void issue(const cuda::Stream& stream) override {
    ++launches_;
    auto* outcome = static_cast<WalkOutcome*>(outcome_.data());
    if (reads_) {
      launch_read_walk(transfer_.walk, blocks(), memory_.device(), bytes(), outcome, stream.get());
    } else {
      launch_write_walk(transfer_.walk, blocks(), memory_.device(), bytes(), outcome, stream.get());
    }
  }

  std::string verify() override {
    if (!reads_) {
      memory_.expect_payload();
      return "every word in the memory written, which held other data before";
    }
    const std::uint64_t once = pattern_sum(0, bytes() / sizeof(std::uint32_t), kPayload);
    if (launches_ == 0 || outcome().sum != once * launches_) {
      throw FailedError("wrong result: the words read do not add up to what was written there");
    }
    return "the sum of every word that every sample read";
  }

  [[nodiscard]] std::string action() const override { return "one kernel"; }

  void describe(Measurement& measurement) const override {
    measurement.traffic = walk_traffic(transfer_.walk, bytes(), false);
    const Traffic without_cache = walk_traffic(transfer_.walk, bytes(), true);
    measurement.counters["requests_without_cache"] = static_cast<double>(without_cache.requests);
    measurement.counters["amplification_without_cache"] = without_cache.amplification;
    measurement.counters["blocks"] = blocks();
    int multiprocessors = 0;
    for (const std::uint32_t bits : outcome().multiprocessors) {
      multiprocessors += std::popcount(bits);
    }
    measurement.counters["multiprocessors"] = multiprocessors;
  }

 private:
  [[nodiscard]] WalkOutcome outcome() const {
    WalkOutcome outcome{};
    cuda::check(cudaMemcpy(&outcome, outcome_.data(), sizeof(outcome), cudaMemcpyDeviceToHost),
                "read what a walk left");
    return outcome;
  }

  // As many blocks as asked for, or two a multiprocessor, which kernels that run at once share; but none
  // without work.
  [[nodiscard]] unsigned blocks() const {
    const Walk& walk = transfer_.walk;
    if (walk.blocks > 0) {
      return static_cast<unsigned>(walk.blocks);
    }
    const std::uint64_t per_thread =
        walk.pattern == Walk::Pattern::strided ? kChunkBytes : static_cast<std::uint64_t>(walk.width_bytes);
    const auto threads = static_cast<std::uint64_t>(walk.threads);
    const std::uint64_t useful = (bytes() / per_thread + threads - 1) / threads;
    const auto full = static_cast<std::uint64_t>(std::max(1, 2 * cuda::sm_count(gpu()) / walk.kernels));
    return static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, full));
  }

  Transfer transfer_;
  bool reads_;
  PeerReach reach_;
  WalkedMemory memory_;
  cuda::DeviceBuffer outcome_;
  std::uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<Lane> make_walk_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<WalkLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
