// GAP's .sg and .wsg (sbeamer/gapbs, writer.h), packed: u8 directed, i64 entries, i64 vertices,
// i64 offsets[V + 1], entries; of a directed graph offsets and entries once more, of the in-edges. An entry
// is an i32 neighbour, in .wsg with an i32 weight behind it.

#include <algorithm>
#include <array>

#include "binary_file.hpp"
#include "faults.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kOffsetsAt = 17;

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
}

}  // namespace

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

}  // namespace grainscope::graph
