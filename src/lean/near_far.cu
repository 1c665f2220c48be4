// Shortest paths by near and far: all steps in one kernel, whose blocks wait for each other between phases.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "path_state.cuh"
#include "stepped_run.cuh"

namespace grainscope::lean {
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    relax_steps(PlacedView lists, PathArrays a, StepBoard board, Vertex source, std::uint32_t delta) {
  const cg::grid_group grid = cg::this_grid();
  const bool notes = grid.thread_rank() == 0;
  if (notes) {
    board.begin();
  }
  clear_paths(a, lists.vertices, source);
  grid.sync();
  Relax relax{a};
  std::uint64_t threshold = delta;
  std::uint32_t step = 0;
  for (std::uint32_t round = 0; step < board.most; ++round) {
    StepCounters& counters = a.counters[round % 2];
    choose(lists.out, a, threshold, counters);
    grid.sync();
    const std::uint64_t active = __ldcg(&counters.active);
    const std::uint64_t edges = __ldcg(&counters.edges);
    const std::uint32_t nearest = __ldcg(&counters.nearest);
    if (active == 0 && nearest == graph::kUnreached) {
      if (notes) {
        *board.steps = step;
      }
      return;
    }
    if (active == 0) {
      threshold = (std::uint64_t{nearest} / delta + 1) * delta;
    } else {
      ReadNote* const note = kCount ? board.reads + step : nullptr;
      const HandOut out{a.pieces, &counters.pieces, long_list(active)};
      visit_lists<kCoding, kCount>(
          lists.out, {0, a.words}, [&](std::uint32_t word) { return a.active[word]; }, out, note, relax);
      grid.sync();
      visit_pieces<kCoding, kCount>(lists.out, out, __ldcg(&counters.pieces), note, relax);
    }
    if (notes) {
      a.counters[(round + 1) % 2] = {0, 0, 0, graph::kUnreached};
    }
    grid.sync();
    if (active != 0) {
      if (notes) {
        board.note(step, active, edges, false);
      }
      ++step;
    }
  }
}

class CudaLeanSssp final : public LeanTraversal {
 public:
  CudaLeanSssp(const LeanLists& lists, std::uint32_t delta)
      : lists_(view_of(lists)),
        delta_(delta),
        guard_(lists.gpu()),
        state_(lists_, delta, lists.gpu()),
        run_(lists.gpu(), kMostSteps, "shortest paths") {}

  double run(Vertex source) override { return launch<false>(run_.board(), source); }
  std::vector<LinkReads> count(Vertex source) override {
    return run_.count([&](const StepBoard& board) { return launch<true>(board, source); });
  }

  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override { return state_.distances(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
  template <bool kCount>
  double launch(const StepBoard& board, Vertex source) {
    graph::require_vertex(source, lists_.vertices);
    return run_.run(kernel<kCount>(), lists_, state_.arrays(), board, source, delta_);
  }

  using Kernel = void (*)(PlacedView, PathArrays, StepBoard, Vertex, std::uint32_t);
  template <bool kCount>
  [[nodiscard]] Kernel kernel() const {
    switch (lists_.out.coding) {
      case Coding::joined:
        return relax_steps<Coding::joined, kCount>;
      case Coding::beside:
        return relax_steps<Coding::beside, kCount>;
      case Coding::compressed_weighted:
        return relax_steps<Coding::compressed_weighted, kCount>;
      case Coding::plain:
      case Coding::compressed:
        break;
    }
    throw UsageError("shortest paths are over lists that are placed with weights");
  }

  PlacedView lists_;
  std::uint32_t delta_;
  cuda::DeviceGuard guard_;
  PathState state_;
  SteppedRun run_;
};

}  // namespace

std::unique_ptr<LeanTraversal> make_lean_sssp(const LeanLists& lists, std::uint32_t delta) {
  return std::make_unique<CudaLeanSssp>(lists, delta);
}

}  // namespace grainscope::lean
