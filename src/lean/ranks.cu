// PageRank by pulling: all sweeps in one kernel, whose blocks wait for each other between phases.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "grainscope/lean/lean_pr.hpp"
#include "rank_state.cuh"
#include "stepped_run.cuh"

namespace grainscope::lean {
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    sweep_ranks(PlacedView lists, RankArrays a, StepBoard board, bool keeps) {
  const cg::grid_group grid = cg::this_grid();
  const bool notes = grid.thread_rank() == 0;
  if (notes) {
    board.begin();
  }
  const auto base = static_cast<float>((1 - graph::kDamping) / lists.vertices);
  const double ranked_share = static_cast<double>(*a.ranked) / lists.vertices;
  begin_near(lists, a, base);
  grid.sync();
  for (std::uint32_t sweep = 0; sweep < board.most; ++sweep) {
    SweepCounters& counters = a.counters[sweep % 2];
    ReadNote* const note = kCount ? board.reads + sweep : nullptr;
    Settle settle{lists.out, a, base};
    Carry carry{a, settle};
    const HandOut out{a.pieces, &counters.pieces};
    visit_lists<kCoding, kCount>(
        lists.in, {0, a.words}, [&](std::uint32_t word) { return a.listed[word]; }, out, note, carry);
    grid.sync();
    const std::uint64_t pieces = __ldcg(&counters.pieces);
    visit_pieces<kCoding, kCount>(lists.in, out, pieces, note, carry);
    grid.sync();
    settle_long(a, pieces, settle);
    settle.finish(counters);
    if (notes) {
      a.counters[(sweep + 1) % 2] = {};
    }
    grid.sync();
    const double mass = __ldcg(&counters.mass);
    const double factor = keeps && mass > 0 ? ranked_share / mass : 1;
    const double bound = rank_bound(__ldcg(&counters.changed), factor, ranked_share);
    scale(a, lists.vertices, static_cast<float>(factor));
    grid.sync();
    if (notes) {
      board.note(sweep, *a.ranked, lists.edges, true);
    }
    if (bound < kRankGoal) {
      if (notes) {
        *board.steps = sweep + 1;
      }
      return;
    }
  }
}

class CudaLeanPr final : public LeanTraversal {
 public:
  explicit CudaLeanPr(const LeanLists& lists)
      : lists_(view_of(lists)),
        guard_(lists.gpu()),
        run_(lists.gpu(), kMostSweeps, "PageRank"),
        state_(lists_, lists.gpu(), run_.stream()) {}

  double run(Vertex /*source*/) override { return launch<false>(run_.board()); }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    return run_.count([&](const StepBoard& board) { return launch<true>(board); });
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<float> ranks() const override { return state_.ranks(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
  template <bool kCount>
  double launch(const StepBoard& board) {
    const RankArrays a = state_.arrays();
    const bool keeps = keeps_mass(lists_);
    return lists_.in.coding == Coding::compressed
               ? run_.run(sweep_ranks<Coding::compressed, kCount>, lists_, a, board, keeps)
               : run_.run(sweep_ranks<Coding::plain, kCount>, lists_, a, board, keeps);
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  SteppedRun run_;
  RankState state_;
};

}  // namespace

std::unique_ptr<LeanTraversal> make_lean_pr(const LeanLists& lists) {
  return std::make_unique<CudaLeanPr>(lists);
}

}  // namespace grainscope::lean
