#ifndef GRAINSCOPE_SRC_REACH_SPAN_CHUNK_HPP
#define GRAINSCOPE_SRC_REACH_SPAN_CHUNK_HPP

#include <memory>

#include "grainscope/reach/span_memory.hpp"

namespace grainscope::reach {

// One chunk of the kind that `request` asks for, on its node, touched and mapped for the current GPU, which
// is the one that reads. The calling thread is bound to the node. Throws as SpanMemory::grow.
[[nodiscard]] std::unique_ptr<SpanChunk> make_span_chunk(const Topology& topology,
                                                         const SpanRequest& request);

}  // namespace grainscope::reach

#endif
