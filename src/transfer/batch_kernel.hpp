#ifndef GRAINSCOPE_SRC_TRANSFER_BATCH_KERNEL_HPP
#define GRAINSCOPE_SRC_TRANSFER_BATCH_KERNEL_HPP

#include <cstdint>

#include "grainscope/transfer/batch_copy.hpp"

namespace grainscope::transfer {

// One kernel that copies `pieces` pieces, the largest of `largest_bytes`, from a table in device memory: a
// warp a piece, or a block where pieces are large.
void launch_piece_kernel(const PieceCopy* table, std::uint64_t pieces, std::uint64_t largest_bytes,
                         const cuda::Stream& stream);

}  // namespace grainscope::transfer

#endif
