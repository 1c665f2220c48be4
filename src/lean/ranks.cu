// PageRank by pulling: all sweeps in one kernel, whose blocks wait for each other between phases.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_pr.hpp"
#include "listed.cuh"
#include "ranks_kernels.cuh"
#include "stepped_run.cuh"

namespace grainscope::lean {
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    sweep_ranks(PlacedView lists, RankArrays a, StepBoard board, bool keeps_mass) {
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
    visit_lists<kCoding, kCount>(
        lists.in, {0, a.words}, [&](std::uint32_t word) { return a.listed[word]; },
        {a.pieces, &counters.pieces}, note, carry);
    grid.sync();
    const std::uint64_t pieces = __ldcg(&counters.pieces);
    visit_pieces<kCoding, kCount>(lists.in, a.pieces, pieces, note, carry);
    grid.sync();
    settle_long(a, pieces, settle);
    settle.finish(counters);
    if (notes) {
      a.counters[(sweep + 1) % 2] = {};
    }
    grid.sync();
    const double mass = __ldcg(&counters.mass);
    const double factor = keeps_mass && mass > 0 ? ranked_share / mass : 1;
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

class CudaLeanPr final : public LeanPr {
 public:
  explicit CudaLeanPr(const LeanLists& lists)
      : lists_(view_of(lists)),
        guard_(lists.gpu()),
        words_((lists_.vertices + kWarpLanes - 1) / kWarpLanes),
        ranks_(lists.gpu(), lists_.vertices),
        shares_(lists.gpu(), lists_.vertices),
        sums_(lists.gpu(), lists_.vertices),
        listed_(lists.gpu(), words_),
        pieces_(lists.gpu(), lists_.most_pieces),
        counters_(lists.gpu(), 2),
        ranked_(lists.gpu(), 1),
        run_(lists.gpu(), kMostSweeps, "PageRank") {
    ranked_.fill_bytes(0, run_.stream());
    mark_listed(lists_.in, lists_.vertices, listed_.data(), ranked_.data(), run_.stream());
  }

  double run() override { return launch<false>(run_.board()); }
  std::vector<LinkReads> count() override {
    return run_.count([&](const StepBoard& board) { return launch<true>(board); });
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<float> ranks() const override { return ranks_.read(lists_.vertices); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return ranks_.bytes() + shares_.bytes() + sums_.bytes() + listed_.bytes() + pieces_.bytes() +
           run_.bytes();
  }

 private:
  template <bool kCount>
  double launch(const StepBoard& board) {
    RankArrays a{};
    a.ranks = ranks_.data();
    a.shares = shares_.data();
    a.sums = sums_.data();
    a.listed = listed_.data();
    a.pieces = pieces_.data();
    a.counters = counters_.data();
    a.ranked = ranked_.data();
    a.words = words_;
    const bool undirected = lists_.in.words == lists_.out.words;
    return lists_.in.coding == Coding::compressed
               ? run_.run(sweep_ranks<Coding::compressed, kCount>, lists_, a, board, undirected)
               : run_.run(sweep_ranks<Coding::plain, kCount>, lists_, a, board, undirected);
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  std::uint32_t words_;
  cuda::DeviceArray<float> ranks_;
  cuda::DeviceArray<float> shares_;
  cuda::DeviceArray<double> sums_;
  cuda::DeviceArray<std::uint32_t> listed_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<SweepCounters> counters_;
  cuda::DeviceArray<unsigned long long> ranked_;
  SteppedRun run_;
};

}  // namespace

std::unique_ptr<LeanPr> make_lean_pr(const LeanLists& lists) {
  if (view_of(lists).vertices == 0) {
    throw UsageError("a graph without vertices has no ranks");
  }
  if (view_of(lists).weighted) {
    throw UsageError("ranks are of lists that are placed without weights");
  }
  return std::make_unique<CudaLeanPr>(lists);
}

}  // namespace grainscope::lean
