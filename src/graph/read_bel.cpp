// EMOGI's graphs (illinois-impact/EMOGI): NAME.bel.col holds V + 1 offsets, NAME.bel.dst neighbours of
// 8 bytes, NAME.bel.val weights of 4; each behind a header of two u64, their count and one that is ignored.

#include <filesystem>

#include "binary_file.hpp"
#include "faults.hpp"
#include "readers.hpp"

namespace grainscope::graph {
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
