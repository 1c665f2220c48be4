#ifndef GRAINSCOPE_MODEL_GATHER_HPP
#define GRAINSCOPE_MODEL_GATHER_HPP

// Counts, exactly, what a gather of rows asks of the link between host and GPU: the walks of gnn/access.hpp,
// replayed lane by lane on the CPU, with no cache. Rows on GPUs ask for nothing.

#include <cstdint>
#include <span>

#include "grainscope/gnn/table.hpp"
#include "grainscope/model/link.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::model {

// Requests for `rows`, host memory, in the order in which they are asked for; a mode that sorts does so here
// too. `elements` are units of `width` bytes. All threads. Throws UsageError for a mode that is no kernel or
// cannot load units of `width` bytes.
[[nodiscard]] Requests gather_requests(gnn::Mode mode, std::uint32_t width, const gnn::TableShape& table,
                                       std::span<const std::uint32_t> rows);

// Misses of address translation: an LRU of the link's reach, over the rows in the order in which the mode
// reads them. 0 for a host's part within reach, and for a link whose translations are not modelled.
[[nodiscard]] std::uint64_t gather_misses(gnn::Mode mode, const Link& link, const gnn::TableShape& table,
                                          std::span<const std::uint32_t> rows);

}  // namespace grainscope::model

#endif
