#ifndef GRAINSCOPE_SRC_GRAPH_VERTEX_BITS_HPP
#define GRAINSCOPE_SRC_GRAPH_VERTEX_BITS_HPP

#include <cstdint>
#include <span>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// A set of vertices, a bit each, that any number of threads fill at once and that comes out in order.
class VertexBits {
 public:
  explicit VertexBits(Vertex vertices);

  [[nodiscard]] bool has(Vertex v) const;
  void add(Vertex v);

  // The vertices in ascending order; valid until the next call. All threads.
  [[nodiscard]] std::span<const Vertex> list();
  void clear();
  // Adds what another set over the same vertices holds.
  void add_all(const VertexBits& other);

 private:
  HostArray<std::uint64_t> words_;
  HostArray<Vertex> listed_;
};

}  // namespace grainscope::graph

#endif
