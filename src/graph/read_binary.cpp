// The binary formats, GAP's and EMOGI's, and the check that what was read is a graph.

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>

#include "files.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

// Without a branch in it: this reads every entry of a graph that is loaded. Of an ascending list only the
// last neighbour can be out of range.
bool list_is_wrong(const Csr& graph, Vertex v) {
  const auto list = graph.neighbours(v);
  const Vertex* const neighbours = list.data();
  const std::size_t last = list.empty() ? 0 : list.size() - 1;
  unsigned wrong = 0;
  for (std::size_t i = 0; i < last; ++i) {
    wrong |= unsigned{neighbours[i] >= neighbours[i + 1]} | unsigned{neighbours[i] == v};
  }
  return wrong != 0 || (!list.empty() && (neighbours[last] == v || neighbours[last] >= graph.vertices()));
}

ListFault fault_of_list(const Csr& graph, Vertex v) {
  std::uint64_t least = 0;
  for (Edge i = graph.offsets[v]; i < graph.offsets[v + std::uint64_t{1}]; ++i) {
    const Vertex u = graph.targets[i];
    if (u >= graph.vertices()) {
      return {v, i, "neighbour " + std::to_string(u) + " is no vertex"};
    }
    if (u == v) {
      return {v, i, "it is its own neighbour"};
    }
    if (u < least) {
      return {v, i,
              "neighbour " + std::to_string(u) +
                  (u + std::uint64_t{1} == least ? " is repeated"
                                                 : " stands behind " + std::to_string(least - 1))};
    }
    least = u + std::uint64_t{1};
  }
  return {v, graph.offsets[v], "it changed while it was checked"};
}

// The sum of a hash of every edge's ends and weight, added in one direction and taken away in the other.
// 0 where every edge is there both ways; where one is not it is 0 by a chance of 2⁻⁶⁴.
std::uint64_t unpaired_sum(const Csr& graph) {
  const EdgeChunks chunks(graph);
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const std::uint64_t last = chunks.first(chunk + 1);
    for (std::uint64_t v = chunks.first(chunk); v < last; ++v) {
      for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
        const std::uint64_t u = graph.targets[i];
        std::uint64_t hash = mixed(std::min(u, v) << 32 | std::max(u, v));
        hash = graph.weighted() ? mixed(hash ^ graph.weights[i]) : hash;
        sum += u > v ? hash : 0 - hash;
      }
    }
  }
  return sum;
}

