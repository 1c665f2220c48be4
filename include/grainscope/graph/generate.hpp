#ifndef GRAINSCOPE_GRAPH_GENERATE_HPP
#define GRAINSCOPE_GRAPH_GENERATE_HPP

// Graphs made on the spot from a name: GAP's kron and urand, bit for bit, and others that behave differently
// under paging, alignment and tiering; and orders that their vertices are numbered in.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// What --graph names: "kron:24", "urand:20:4" (degree 4), "dense:17", "web:20", "pareto:20",
// "citation:20", "papers:20", "road:20", "power" and "pgp" (small real graphs inside the program),
// "file:PATH".
struct GraphSpec {
  enum class Kind { kron, urand, dense, web, pareto, citation, papers, road, builtin, file };
  Kind kind = Kind::kron;
  int scale = 0;     // 2^scale vertices, 1 to 31
  int degree = 0;    // edges drawn a vertex
  std::string path;  // of a file; of a builtin its name

  // "kron24", "urand20_4" where the degree is not the kind's own (16; dense 128, road 2); of a file its stem.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool directed() const { return kind == Kind::web || kind == Kind::citation; }
  [[nodiscard]] bool has_topics() const { return kind == Kind::citation || kind == Kind::papers; }
  // What it will have, at most, for judging whether it fits; of a file: nullopt.
  [[nodiscard]] std::optional<std::uint64_t> vertices() const;
  [[nodiscard]] std::optional<std::uint64_t> most_entries() const;  // adjacency entries
};

// Throws UsageError, listing what there is, for any other text.
[[nodiscard]] GraphSpec parse_graph_spec(const std::string& text);

// The edges, before building: kron and urand equal to GAP's (sbeamer/gapbs, generator.h), with weights 1..255
// where asked. `dense` in the manner of MOLIERE (mean degree above 200, no hubs that dwarf the rest), `web`
// directed and local in the manner of the web crawls (most links near in id, hosts, copied lists, a few far
// hubs), `pareto` with degrees that follow a Pareto law, `citation` of papers that cite earlier ones, mostly
// of their topic, in the manner of ogbn-papers100M; `papers` is the same both ways; `road` connected, of low
// degree and large diameter, in the manner of road networks. Seeded: the same on every machine. All threads.
// Throws UsageError for files.
[[nodiscard]] EdgeList generate_edges(const GraphSpec& spec, bool weights);

// Of graphs with topics each paper's label, u16[V]: its topic, 0 … 255, but for one in eight, whose label is
// drawn. All threads. Throws UsageError for other graphs.
[[nodiscard]] std::vector<std::uint16_t> topic_labels(const GraphSpec& spec);

// Of graphs with topics `count` papers to train on, ascending, as ogbn-papers100M has them: its labelled
// papers are those of one archive, which began late and is of few fields. They are drawn from the later half
// of the papers of four fields, which have a quarter of all; where these do not suffice, from the earlier
// half as well, then from the other fields. All threads. Throws UsageError for other graphs, and for more
// than there are.
[[nodiscard]] std::vector<Vertex> archived_papers(const GraphSpec& spec, std::uint64_t count);

// The graph of a spec with GAP's weights where asked (1..255; of a file its own, else drawn 1..255):
// generated and built, or read. With a `cache_dir` it is looked for there as NAME.sg / NAME.wsg (not of
// files), and put there, whole or not at all, when it was not. Throws as generate_edges, build_csr and the
// readers (io.hpp).
[[nodiscard]] Csr make_graph(const GraphSpec& spec, bool weights, const std::string& cache_dir = {});

// GAP's sources: `count` vertices with a degree above 0, drawn as its SourcePicker
// draws them. Throws UsageError where no vertex has an edge.
[[nodiscard]] std::vector<Vertex> gap_sources(const Csr& graph, int count);

// Offline orders of vertices, for locality under paging: permutations new to old, for relabel().

enum class Order { original, degree, halo_like };
[[nodiscard]] const char* name(Order order);

// degree: descending. Vertices of one degree go by which neighbour comes first in the order of falling
// degree, then by number, so that those of the same hub lie together; and once more by which comes first in
// the order that this makes. halo_like: a stand-in for HALO (VLDB 2020), whose code is not public: from
// `samples` GAP sources a bfs each, score = sum of 1 / (1 + depth) over those that reach a vertex, sorted
// descending, ties by number. All threads.
[[nodiscard]] std::vector<Vertex> order_of(const Csr& graph, Order order, int samples = 8);

}  // namespace grainscope::graph

#endif
