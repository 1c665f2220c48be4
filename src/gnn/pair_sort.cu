#include "pair_sort.hpp"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "grainscope/cuda/check.hpp"

namespace grainscope::gnn {
namespace {

// Without memory it tells `bytes`, what it needs.
void sort(void* scratch, std::size_t& bytes, const ConstPairs& from, const Pairs& to, std::uint64_t count,
          int bits, cudaStream_t stream, const char* what) {
  cuda::check(cub::DeviceRadixSort::SortPairs(scratch, bytes, from.keys, to.keys, from.values, to.values,
                                              count, 0, bits, stream),
              what);
}

}  // namespace

std::uint64_t pair_sort_bytes(std::uint64_t count, int bits) {
  std::size_t bytes = 0;
  sort(nullptr, bytes, {}, {}, count, bits, nullptr, "size the scratch memory of a sort");
  return std::max<std::uint64_t>(bytes, 1);
}

void sort_pairs(void* scratch, std::uint64_t scratch_bytes, const ConstPairs& from, const Pairs& to,
                std::uint64_t count, int bits, cudaStream_t stream, const char* what) {
  std::size_t bytes = scratch_bytes;
  sort(scratch, bytes, from, to, count, bits, stream, what);
}

}  // namespace grainscope::gnn
