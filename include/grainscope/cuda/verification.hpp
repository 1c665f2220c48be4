#ifndef GRAINSCOPE_CUDA_VERIFICATION_HPP
#define GRAINSCOPE_CUDA_VERIFICATION_HPP

// What proves that a GPU did what was timed: the pattern of core/pattern.hpp, written and checked by the
// GPU; where managed pages live; how many kernels ran.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

// Fills `words` 32-bit words at `data` (any memory that the current GPU can write) with the pattern's words
// from number `first` on, and waits.
void fill_pattern(std::uint32_t* data, std::uint64_t words, std::uint32_t seed, const Stream& stream,
                  std::uint64_t first = 0);

// The first word of `data` (any memory that the current GPU can read) that does not hold the pattern.
[[nodiscard]] std::optional<std::uint64_t> find_mismatch(const std::uint32_t* data, std::uint64_t words,
                                                         std::uint32_t seed, const Stream& stream);

// Whether managed memory lives on a GPU, told by how fast it answers: nothing else tells it without
// privilege. A page of the GPU's own memory answers a second read from its cache; one that is mapped from
// another GPU is asked for over the link each time; one that has yet to come faults at the first.
class ResidencyProbe {
 public:
  // Measures how fast memory of `gpu` itself answers, and that of `peer` where `gpu` can reach it.
  ResidencyProbe(int gpu, int peer);

  // Of at most 64 pages of `data`, evenly spaced: how many do not live on `gpu`. Reads them, so that a page
  // which was not there may be afterwards.
  [[nodiscard]] std::uint64_t pages_elsewhere(const void* data, std::uint64_t bytes) const;

 private:
  int gpu_;
  DeviceBuffer results_;
  std::uint64_t slowest_second_cycles_ = 0;  // of a page that lives there
};

// The smallest kernel that leaves a trace: one thread that adds 1 to a counter in device memory. What is
// launched, by hand or in a graph, can be counted afterwards.
class LaunchCounter {
 public:
  // On `gpu`, which is current. Loads the kernel, whose arguments take `argument_bytes`, the counter's
  // address among them: 8, 64, 1024 or 4096. Throws UsageError for another number.
  explicit LaunchCounter(int gpu, int argument_bytes = 8);
  // Enqueues one; the bare status, so that nothing but the call is timed.
  [[nodiscard]] cudaError_t try_launch(const Stream& stream) const noexcept;
  // Enqueues one. Throws FailedError.
  void launch(const Stream& stream) const;
  // Kernels that have run since construction; waits for `stream`.
  [[nodiscard]] std::uint64_t count(const Stream& stream) const;
  // Throws FailedError unless exactly so many have run.
  void expect(std::uint64_t launches, const Stream& stream) const;

 private:
  DeviceBuffer counter_;
  const void* kernel_;
  std::vector<std::byte> payload_;  // the arguments behind the address
};

}  // namespace grainscope::cuda

#endif
