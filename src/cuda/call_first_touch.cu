// What the first touch of fresh managed memory costs, by the GPU or by the host: the faults that give it
// pages. A sample is a new allocation, all of whose pages one kernel, or one CPU thread, writes to.

#include <cuda_runtime.h>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 256;
constexpr std::size_t kPagesLookedAt = 64;

// A warp writes one word to a page, and goes on by the number of warps.
__global__ void touch_fresh_pages(std::uint32_t* words, std::uint64_t pages, std::uint64_t words_per_page,
                                  std::uint32_t seed) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  for (std::uint64_t page = warp; page < pages; page += warps) {
    if (threadIdx.x % 32 == 0) {
      words[page * words_per_page] = pattern_word(page, seed);
    }
  }
}

__global__ void count_touched_pages(const std::uint32_t* words, std::uint64_t pages,
                                    std::uint64_t words_per_page, std::uint32_t seed,
                                    unsigned long long* right) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t page = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; page < pages;
       page += stride) {
    if (words[page * words_per_page] == pattern_word(page, seed)) {
      atomicAdd(right, 1ULL);
    }
  }
}

class FirstTouchProbe final : public CallProbe {
 public:
  FirstTouchProbe(const CallSpec& spec, ManagedBudget& budget)
      : spec_(spec),
        budget_(budget),
        by_host_(spec.what == Call::managed_first_touch_by_host),
        words_per_page_(base_page_bytes() / sizeof(std::uint32_t)),
        pages_(spec.bytes / base_page_bytes()),
        guard_(spec.gpu),
        right_(spec.gpu, sizeof(unsigned long long)) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, touch_fresh_pages), "load the kernel that touches pages");
    check(cudaFuncGetAttributes(&attributes, count_touched_pages), "load the kernel that counts pages");
  }

  double run() override {
    const ManagedBuffer memory(budget_, spec_.gpu, spec_.bytes);
    auto* words = static_cast<std::uint32_t*>(memory.data());
    // Another pattern each time, so that nothing left over can pass for it.
    ++seed_;
    const double seconds = by_host_ ? touch_from_host(words) : touch_from_gpu(words);
    expect_touched(words);
    return seconds;
  }

  std::string verify() override {
    const std::string held = "every page held what was written to it";
    return residency_known_
               ? held + ", and those looked at " + (by_host_ ? "were" : "were not") + " on the host"
               : held;
  }

  [[nodiscard]] Timing timing() const override {
    if (by_host_) {
      return {Clock::steady, false, "a CPU thread that writes one word to each page of a fresh allocation"};
    }
    return {Clock::event, true, "a kernel that writes one word to each page of a fresh allocation"};
  }
  void describe(Measurement& measurement) override { measurement.operations = 1; }

 private:
  double touch_from_gpu(std::uint32_t* words) {
    return stopwatch_.time_s(stream_, [&] {
      touch_fresh_pages<<<kBlocks, kThreads, 0, stream_.get()>>>(words, pages_, words_per_page_, seed_);
      check_launch("touch_fresh_pages");
    });
  }

  [[nodiscard]] double touch_from_host(volatile std::uint32_t* words) const {
    const double start_s = steady_now_s();
    for (std::uint64_t page = 0; page < pages_; ++page) {
      words[page * words_per_page_] = pattern_word(page, seed_);
    }
    return steady_now_s() - start_s;
  }

  void expect_touched(const std::uint32_t* words) {
    const auto presence = pages_present(words, spec_.bytes, kPagesLookedAt);
    residency_known_ = presence.has_value();
    const std::uint64_t misplaced = presence ? (by_host_ ? presence->absent : presence->present) : 0;
    if (misplaced > 0) {
      throw FailedError(std::string("fresh managed pages that the ") +
                        (by_host_ ? "host touched did not come" : "GPU touched came") +
                        " to lie on the host: " + std::to_string(misplaced) + " of those looked at");
    }
    // Only now, since this access too would bring the pages to the GPU.
    auto* counter = static_cast<unsigned long long*>(right_.data());
    check(cudaMemsetAsync(counter, 0, sizeof(*counter), stream_.get()), "clear a counter");
    count_touched_pages<<<kBlocks, kThreads, 0, stream_.get()>>>(words, pages_, words_per_page_, seed_,
                                                                 counter);
    check_launch("count_touched_pages");
    unsigned long long right = 0;
    check(cudaMemcpyAsync(&right, counter, sizeof(right), cudaMemcpyDeviceToHost, stream_.get()),
          "read a counter");
    stream_.synchronize();
    if (right != pages_) {
      throw FailedError("wrong result: " + std::to_string(right) + " of " + std::to_string(pages_) +
                        " pages hold what was written to them");
    }
  }

  CallSpec spec_;
  ManagedBudget& budget_;
  bool by_host_;
  std::uint64_t words_per_page_;
  std::uint64_t pages_;
  DeviceGuard guard_;
  Stream stream_;
  GatedStopwatch stopwatch_;
  DeviceBuffer right_;
  std::uint32_t seed_ = 0;
  bool residency_known_ = true;
};

}  // namespace

std::unique_ptr<CallProbe> make_first_touch_call(const CallSpec& spec, ManagedBudget& budget) {
  if (spec.bytes == 0 || spec.bytes % base_page_bytes() != 0) {
    throw UsageError("a first touch is of whole pages of " + format_bytes(base_page_bytes()) + ", not of " +
                     format_bytes(spec.bytes));
  }
  return std::make_unique<FirstTouchProbe>(spec, budget);
}

}  // namespace grainscope::cuda
