#include "grainscope/cuda/gather_rig.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::cuda {
namespace {

// Twice the cache, so that nothing that was read before is left of it.
std::uint64_t evictor_bytes(int gpu) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, gpu), "read the size of a GPU's cache");
  return std::max<std::uint64_t>(2 * static_cast<std::uint64_t>(bytes), kMiB);
}

}  // namespace

GatherRig::GatherRig(int gpu, std::size_t lists, std::uint64_t output_bytes, Word word)
    : lists_(lists),
      output_(output_bytes > 0 ? std::make_optional<DeviceBuffer>(gpu, output_bytes) : std::nullopt),
      evictor_(gpu, evictor_bytes(gpu)),
      word_(gpu, sizeof(unsigned long long)) {
  check(cudaMemset(word_.data(), word == Word::lowest ? 0xff : 0, word_.bytes()), "clear a check's result");
}

void GatherRig::make_cold(const Stream& stream) const {
  constexpr int kOther = 0xa5;
  if (output_) {
    check(cudaMemsetAsync(output_->data(), kOther, output_->bytes(), stream.get()), "overwrite an output");
  }
  check(cudaMemsetAsync(evictor_.data(), 0, evictor_.bytes(), stream.get()), "overwrite the GPU's cache");
}

std::uint64_t GatherRig::found(const Stream& stream, const char* none) const {
  stream.synchronize();
  unsigned long long word = 0;
  check(cudaMemcpy(&word, word_.data(), sizeof(word), cudaMemcpyDeviceToHost), "read a check's result");
  if (checks_ == 0) {
    throw FailedError(std::string("wrong result: ") + none);
  }
  return word;
}

}  // namespace grainscope::cuda