std::optional<Unpaired> unpaired_of(const Csr& graph, Vertex v) {
  for (Edge i = graph.offsets[v]; i < graph.offsets[v + std::uint64_t{1}]; ++i) {
    const Vertex u = graph.targets[i];
    const auto list = graph.neighbours(u);
    const auto found = std::lower_bound(list.begin(), list.end(), v);
    if (found == list.end() || *found != v) {
      return Unpaired{v, i, false};
    }
    if (graph.weighted() && graph.weights_of(u)[found - list.begin()] != graph.weights[i]) {
      return Unpaired{v, i, true};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ListFault> first_list_fault(const Csr& graph) {
  const auto v = first_wrong(graph, [&](Vertex each) { return list_is_wrong(graph, each); });
  return v ? std::optional(fault_of_list(graph, *v)) : std::nullopt;
}

std::optional<Unpaired> first_unpaired(const Csr& graph) {
  if (unpaired_sum(graph) == 0) {
    return std::nullopt;
  }
  const auto v = first_wrong(graph, [&](Vertex each) { return unpaired_of(graph, each).has_value(); });
  return v ? unpaired_of(graph, *v) : std::nullopt;
}

// GAP's .sg and .wsg (sbeamer/gapbs, writer.h), packed: u8 directed, i64 entries, i64 vertices,
// i64 offsets[V + 1], entries; of a directed graph offsets and entries once more, of the in-edges. An entry
// is an i32 neighbour, in .wsg with an i32 weight behind it.
namespace {

constexpr std::uint64_t kOffsetsAt = 17;

// A number of an edge that says nothing of another's (splitmix64): sums of edges in any order are equal.
std::uint64_t mixed(Vertex from, Vertex to) {
  std::uint64_t x = (std::uint64_t{from} << 32 | to) + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Layout {
  bool directed = false;
  std::uint64_t entries = 0;
  std::uint64_t vertices = 0;
  std::uint64_t entry_bytes = 0;

  [[nodiscard]] std::uint64_t entries_at() const { return kOffsetsAt + 8 * (vertices + 1); }
  [[nodiscard]] std::uint64_t entry_at(Edge entry) const { return entries_at() + entry * entry_bytes; }
};

Layout layout_of(const BinaryFile& file, bool wide) {
  if (file.bytes() == 0) {
    file.refuse(0, "the file is empty");
  }
  const auto directed = file.value<std::uint8_t>(0);
  if (directed > 1) {
    file.refuse(0, "its first byte is " + std::to_string(directed) +
                       ", where 0 or 1 says whether a graph of GAP's format is directed");
  }
  const auto entries = file.value<std::int64_t>(1);
  const auto vertices = file.value<std::int64_t>(9);
  const std::uint64_t entry_bytes = wide ? 8 : 4;
  const std::string declared =
      std::to_string(vertices) + " vertices and " + std::to_string(entries) + " entries are declared";
  // Neither product below overflows: no count is above the file's own size.
  const auto most = static_cast<std::int64_t>(file.bytes());
  if (vertices < 1 || entries < 0 || vertices > most / 8 || entries > most / 4) {
    file.refuse(1, declared + "; the file has " + std::to_string(most) + " bytes");
  }
  if (vertices > std::int64_t{1} << 31) {
    file.refuse(9, declared + "; the format's numbers of vertices end at 2147483647");
  }
  Layout layout{directed == 1, static_cast<std::uint64_t>(entries), static_cast<std::uint64_t>(vertices),
                entry_bytes};
  const std::uint64_t way = 8 * (layout.vertices + 1) + layout.entries * entry_bytes;
  const std::uint64_t expected = kOffsetsAt + way * (layout.directed ? 2 : 1);
  if (expected != file.bytes()) {
    file.refuse(1, declared + ", which take " + std::to_string(expected) + " bytes; the file has " +
                       std::to_string(most));
  }
  return layout;
}

void read_offsets(const BinaryFile& file, const Layout& layout, Csr& graph) {
  graph.offsets = HostArray<Edge>(layout.vertices + 1);
  file.read_array(kOffsetsAt, graph.offsets.data(), graph.offsets.bytes());
  const HostArray<Edge>& offsets = graph.offsets;
  if (offsets[0] != 0) {
    file.refuse(kOffsetsAt, "the first offset is " + std::to_string(offsets[0]) + ", not 0");
  }
  for_pieces(layout.vertices, kMiB, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t v = first; v < last; ++v) {
      if (offsets[v + 1] < offsets[v] || offsets[v + 1] > layout.entries) {
        file.refuse(kOffsetsAt + 8 * (v + 1), "the offset " +
                                                  std::to_string(static_cast<std::int64_t>(offsets[v + 1])) +
                                                  " stands behind " + std::to_string(offsets[v]) + ", with " +
                                                  std::to_string(layout.entries) + " entries declared");
      }
    }
  });
  if (offsets[layout.vertices] != layout.entries) {
    file.refuse(layout.entries_at() - 8, "the last offset is " + std::to_string(offsets[layout.vertices]) +
                                             ", with " + std::to_string(layout.entries) +
                                             " entries declared");
  }
}

void read_wide_entries(const BinaryFile& file, const Layout& layout, bool weights, Csr& graph) {
  graph.weights = HostArray<Weight>(weights ? layout.entries : 0);
  using Entry = std::array<std::uint32_t, 2>;
  file.for_elements<Entry>(
      layout.entries_at(), layout.entries, [&](std::uint64_t first, const Entry* entries, std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          graph.targets[first + i] = entries[i][0];
        }
        for (std::uint64_t i = 0; weights && i < n; ++i) {
          graph.weights[first + i] = entries[i][1];
          if (entries[i][1] > INT32_MAX) {
            file.refuse(
                layout.entry_at(first + i) + 4,
                "the weight " + std::to_string(static_cast<std::int32_t>(entries[i][1])) + " is negative");
          }
        }
      });
}

// Of a directed graph the in-edges, which nothing else reads: the same edges the other way round.
void require_in_edges(const BinaryFile& file, const Layout& layout, const Csr& graph) {
  const std::uint64_t offsets_at = layout.entry_at(layout.entries);
  const std::uint64_t entries_at = offsets_at + 8 * (layout.vertices + 1);
  HostArray<Edge> offsets(layout.vertices + 1);
  file.read_array(offsets_at, offsets.data(), offsets.bytes());
  std::vector<Edge> in_degrees(layout.vertices);
  std::uint64_t out = 0;
  for (Vertex v = 0; v < layout.vertices; ++v) {
    for (Edge entry = graph.offsets[v]; entry < graph.offsets[v + 1]; ++entry) {
      ++in_degrees[graph.targets[entry]];
      out += mixed(v, graph.targets[entry]);
    }
  }
  Edge expected = 0;
  for (Vertex v = 0; v <= layout.vertices; ++v) {
    if (offsets[v] != expected) {
      file.refuse(offsets_at + 8 * std::uint64_t{v}, "the offset " + std::to_string(offsets[v]) +
                                                         " of the in-edges, where the out-edges make it " +
                                                         std::to_string(expected));
    }
    expected += v < layout.vertices ? in_degrees[v] : 0;
  }
  std::atomic<std::uint64_t> in{0};
  const auto take = [&](std::uint64_t first, std::uint64_t count, const auto& source_of) {
    std::uint64_t sum = 0;
    const auto after = std::upper_bound(offsets.data(), offsets.data() + layout.vertices + 1, first);
    auto v = static_cast<Vertex>(after - offsets.data() - 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      while (offsets[v + 1] <= first + i) {
        ++v;
      }
      const std::uint32_t source = source_of(i);
      if (source >= layout.vertices) {
        file.refuse(entries_at + (first + i) * layout.entry_bytes,
                    "an in-edge of vertex " + std::to_string(v) + " comes from vertex " +
                        std::to_string(source) + ", of " + std::to_string(layout.vertices));
      }
      sum += mixed(source, v);
    }
    in += sum;
  };
  if (layout.entry_bytes == 8) {
    using Entry = std::array<std::uint32_t, 2>;
    file.for_elements<Entry>(entries_at, layout.entries,
                             [&](std::uint64_t first, const Entry* entries, std::uint64_t n) {
                               take(first, n, [&](std::uint64_t i) { return entries[i][0]; });
                             });
  } else {
    file.for_elements<std::uint32_t>(entries_at, layout.entries,
                                     [&](std::uint64_t first, const std::uint32_t* entries, std::uint64_t n) {
                                       take(first, n, [&](std::uint64_t i) { return entries[i]; });
                                     });
  }
  if (in != out) {
    file.refuse(entries_at, "the in-edges are not the out-edges the other way round");
  }
}

void require_what_is_promised(const BinaryFile& file, const Layout& layout, const Csr& graph) {
  if (const auto fault = first_list_fault(graph)) {
    file.refuse(layout.entry_at(fault->entry),
                "in the list of vertex " + std::to_string(fault->vertex) + ": " + fault->what);
  }
  const auto fault = graph.directed ? std::nullopt : first_unpaired(graph);
  if (fault) {
    file.refuse(layout.entry_at(fault->entry),
                "the edge from " + std::to_string(fault->vertex) + " to " +
                    std::to_string(graph.targets[fault->entry]) +
                    (fault->other_weight ? " has another weight" : " is not there") +
                    " the other way round, though the graph is undirected");
  }
  if (graph.directed) {
    require_in_edges(file, layout, graph);
  }
}

}  // namespace

std::uint64_t serialised_vertices(const std::string& path, bool wide) {
  return layout_of(BinaryFile(path), wide).vertices;
}

Csr read_serialised(const std::string& path, bool wide, const ReadOptions& options) {
  if (options.weights && !wide) {
    throw_no_weights(path);
  }
  const BinaryFile file(path);
  const Layout layout = layout_of(file, wide);
  Csr graph;
  graph.directed = layout.directed;
  read_offsets(file, layout, graph);
  graph.targets = HostArray<Vertex>(layout.entries);
  if (wide) {
    read_wide_entries(file, layout, options.weights, graph);
  } else {
    file.read_array(layout.entries_at(), graph.targets.data(), graph.targets.bytes());
  }
  require_what_is_promised(file, layout, graph);
  return graph;
}

// EMOGI's graphs (illinois-impact/EMOGI): NAME.bel.col holds V + 1 offsets, NAME.bel.dst neighbours of
// 8 bytes, NAME.bel.val weights of 4; each behind a header of two u64, their count and one that is ignored.
namespace {

constexpr std::uint64_t kHeader = 16;

// The count that a file declares, which must be what it holds.
std::uint64_t count_of(const BinaryFile& file, std::uint64_t element_bytes) {
  if (file.bytes() < kHeader) {
    file.refuse(0, "the file has " + std::to_string(file.bytes()) + " bytes, its header alone takes 16");
  }
  const auto count = file.value<std::uint64_t>(0);
  const std::uint64_t held = (file.bytes() - kHeader) / element_bytes;
  if (count != held || (file.bytes() - kHeader) % element_bytes != 0) {
    file.refuse(0, std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                       " bytes are declared; the file has " + std::to_string(file.bytes()) +
                       " bytes, 16 of them its header");
  }
  return count;
}

HostArray<Edge> read_offsets(const BinaryFile& file) {
  const std::uint64_t count = count_of(file, 8);
  if (count < 2 || count - 1 > UINT32_MAX) {
    file.refuse(0, std::to_string(count) + " offsets, one more than vertices: there may be 1 to " +
                       std::to_string(UINT32_MAX) + " vertices");
  }
  HostArray<Edge> offsets(count);
  file.read_array(kHeader, offsets.data(), offsets.bytes());
  if (offsets[0] != 0) {
    file.refuse(kHeader, "the first offset is " + std::to_string(offsets[0]) + ", not 0");
  }
  for_pieces(count - 1, kMiB, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t v = first; v < last; ++v) {
      if (offsets[v + 1] < offsets[v]) {
        file.refuse(kHeader + 8 * (v + 1), "the offset " + std::to_string(offsets[v + 1]) +
                                               " stands behind " + std::to_string(offsets[v]));
      }
    }
  });
  return offsets;
}

