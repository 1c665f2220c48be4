#ifndef GRAINSCOPE_CUDA_GATHER_RIG_HPP
#define GRAINSCOPE_CUDA_GATHER_RIG_HPP

// What every gather on a GPU has around its timed region: lists that samples take in turn, an output and a
// cache that hold nothing of what came before, and a word that checks of all samples write to.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

class GatherRig {
 public:
  // What the word is before any check: all ones, for the lowest place of something wrong, or 0, for a sum.
  enum class Word { lowest, sum };
  inline static constexpr std::uint64_t kNothingWrong = ~std::uint64_t{0};

  // On `gpu`, which is current. `output_bytes` 0: nothing is written.
  GatherRig(int gpu, std::size_t lists, std::uint64_t output_bytes, Word word);

  // Enqueues: overwrites the output, and the GPU's L2 cache.
  void make_cold(const Stream& stream) const;
  // Number of the list whose turn it is.
  [[nodiscard]] std::size_t next_list() noexcept { return samples_++ % lists_; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }

  [[nodiscard]] std::byte* output() const { return static_cast<std::byte*>(output_->data()); }
  [[nodiscard]] std::uint64_t output_bytes() const { return output_->bytes(); }

  // The word (device), for one check more.
  [[nodiscard]] unsigned long long* word() noexcept {
    ++checks_;
    return static_cast<unsigned long long*>(word_.data());
  }
  // Waits; what all checks left there. Throws FailedError where there was none: "no rows were gathered".
  [[nodiscard]] std::uint64_t found(const Stream& stream, const char* none) const;

 private:
  std::size_t lists_;
  std::optional<DeviceBuffer> output_;
  DeviceBuffer evictor_;
  DeviceBuffer word_;
  std::uint64_t samples_ = 0;
  std::uint64_t checks_ = 0;
};

}  // namespace grainscope::cuda

#endif
