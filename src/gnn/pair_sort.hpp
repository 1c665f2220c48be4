#ifndef GRAINSCOPE_SRC_GNN_PAIR_SORT_HPP
#define GRAINSCOPE_SRC_GNN_PAIR_SORT_HPP

// Pairs of numbers sorted by the first of each, on the current GPU. CUB's radix sort, compiled once.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace grainscope::gnn {

// `count` pairs, device memory.
struct Pairs {
  std::uint32_t* keys;
  std::uint32_t* values;
};
struct ConstPairs {
  const std::uint32_t* keys;
  const std::uint32_t* values;
};

// Bytes of scratch memory for `count` pairs whose keys have `bits` bits.
[[nodiscard]] std::uint64_t pair_sort_bytes(std::uint64_t count, int bits);
// Submits the sort; pairs with one key keep their order. `what` it does is in the message of an error.
void sort_pairs(void* scratch, std::uint64_t scratch_bytes, const ConstPairs& from, const Pairs& to,
                std::uint64_t count, int bits, cudaStream_t stream, const char* what);

}  // namespace grainscope::gnn

#endif
