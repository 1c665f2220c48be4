#ifndef GRAINSCOPE_SRC_GRAPH_VERTEX_MARKS_HPP
#define GRAINSCOPE_SRC_GRAPH_VERTEX_MARKS_HPP

#include <atomic>
#include <cstdint>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// A mark a vertex, none at first; any thread may set any mark at any time.
class VertexMarks {
 public:
  explicit VertexMarks(Vertex vertices) : marks_(vertices) {}

  [[nodiscard]] bool operator[](Vertex v) const {
    return std::atomic_ref(marks_[v]).load(std::memory_order_relaxed) != 0;
  }
  // Writes only what is not yet marked: most are marked often, and a write takes the line from the others.
  void set(Vertex v) {
    if (!(*this)[v]) {
      std::atomic_ref(marks_[v]).store(1, std::memory_order_relaxed);
    }
  }

 private:
  HostArray<std::uint8_t> marks_;  // a byte each: setting a bit would need a read-modify-write
};

}  // namespace grainscope::graph

#endif
