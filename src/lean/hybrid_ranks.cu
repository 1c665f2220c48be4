// PageRank by pulling, each sweep by segments that are read or copied.

#include <cuda_runtime.h>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_pr.hpp"
#include "hybrid_run.cuh"
#include "rank_state.cuh"

namespace grainscope::lean {
namespace {

using graph::Vertex;

__device__ float teleport(Vertex vertices) {
  return static_cast<float>((1 - graph::kDamping) / vertices);
}

__global__ void __launch_bounds__(kLeanThreads) begin_ranks(PlacedView lists, RankArrays a) {
  begin_near(lists, a, teleport(lists.vertices));
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    sweep_part(PlacedView lists, RankArrays a, VertexRange range, SweepCounters* counters, ReadNote* note) {
  Settle settle{lists.out, a, teleport(lists.vertices)};
  Carry carry{a, settle};
  visit_lists<kCoding, kCount>(
      lists.in, range.words(), [&](std::uint32_t word) { return a.listed[word] & range.of_word(word); },
      {a.pieces, &counters->pieces}, note, carry);
  settle.finish(*counters);
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    sweep_pieces(PlacedView lists, RankArrays a, const SweepCounters* counters, ReadNote* note) {
  Settle settle{lists.out, a, teleport(lists.vertices)};
  Carry carry{a, settle};
  visit_pieces<kCoding, kCount>(lists.in, {a.pieces, nullptr}, counters->pieces, note, carry);
}

__global__ void __launch_bounds__(kLeanThreads)
    settle_pieces(PlacedView lists, RankArrays a, SweepCounters* counters) {
  Settle settle{lists.out, a, teleport(lists.vertices)};
  settle_long(a, counters->pieces, settle);
  settle.finish(*counters);
}

__global__ void __launch_bounds__(kLeanThreads) scale_ranks(RankArrays a, Vertex vertices, float factor) {
  scale(a, vertices, factor);
}

class HybridPr final : public LeanTraversal {
 public:
  HybridPr(const LeanLists& lists, const LinkCosts& costs)
      : lists_(view_of(lists)),
        guard_(lists.gpu()),
        grid_(static_cast<unsigned>(cuda::sm_count(lists.gpu())) * kBlocksPerSm),
        run_(pulled_segments(lists), lists.gpu()),
        state_(lists_, lists.gpu(), run_.stream()),
        ranked_(state_.ranked()),
        keeps_mass_(keeps_mass(lists_)) {
    // Every sweep asks for the same.
    plan_ = plan_step(run_.staged().demands(lists_.in, state_.words(), state_.arrays().listed),
                      pulled_segments(lists).words, costs);
    lists_.in = run_.staged().view(lists_.in);
  }

  double run(Vertex /*source*/) override { return sweeps<false>(); }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    static_cast<void>(sweeps<true>());
    return run_.reads();
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<float> ranks() const override { return state_.ranks(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
  static constexpr unsigned kBlocksPerSm = 8;

  template <bool kCount>
  double sweeps() {
    cudaStream_t stream = run_.stream().get();
    run_.begin(kCount);
    begin_ranks<<<grid_, kLeanThreads, 0, stream>>>(lists_, state_.arrays());
    const double share = static_cast<double>(ranked_) / lists_.vertices;
    for (std::uint32_t sweep = 0; sweep < kMostSweeps; ++sweep) {
      state_.counters().fill_bytes(0, run_.stream());
      run_.walk(plan_, [&](const VertexRange& vertices, ReadNote* note) {
        if (lists_.in.coding == Coding::compressed) {
          part<Coding::compressed, kCount>(vertices, note);
        } else {
          part<Coding::plain, kCount>(vertices, note);
        }
      });
      run_.stream().synchronize();
      const SweepCounters counters = state_.counters().read(1).front();
      const double factor = keeps_mass_ && counters.mass > 0 ? share / counters.mass : 1;
      scale_ranks<<<grid_, kLeanThreads, 0, stream>>>(state_.arrays(), lists_.vertices,
                                                      static_cast<float>(factor));
      run_.end_step(ranked_, lists_.edges);
      if (rank_bound(counters.changed, factor, share) < kRankGoal) {
        cuda::check_launch("the kernels of a hybrid PageRank");
        return run_.finish();
      }
    }
    throw FailedError("PageRank took more than " + std::to_string(kMostSweeps) + " steps");
  }

  template <Coding kCoding, bool kCount>
  void part(const VertexRange& vertices, ReadNote* note) {
    cudaStream_t stream = run_.stream().get();
    const RankArrays a = state_.arrays();
    cuda::check(cudaMemsetAsync(&a.counters->pieces, 0, sizeof(a.counters->pieces), stream),
                "clear what is handed out");
    sweep_part<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists_, a, vertices, a.counters, note);
    sweep_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists_, a, a.counters, note);
    settle_pieces<<<grid_, kLeanThreads, 0, stream>>>(lists_, a, a.counters);
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  unsigned grid_;
  HybridRun run_;
  RankState state_;
  std::uint64_t ranked_;
  bool keeps_mass_;
  StepPlan plan_;
};

}  // namespace

std::unique_ptr<LeanTraversal> make_hybrid_pr(const LeanLists& lists, const LinkCosts& costs) {
  return std::make_unique<HybridPr>(lists, costs);
}

}  // namespace grainscope::lean
