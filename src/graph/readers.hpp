#ifndef GRAINSCOPE_SRC_GRAPH_READERS_HPP
#define GRAINSCOPE_SRC_GRAPH_READERS_HPP

// One function a format; each throws UsageError for bad input, with the line or the byte. Names are given by
// who calls.

#include <optional>
#include <string>

#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/io.hpp"
#include "text.hpp"

namespace grainscope::graph {

// "from to" or "from to weight", from 0: `el`, `wel` and `snap`.
[[nodiscard]] Csr read_edge_lines(const Text& text, Format format, const ReadOptions& options);
[[nodiscard]] Csr read_matrix_market(const Text& text, const ReadOptions& options);
[[nodiscard]] Csr read_metis(const Text& text, const ReadOptions& options);

// .sg, and .wsg where `wide`: entries with weights behind them.
[[nodiscard]] Csr read_serialised(const std::string& path, bool wide, const ReadOptions& options);
[[nodiscard]] std::uint64_t serialised_vertices(const std::string& path, bool wide);
// `stem` + ".col", ".dst" and ".val".
[[nodiscard]] Csr read_bel(const std::string& stem, const ReadOptions& options);

// `stem` + ".graph" and ".properties". Undirected where every arc is there both ways, unless `directed` is
// asked for.
[[nodiscard]] Csr read_webgraph(const std::string& stem, const ReadOptions& options);
[[nodiscard]] std::uint64_t webgraph_vertices(const std::string& stem);

// By what stands before the edges.
[[nodiscard]] std::uint64_t matrix_market_vertices(const Text& text);
[[nodiscard]] std::uint64_t metis_vertices(const Text& text);
// Whether a text has weights; false for one that cannot be read at all.
[[nodiscard]] bool snap_has_weights(const Text& text);
[[nodiscard]] bool matrix_market_has_weights(const Text& text);
[[nodiscard]] bool metis_has_weights(const Text& text);

// Thrown by all where weights are asked for and the file has none.
[[noreturn]] void throw_no_weights(const std::string& path);

// The first place where a graph is not what csr.hpp promises, for who knows where it came from.

struct ListFault {
  Vertex vertex = 0;  // whose list it is
  Edge entry = 0;     // the entry of the edge arrays
  std::string what;   // "9 stands behind 12"
};
// Of offsets that are in order: the first neighbour that is out of range, not above the one before it, or
// the vertex itself. All threads.
[[nodiscard]] std::optional<ListFault> first_list_fault(const Csr& graph);

struct Unpaired {
  Vertex vertex = 0;
  Edge entry = 0;
  bool other_weight = false;  // it is there the other way round, with another weight
};
// Of lists that are in order: the first entry that is not there the other way round. All threads.
[[nodiscard]] std::optional<Unpaired> first_unpaired(const Csr& graph);

}  // namespace grainscope::graph

#endif
