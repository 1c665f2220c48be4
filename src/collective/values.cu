#include "values.hpp"

#include <cuda_runtime.h>

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::collective {
namespace {

constexpr int kBlocks = 1024;
constexpr int kThreads = 256;

template <class T>
struct Values {
  static constexpr std::uint32_t kMask = ~std::uint32_t{0};
};
template <>
struct Values<float> {
  static constexpr std::uint32_t kMask = kFloatValues;
};

template <class T>
__global__ void fill(T* data, std::uint64_t count, int rank, std::uint64_t first) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    data[i] = static_cast<T>(input_value(first + i, rank) & Values<T>::kMask);
  }
}

template <class T>
__global__ void first_wrong(const T* data, std::uint64_t count, Expected expected,
                            unsigned long long* first) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (!(data[i] == static_cast<T>(expected_sum(expected, i, Values<T>::kMask)))) {  // nor of a NaN
      atomicMin(first, static_cast<unsigned long long>(i));
      return;
    }
  }
}

template <class T>
void launch_fill(void* data, std::uint64_t count, int rank, std::uint64_t first, const cuda::Stream& stream) {
  fill<T><<<kBlocks, kThreads, 0, stream.get()>>>(static_cast<T*>(data), count, rank, first);
  cuda::check_launch("fill");
}

template <class T>
void launch_check(const void* data, std::uint64_t count, const Expected& expected, unsigned long long* first,
                  const cuda::Stream& stream) {
  first_wrong<T><<<kBlocks, kThreads, 0, stream.get()>>>(static_cast<const T*>(data), count, expected, first);
  cuda::check_launch("first_wrong");
}

}  // namespace

void fill_values(void* data, std::uint64_t count, Element element, int rank, std::uint64_t first,
                 const cuda::Stream& stream) {
  (element == Element::uint32 ? launch_fill<std::uint32_t> : launch_fill<float>)(data, count, rank, first,
                                                                                 stream);
}

std::optional<std::uint64_t> find_wrong(const void* data, std::uint64_t count, Element element,
                                        const Expected& expected, const cuda::Stream& stream) {
  const cuda::PinnedBuffer result(sizeof(unsigned long long), cuda::PinnedBuffer::Kind::cached);
  auto* const first = static_cast<unsigned long long*>(result.data());
  *first = ~0ULL;
  (element == Element::uint32 ? launch_check<std::uint32_t>
                              : launch_check<float>)(data, count, expected,
                                                     static_cast<unsigned long long*>(result.device_data()),
                                                     stream);
  stream.synchronize();
  return *first == ~0ULL ? std::nullopt : std::optional<std::uint64_t>(*first);
}

}  // namespace grainscope::collective
