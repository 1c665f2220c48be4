#ifndef GRAINSCOPE_GRAPH_IO_HPP
#define GRAINSCOPE_GRAPH_IO_HPP

// Graph files, and what is in them. Every reader answers bad input with a UsageError that names the file and
// the line (text) or the byte (binary); none crashes, and none asks for more memory than the file's own size
// justifies.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

struct GraphSpec;

enum class Format {
  sg,             // GAP, serialised: offsets and 4-byte neighbours
  wsg,            // the same with weights
  el,             // GAP text: "from to", 0-based
  wel,            // the same with a weight
  snap,           // SNAP edge lists: comments '#', tabs or blanks
  matrix_market,  // .mtx: coordinate, pattern/integer/real, general/symmetric, 1-based
  metis,          // .graph: 1-based lists, comments '%'
  webgraph,       // .graph with a .properties beside it: WebGraph's compressed lists
  bel,            // EMOGI: NAME.bel.col, .bel.dst, .bel.val
};

struct ReadOptions {
  // Of formats that do not say (el, wel, snap, matrix_market general, bel): whether edges run one way only.
  bool directed = false;
  bool weights = false;  // read them too; without it they are left out
};

// By the name's ending: .sg .wsg .el .wel .txt/.snap .mtx .graph .properties .bel.* (or the stem before it);
// a .graph is WebGraph's where its .properties lie beside it. Throws UsageError listing these.
[[nodiscard]] Format format_of(const std::string& path);

// The file's name without its folder and ending: "web" of "graphs/web.bel.dst".
[[nodiscard]] std::string graph_stem(const std::string& path);

// Whether a file has weights of its own, by its format and header. Throws as read_graph.
[[nodiscard]] bool holds_weights(const std::string& path);

// How many vertices the graph of a file has: of .sg, .wsg and WebGraph by what says so, of others it is read.
// Throws as read_graph.
[[nodiscard]] std::uint64_t vertices_in(const std::string& path);

// The graph, checked, with `name` from the file's stem. Neighbours are cleaned as build_csr does where the
// format does not promise it. .sg and .wsg are mapped, not copied, where the alignment allows, else read in
// parallel (their offsets start at byte 17).
[[nodiscard]] Csr read_graph(const std::string& path, const ReadOptions& options = {});

// .sg, .wsg and .bel: written beside and renamed, each file whole or not at all; the three of a .bel are
// renamed one after another. Throws UsageError for other formats and weights that are missing,
// EnvironmentError where the disk is full.
void write_graph(const Csr& graph, const std::string& path);

// As make_graph (generate.hpp), which keeps what it makes in `cache_dir` with a finger print beside it,
// NAME.sg.made, and takes what is there where that is its own. Where a graph cannot be kept, it is given all
// the same, and `not_kept` gets the reason.
[[nodiscard]] Csr make_graph(const GraphSpec& spec, bool weights, const std::string& cache_dir,
                             std::string& not_kept);

// Small real graphs inside the program: "power", the power grid of the western United States, and "pgp", the
// largest component of the web of trust of PGP. Throws UsageError, listing these, for another name.
[[nodiscard]] Csr builtin_graph(const std::string& name);

// What decides how a graph is walked: how long its lists are, and how far its edges reach.

struct Degrees {
  Edge least = 0;
  Edge median = 0;  // the lowest degree that at least half of the vertices do not exceed
  Edge p99 = 0;     // and 99 of 100
  Edge most = 0;
  double mean = 0;
  std::uint64_t zero = 0;  // vertices without an out-edge
};

struct Description {
  Degrees degrees;
  // Entries in lists of at most 2^i entries, for i = 0, 1, … up to where it is all of them: the cumulative
  // distribution of EMOGI's figure 6.
  std::vector<Edge> entries_up_to;
  // Entries in lists that are shorter than a line of 128 bytes, with entries of 4 and of 8 bytes.
  Edge entries_below_line_4 = 0;
  Edge entries_below_line_8 = 0;
  // Mean |u − v| over all entries; of random ends it is a third of the vertices. 0 without entries.
  double mean_distance = 0;
  std::optional<std::uint64_t> components;  // of undirected graphs
};

// Throws EnvironmentError where 4 bytes a vertex are not to be had. All threads.
[[nodiscard]] Description describe(const Csr& graph);

}  // namespace grainscope::graph

#endif
