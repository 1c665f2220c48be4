#ifndef GRAINSCOPE_SRC_TRANSFER_READ_PIECES_HPP
#define GRAINSCOPE_SRC_TRANSFER_READ_PIECES_HPP

#include <cstdint>

#include "grainscope/cuda/device.hpp"

namespace grainscope::transfer {

// Pieces that begin `stride_bytes` apart; both are multiples of 16 bytes.
struct PieceRow {
  std::uint64_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::uint64_t stride_bytes = 0;
};

// Loads the kernel for the current GPU.
void load_piece_reader();

// The GPU reads every word of every piece at `data` and adds it to `sum` (device memory), mod 2⁶⁴. A warp
// takes 4 KiB at a time, so that as many pages are asked for at once as by the kernel that touches pages.
void read_pieces(const void* data, const PieceRow& row, unsigned long long* sum, const cuda::Stream& stream);

}  // namespace grainscope::transfer

#endif
