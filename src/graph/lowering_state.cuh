#ifndef GRAINSCOPE_SRC_GRAPH_LOWERING_STATE_CUH
#define GRAINSCOPE_SRC_GRAPH_LOWERING_STATE_CUH

#include "program.cuh"

namespace grainscope::graph {

// The arrays of an algorithm that lowers one number a vertex. What they begin with is the algorithm's.
template <class LoweringProgram>
class LoweringState {
 public:
  using Program = LoweringProgram;
  explicit LoweringState(const PlacedGraph& graph)
      : vertices_(graph.view().vertices),
        values_(graph.request().gpu, vertices_),
        walked_(graph.request().gpu, vertices_) {}

  [[nodiscard]] Program program() const {
    Program program;
    program.values = values_.data();
    program.walked = walked_.data();
    return program;
  }
  void clear(Vertex source, const cuda::Stream& stream) const {
    walked_.fill_bytes(0xff, stream);
    Program::begin(values_, vertices_, source, stream);
  }
  // A value may fall once a level at least, along a path without repeats.
  static std::uint64_t most_levels(Vertex vertices) { return std::uint64_t{vertices} + 1; }
  [[nodiscard]] std::vector<std::uint32_t> answer(Vertex vertices) const { return values_.read(vertices); }
  [[nodiscard]] static std::vector<float> ranks(Vertex /*vertices*/) {
    throw UsageError("only pr answers with ranks");
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return values_.bytes() + walked_.bytes(); }

 private:
  Vertex vertices_;
  DeviceArray<std::uint32_t> values_;
  DeviceArray<std::uint32_t> walked_;
};

}  // namespace grainscope::graph

#endif
