#ifndef GRAINSCOPE_SRC_GNN_TIMED_FILL_HPP
#define GRAINSCOPE_SRC_GNN_TIMED_FILL_HPP

#include <cstddef>
#include <cstdint>
#include <span>

namespace grainscope::gnn {

// Seconds of copying `bytes` to memory of the current GPU from page-locked host memory in chunks, from the
// first again where they end, until all has arrived: the median of three. What filling a GPU's part of a
// table costs when its rows stand in order on the host.
[[nodiscard]] double timed_fill_s(void* to, std::uint64_t bytes, std::span<const std::byte* const> chunks,
                                  std::uint64_t chunk_bytes);

}  // namespace grainscope::gnn

#endif
