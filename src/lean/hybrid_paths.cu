// Shortest paths by near and far, each step by segments that are read or copied.

#include <cuda_runtime.h>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "hybrid_run.cuh"
#include "path_state.cuh"

namespace grainscope::lean {
namespace {

using graph::Vertex;

__global__ void __launch_bounds__(kLeanThreads) begin_paths(PathArrays a, Vertex vertices, Vertex source) {
  clear_paths(a, vertices, source);
}

__global__ void __launch_bounds__(kLeanThreads)
    choose_active(ListsView lists, PathArrays a, std::uint64_t threshold) {
  choose(lists, a, threshold, *a.counters);
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    relax_part(ListsView lists, PathArrays a, VertexRange range, std::uint64_t longer, ReadNote* note) {
  Relax relax{a};
  visit_lists<kCoding, kCount>(
      lists, range.words(), [&](std::uint32_t word) { return a.active[word] & range.of_word(word); },
      {a.pieces, &a.counters->pieces, longer}, note, relax);
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    relax_pieces(ListsView lists, PathArrays a, std::uint64_t longer, ReadNote* note) {
  Relax relax{a};
  visit_pieces<kCoding, kCount>(lists, {a.pieces, nullptr, longer}, a.counters->pieces, note, relax);
}

class HybridSssp final : public LeanTraversal {
 public:
  HybridSssp(const LeanLists& lists, std::uint32_t delta, const LinkCosts& costs)
      : lists_(view_of(lists)),
        delta_(delta),
        costs_(costs),
        guard_(lists.gpu()),
        list_words_(pushed_segments(lists).words),
        state_(lists_, delta, lists.gpu()),
        grid_(static_cast<unsigned>(cuda::sm_count(lists.gpu())) * kBlocksPerSm),
        run_(pushed_segments(lists), lists.gpu()) {
    lists_.out = run_.staged().view(lists_.out);
  }

  double run(Vertex source) override { return steps<false>(source); }
  std::vector<LinkReads> count(Vertex source) override {
    static_cast<void>(steps<true>(source));
    return run_.reads();
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override { return state_.distances(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
  static constexpr unsigned kBlocksPerSm = 8;

  // Who is active below a threshold; waits.
  StepCounters choose(std::uint64_t threshold) {
    const PathArrays a = state_.arrays();
    const StepCounters none{0, 0, 0, graph::kUnreached};
    cuda::check(cudaMemcpyAsync(a.counters, &none, sizeof(none), cudaMemcpyHostToDevice, run_.stream().get()),
                "clear a step's counters");
    choose_active<<<grid_, kLeanThreads, 0, run_.stream().get()>>>(lists_.out, a, threshold);
    cuda::check_launch("choose_active");
    run_.stream().synchronize();
    return state_.counters();
  }

  template <bool kCount>
  double steps(Vertex source) {
    graph::require_vertex(source, lists_.vertices);
    run_.begin(kCount);
    begin_paths<<<grid_, kLeanThreads, 0, run_.stream().get()>>>(state_.arrays(), lists_.vertices, source);
    std::uint64_t threshold = delta_;
    for (std::uint32_t step = 0; step < kMostSteps;) {
      const StepCounters counters = choose(threshold);
      if (counters.active == 0 && counters.nearest == graph::kUnreached) {
        return run_.finish();
      }
      if (counters.active == 0) {
        threshold = (std::uint64_t{counters.nearest} / delta_ + 1) * delta_;
        continue;
      }
      const StepPlan plan = plan_step(
          run_.staged().demands(lists_.out, state_.words(), state_.arrays().active), list_words_, costs_);
      const std::uint64_t longer = long_list(counters.active);
      run_.walk(plan, [&](const VertexRange& vertices, ReadNote* note) {
        if (lists_.out.coding == Coding::compressed_weighted) {
          part<Coding::compressed_weighted, kCount>(vertices, longer, note);
        } else {
          part<Coding::joined, kCount>(vertices, longer, note);
        }
      });
      run_.end_step(counters.active, counters.edges);
      ++step;
    }
    throw FailedError("shortest paths took more than " + std::to_string(kMostSteps) + " steps");
  }

  template <Coding kCoding, bool kCount>
  void part(const VertexRange& vertices, std::uint64_t longer, ReadNote* note) {
    cudaStream_t stream = run_.stream().get();
    const PathArrays a = state_.arrays();
    cuda::check(cudaMemsetAsync(&a.counters->pieces, 0, sizeof(a.counters->pieces), stream),
                "clear what is handed out");
    relax_part<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists_.out, a, vertices, longer, note);
    relax_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists_.out, a, longer, note);
    cuda::check_launch("the kernels of a step of shortest paths");
  }

  PlacedView lists_;
  std::uint32_t delta_;
  LinkCosts costs_;
  cuda::DeviceGuard guard_;
  std::uint64_t list_words_;
  PathState state_;
  unsigned grid_;
  HybridRun run_;
};

}  // namespace

std::unique_ptr<LeanTraversal> make_hybrid_sssp(const LeanLists& lists, std::uint32_t delta,
                                                const LinkCosts& costs) {
  const Coding coding = view_of(lists).out.coding;
  if (coding == Coding::beside) {
    throw SkipError(
        "weights do not fit beside their neighbours in four bytes: segments of two arrays are not copied");
  }
  return std::make_unique<HybridSssp>(lists, delta, costs);
}

}  // namespace grainscope::lean
