#ifndef GRAINSCOPE_MODEL_LEAN_CC_HPP
#define GRAINSCOPE_MODEL_LEAN_CC_HPP

// What connected components by sampling ask of the link: the steps of the kernels (lean/lean_cc.hpp), taken
// on the CPU.

#include <array>
#include <cstdint>
#include <vector>

#include "grainscope/lean/lean_cc.hpp"
#include "grainscope/model/lean_bfs.hpp"

namespace grainscope::model {

struct LeanCc {
  struct Stage {
    Requests link;
    std::uint64_t hot = 0;       // elements read from GPU memory
    std::uint64_t vertices = 0;  // whose lists were read, or sampled
  };
  std::vector<graph::Vertex> labels;  // [V]: of each component its lowest vertex
  std::array<Stage, lean::kCcStages> stages;
  [[nodiscard]] Requests total() const;
};

// Of an undirected graph. All threads.
[[nodiscard]] LeanCc replay_cc(const TieredLists& lists);

}  // namespace grainscope::model

#endif