HostArray<Vertex> read_targets(const BinaryFile& file, const BinaryFile& offsets_file,
                               const HostArray<Edge>& offsets) {
  const std::uint64_t count = count_of(file, 8);
  const std::uint64_t vertices = offsets.size() - 1;
  if (offsets[vertices] != count) {
    offsets_file.refuse(kHeader + 8 * vertices, "the last offset is " + std::to_string(offsets[vertices]) +
                                                    "; " + file.path() + " holds " + std::to_string(count) +
                                                    " neighbours");
  }
  HostArray<Vertex> targets(count);
  file.for_elements<std::uint64_t>(
      kHeader, count, [&](std::uint64_t first, const std::uint64_t* elements, std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          if (elements[i] >= vertices) {
            file.refuse(kHeader + 8 * (first + i), "neighbour " + std::to_string(elements[i]) +
                                                       " is no vertex; there are " +
                                                       std::to_string(vertices));
          }
          targets[first + i] = static_cast<Vertex>(elements[i]);
        }
      });
  return targets;
}

HostArray<Weight> read_weights(const BinaryFile& file, std::uint64_t edges) {
  const std::uint64_t count = count_of(file, 4);
  if (count != edges) {
    file.refuse(0, std::to_string(count) + " weights for " + std::to_string(edges) + " neighbours");
  }
  HostArray<Weight> weights(count);
  file.read_array(kHeader, weights.data(), weights.bytes());
  return weights;
}

}  // namespace

Csr read_bel(const std::string& stem, const ReadOptions& options) {
  if (options.weights && !std::filesystem::exists(stem + ".val")) {
    throw_no_weights(stem);
  }
  Csr graph;
  graph.directed = options.directed;
  {
    const BinaryFile offsets(stem + ".col");
    graph.offsets = read_offsets(offsets);
    graph.targets = read_targets(BinaryFile(stem + ".dst"), offsets, graph.offsets);
  }
  if (options.weights) {
    graph.weights = read_weights(BinaryFile(stem + ".val"), graph.edges());
  }
  // The format promises neither order nor both directions; where they are there, nothing is left to do.
  if (!first_list_fault(graph) && (graph.directed || !first_unpaired(graph))) {
    return graph;
  }
  return build_csr(edges_of(std::move(graph)), {.symmetrise = !options.directed});
}

}  // namespace grainscope::graph
