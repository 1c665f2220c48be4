#ifndef GRAINSCOPE_MODEL_LEAN_CC_HPP
#define GRAINSCOPE_MODEL_LEAN_CC_HPP

// What connected components by sampling ask of the link: the steps of the kernels (lean/lean_cc.hpp), taken
// on the CPU.

#include <cstdint>
#include <vector>

#include "grainscope/lean/lean_cc.hpp"
#include "grainscope/model/lean_bfs.hpp"

namespace grainscope::model {

struct LeanCc {
  std::vector<graph::Vertex> labels;  // [V]: of each component its lowest vertex
  Requests sampling;
  Requests rest;
  std::uint64_t sampling_hot = 0;  // elements read from GPU memory
  std::uint64_t rest_hot = 0;
  std::uint64_t outside = 0;  // vertices whose lists were read whole after the sampling
  [[nodiscard]] Requests total() const;
};

// Of an undirected graph. All threads.
[[nodiscard]] LeanCc replay_cc(const TieredLists& lists);

}  // namespace grainscope::model

#endif
