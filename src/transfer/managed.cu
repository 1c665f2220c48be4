// Managed memory that moves between host and GPU: on demand, by the first access of the other side, or
// by prefetch. Comm|Scope, section 3.4. Every sample proves that the pages really moved.

#include <cuda_runtime.h>

#include <array>
#include <cstring>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/pattern.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "movers.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kBlocks = 256;  // Comm|Scope's grid
constexpr int kThreads = 256;
constexpr std::size_t kPagesLookedAt = 64;  // for residency, after every sample

// A warp writes one word to a page, the one that it held, and goes on by the number of warps.
__global__ void touch_pages(std::uint32_t* data, std::uint64_t words, std::uint64_t words_per_page) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  for (std::uint64_t word = warp * words_per_page; word < words; word += warps * words_per_page) {
    if (threadIdx.x % 32 == 0) {
      data[word] = pattern_word(word, kPayload);
    }
  }
}

class ManagedMover final : public Mover {
 public:
  ManagedMover(const Transfer& transfer, const Surroundings& surroundings)
      : transfer_(transfer),
        binding_(*surroundings.topology, transfer.host_end().id),
        guard_(transfer.gpu_end().id),
        memory_(*surroundings.managed, transfer.gpu_end().id, transfer.bytes),
        team_(transfer.host_threads, current_affinity()) {
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, touch_pages), "load the kernel that touches pages");
    grainscope::fill_pattern(words(), word_count(), kPayload);
  }

  void prepare() override {
    if (transfer_.to_gpu()) {
      prefetch(host_location());
      stream_.synchronize();
      // The host owns and maps every page only once it has written to it.
      touch_from_host();
    } else {
      prefetch(gpu_location());
      stream_.synchronize();
    }
  }

  double run() override {
    expect_pages(transfer_.to_gpu(), "before a sample");
    const double seconds = time_s();
    expect_pages(!transfer_.to_gpu(), "after a sample");
    return seconds;
  }

  std::string verify() override {
    if (transfer_.to_gpu()) {
      expect_payload(cuda::find_mismatch(words(), word_count(), kPayload, stream_), "on the GPU");
    } else {
      expect_payload(grainscope::find_mismatch(words(), word_count(), kPayload), "on the host");
    }
    return residency_known_
               ? "every word at the destination, and where pages live before and after each sample"
               : "every word at the destination; the system does not tell where pages live";
  }

  [[nodiscard]] Timing timing() const override {
    if (transfer_.engine == Engine::prefetch) {
      return {Clock::event, false,
              "cudaMemPrefetchAsync between two events; the driver works within the call"};
    }
    if (transfer_.to_gpu()) {
      return {Clock::event, true, "a kernel that writes one word to each page, between two events"};
    }
    return {Clock::steady, false, "host threads that write one word to each page"};
  }

 private:
  [[nodiscard]] std::uint32_t* words() const { return static_cast<std::uint32_t*>(memory_.data()); }
  [[nodiscard]] std::uint64_t word_count() const { return transfer_.bytes / sizeof(std::uint32_t); }
  [[nodiscard]] std::uint64_t words_per_page() const { return base_page_bytes() / sizeof(std::uint32_t); }
  [[nodiscard]] cuda::Location gpu_location() const { return cuda::Location::gpu(transfer_.gpu_end().id); }
  [[nodiscard]] cuda::Location host_location() const {
    return cuda::Location::host_node(transfer_.host_end().id);
  }

  void prefetch(cuda::Location to) const {
    cuda::check(cuda::prefetch(memory_.data(), transfer_.bytes, to, stream_.get()),
                "prefetch " + format_bytes(transfer_.bytes) + " of managed memory");
  }

  double touch_from_host() {
    volatile std::uint32_t* data = words();
    const std::uint64_t page = words_per_page();
    const std::uint64_t pages = (word_count() + page - 1) / page;
    return team_.run([=, this](int worker) {
      const Share share = share_of(pages, worker, team_.size());
      for (std::uint64_t i = share.first; i < share.last; ++i) {
        data[i * page] = pattern_word(i * page, kPayload);
      }
    });
  }

  double time_s() {
    if (transfer_.engine == Engine::prefetch) {
      start_.record(stream_);
      prefetch(transfer_.to_gpu() ? gpu_location() : host_location());
      stop_.record(stream_);
      stop_.synchronize();
      return cuda::elapsed_s(start_, stop_);
    }
    if (transfer_.to_gpu()) {
      return stopwatch_.time_s(stream_, [this] {
        touch_pages<<<kBlocks, kThreads, 0, stream_.get()>>>(words(), word_count(), words_per_page());
        cuda::check_launch("touch_pages");
      });
    }
    return touch_from_host();
  }

  // Throws FailedError unless the pages looked at are all on the host, or all not, as expected.
  void expect_pages(bool on_host, const char* when) {
    const auto presence = pages_present(memory_.data(), transfer_.bytes, kPagesLookedAt);
    if (!presence) {
      residency_known_ = false;
      return;
    }
    const std::uint64_t misplaced = on_host ? presence->absent : presence->present;
    if (misplaced > 0) {
      throw FailedError("managed pages did not move: " + std::to_string(misplaced) + " of " +
                        std::to_string(presence->present + presence->absent) + " looked at are " +
                        (on_host ? "not on the host " : "still on the host ") + when);
    }
  }

  Transfer transfer_;
  NodeBinding binding_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
  cuda::GatedStopwatch stopwatch_;
  cuda::ManagedBuffer memory_;
  ThreadTeam team_;
  bool residency_known_ = true;
};

}  // namespace

std::unique_ptr<Mover> make_managed(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<ManagedMover>(transfer, surroundings);
}

}  // namespace grainscope::transfer
