#ifndef GRAINSCOPE_SRC_GNN_FILE_CHECK_HPP
#define GRAINSCOPE_SRC_GNN_FILE_CHECK_HPP

// Rows that a GPU gathered, held against the file that they come from: no closed form tells a GPU what they
// should be, so they go back to the host.

#include <cstdint>
#include <span>

#include "grainscope/cuda/device.hpp"
#include "grainscope/gnn/features.hpp"

namespace grainscope::gnn {

// Elements of `out` (device, rows one after another) that are not those of `rows` (host). Waits for the
// stream, and copies piece by piece.
[[nodiscard]] std::uint64_t count_unlike_file(const Features& features, const std::byte* out,
                                              std::span<const graph::Vertex> rows,
                                              const cuda::Stream& stream);

}  // namespace grainscope::gnn

#endif
