#ifndef GRAINSCOPE_GRAPH_SUBWAY_HPP
#define GRAINSCOPE_GRAPH_SUBWAY_HPP

// Traversal by compaction, after Subway (EuroSys 2020): in every level the GPU finds the active vertices, the
// CPU gathers their lists, end to end, into page-locked buffers, these are copied to the GPU, and a kernel
// walks the copy.
//
// The sequence of a level's lists is cut into partitions (a list that lies across a cut is walked in two
// parts). Two buffers take turns, so that one partition is gathered while another is copied and a third
// walked. All of it is timed, from the clearing of the state to the last wait. Subway's own code begins to
// time after the first generation, and an integer division in its gathering can leave out up to 63 vertices.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

struct SubwayRequest {
  int edge_bytes = 8;    // of a neighbour in the copies: 4 or 8
  bool weights = false;  // gathered and copied too, 4 bytes an edge
  int gpu = 0;
  // Of the GPU's memory, at most, for both buffers of edges and weights. 0: a quarter of what all edges and
  // weights take. More than two partitions (64 MiB) is not used: smaller ones overlap better.
  std::uint64_t cap_bytes = 0;
  friend bool operator==(const SubwayRequest&, const SubwayRequest&) = default;
};

// Where a level's time went. The three overlap: their sum may exceed the level's time.
struct SubwayLevel {
  double gather_s = 0;  // the CPU's gathering
  double copy_s = 0;    // copies of edges and weights to the GPU
  double walk_s = 0;    // cutting lists into work items, and walking
  std::uint64_t partitions = 0;
  std::uint64_t edge_bytes = 0;  // copied to the GPU: edges and weights
  std::uint64_t list_bytes = 0;  // copied from the GPU: which lists are active
};

// Its levels' `link_bytes` are all bytes copied: edge_bytes + list_bytes. `trace` throws UsageError: what is
// walked is a copy.
class SubwayTraversal : public WalkingTraversal {
 public:
  // Of the last run, one for each of levels().
  [[nodiscard]] virtual std::vector<SubwayLevel> parts() const = 0;
};

// `graph` outlives the result: lists are gathered from its own arrays. Throws UsageError where the cap does
// not hold two buffers of 32 edges, and for weights that are needed and not asked for, or asked for and not
// there; SkipError, with the numbers, where the GPU has no room; EnvironmentError, with the numbers, or
// FailedError where host memory is lacking or cannot be locked. In a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<SubwayTraversal> make_subway(const Csr& graph, const SubwayRequest& request,
                                                           Algorithm algorithm);

}  // namespace grainscope::graph

#endif
