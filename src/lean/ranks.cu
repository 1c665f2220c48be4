// PageRank by pulling (run.hpp): the phases of a sweep over all lists, each by all warps of the grid; as one
// kernel, and as sweeps that the host submits by segments.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/run.hpp"
#include "hybrid.cuh"
#include "lists.cuh"
#include "stepped_run.cuh"
#include "team.cuh"

namespace grainscope::lean {

// What a sweep comes to; two take turns.
struct SweepCounters {
  unsigned long long pieces;
  double changed;  // sum of |new - old|
  double mass;     // sum of the new ranks
};

// All device memory.
struct RankArrays {
  float* ranks;                // [V]
  float* shares;               // [V]: what each edge of a vertex carries
  double* sums;                // [V]: of lists that come in pieces
  std::uint32_t* listed;       // [words]: has a list to pull from
  PieceItem* pieces;           // [most_pieces]
  SweepCounters* counters;     // [2]
  unsigned long long* ranked;  // vertices with a list
  std::uint32_t words;
};

// The even teleport, and damping times what each list would carry if all edges carried the same.
__device__ inline void begin_near(const PlacedView& lists, const RankArrays& a, float base) {
  const double ranked_share = static_cast<double>(*a.ranked) / lists.vertices;
  const auto edges = static_cast<double>(max(lists.edges, std::uint64_t{1}));
  for (std::uint64_t v = cuda::thread_of_grid(); v < lists.vertices; v += cuda::threads_of_grid()) {
    const auto vertex = static_cast<graph::Vertex>(v);
    const double of_all = static_cast<double>(degree_of(lists.in, vertex)) / edges;
    const std::uint64_t degree = degree_of(lists.out, vertex);
    const auto rank = static_cast<float>(base + graph::kDamping * ranked_share * of_all);
    a.ranks[v] = rank;
    a.shares[v] = degree > 0 ? rank / static_cast<float>(degree) : 0;
    a.sums[v] = 0;
  }
  if (cuda::thread_of_grid() < 2) {
    a.counters[cuda::thread_of_grid()] = {};
  }
}

// A vertex's new rank, from what its list carries.
struct Settle {
  const ListsView& out;
  const RankArrays& a;
  float base;
  double changed = 0;
  double mass = 0;

  __device__ void operator()(std::uint32_t vertex, double carried) {
    const auto rank = static_cast<float>(base + graph::kDamping * carried);
    const std::uint64_t degree = degree_of(out, vertex);
    changed += fabs(static_cast<double>(rank) - a.ranks[vertex]);
    mass += rank;
    a.ranks[vertex] = rank;
    a.shares[vertex] = degree > 0 ? rank / static_cast<float>(degree) : 0;
  }
  // By all lanes of a warp.
  __device__ void finish(SweepCounters& sweep) const {
    const double all_changed = cuda::sum_of_warp(changed);
    const double all_mass = cuda::sum_of_warp(mass);
    if (cuda::lane_of_warp() == 0 && all_mass > 0) {
      atomicAdd(&sweep.changed, all_changed);
      atomicAdd(&sweep.mass, all_mass);
    }
  }
};

template <class Settles>
struct Carry {
  const RankArrays& a;
  Settles& settle;
  std::uint32_t vertex = 0;
  float sum = 0;  // of a lane: few enough for single precision

  __device__ void start(std::uint32_t of) {
    vertex = of;
    sum = 0;
  }
  // As it is now: a share that this multiprocessor read before may have changed since.
  __device__ void visit(const Neighbour& neighbour) { sum += __ldcg(a.shares + neighbour.vertex); }
  __device__ void finish(bool whole) {
    const double carried = cuda::sum_of_warp(static_cast<double>(sum));
    if (cuda::lane_of_warp() != 0) {
      return;
    }
    if (whole) {
      settle(vertex, carried);
    } else {
      atomicAdd(a.sums + vertex, carried);
    }
  }
};

// What a sweep comes to on all GPUs.
struct SweepTotal {
  double mass;
  double changed;

  __device__ void join(const SweepTotal& other) {
    mass += other.mass;
    changed += other.changed;
  }
};

struct RanksAlone : Alone {
  using Settles = Settle;
  [[nodiscard]] __device__ Settle settle(const ListsView& out, const RankArrays& a, float base) const {
    return {out, a, base};
  }
};

// Of the lists that came in pieces.
template <class Settles>
__device__ void settle_long(const RankArrays& a, std::uint64_t pieces, Settles& settle) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < pieces; i += cuda::threads_of_grid()) {
    if (const PieceItem item = a.pieces[i]; item.piece == 0) {
      settle(item.vertex, __ldcg(a.sums + item.vertex));
      a.sums[item.vertex] = 0;
    }
  }
}

// All ranks of vertices with a list, times a factor.
__device__ inline void scale(const RankArrays& a, graph::Vertex vertices, float factor) {
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    if ((a.listed[v / kWarpLanes] >> v % kWarpLanes & 1) != 0) {
      a.ranks[v] *= factor;
      a.shares[v] *= factor;
    }
  }
}

// Memory that every way to rank works on, and what does not change from run to run.
class RankState {
 public:
  // Throws UsageError for lists with weights, or a graph without vertices.
  RankState(const PlacedView& lists, int gpu, const cuda::Stream& stream)
      : vertices_(checked(lists)),
        ranks_(gpu, vertices_),
        shares_(gpu, vertices_),
        sums_(gpu, vertices_),
        listed_(gpu, words()),
        pieces_(gpu, lists.most_pieces),
        counters_(gpu, 2),
        ranked_(gpu, 1) {
    ranked_.fill_bytes(0, stream);
    mark_listed(lists.in, vertices_, listed_.data(), ranked_.data(), stream);
  }

  [[nodiscard]] std::uint32_t words() const { return (vertices_ + kWarpLanes - 1) / kWarpLanes; }
  [[nodiscard]] RankArrays arrays() const {
    return {ranks_.data(),  shares_.data(),   sums_.data(),   listed_.data(),
            pieces_.data(), counters_.data(), ranked_.data(), words()};
  }
  [[nodiscard]] std::vector<float> ranks() const { return ranks_.read(vertices_); }
  [[nodiscard]] const void* ranks_on_gpu() const { return ranks_.data(); }
  void spoil(const cuda::Stream& stream) const { ranks_.fill_bytes(graph::kSpoiled, stream); }
  [[nodiscard]] unsigned long long ranked() const { return ranked_.read(1).front(); }
  [[nodiscard]] const cuda::DeviceArray<SweepCounters>& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t bytes() const {
    return ranks_.bytes() + shares_.bytes() + sums_.bytes() + listed_.bytes() + pieces_.bytes();
  }

 private:
  static graph::Vertex checked(const PlacedView& lists) {
    if (lists.vertices == 0) {
      throw UsageError("a graph without vertices has no ranks");
    }
    if (lists.weighted) {
      throw UsageError("ranks are of lists that are placed without weights");
    }
    return lists.vertices;
  }

  graph::Vertex vertices_;
  cuda::DeviceArray<float> ranks_;
  cuda::DeviceArray<float> shares_;
  cuda::DeviceArray<double> sums_;
  cuda::DeviceArray<std::uint32_t> listed_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<SweepCounters> counters_;
  cuda::DeviceArray<unsigned long long> ranked_;
};

// Where every edge is there in both directions no rank is lost.
[[nodiscard]] inline bool keeps_mass(const PlacedView& lists) {
  return lists.in.words == lists.out.words;
}

// PageRank by pulling: all sweeps in one kernel, whose blocks wait for each other between phases.
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

template <Coding kCoding, bool kCount, class Place>
__global__ void __launch_bounds__(kLeanThreads)
    sweep_ranks(PlacedView lists, RankArrays a, StepBoard board, bool keeps, Place place) {
  using Settles = typename Place::Settles;
  typename Place::Meeting meeting(place);
  const bool notes = cg::this_grid().thread_rank() == 0;
  if (notes) {
    board.begin();
  }
  const auto base = static_cast<float>((1 - graph::kDamping) / lists.vertices);
  const double ranked_share = static_cast<double>(*a.ranked) / lists.vertices;
  begin_near(lists, a, base);
  if (!meeting.all()) {
    return;
  }
  for (std::uint32_t sweep = 0; sweep < board.most; ++sweep) {
    SweepCounters& counters = a.counters[sweep % 2];
    ReadNote* const note = kCount ? board.reads + sweep : nullptr;
    Settles settle = place.settle(lists.out, a, base);
    Carry<Settles> carry{a, settle};
    const HandOut out{a.pieces, &counters.pieces};
    visit_words<kCoding, kCount>(
        lists.in, a.words, place.words(), [&](std::uint32_t word) { return a.listed[word]; }, out, note,
        carry);
    meeting.here();
    const std::uint64_t pieces = __ldcg(&counters.pieces);
    visit_pieces<kCoding, kCount>(lists.in, out, pieces, note, carry);
    meeting.here();
    settle_long(a, pieces, settle);
    settle.finish(counters);
    if (notes) {
      a.counters[(sweep + 1) % 2] = {};
    }
    const auto own = [&] { return SweepTotal{__ldcg(&counters.mass), __ldcg(&counters.changed)}; };
    if (!meeting.tell(own)) {
      return;
    }
    const SweepTotal total = meeting.total(own);
    const double factor = keeps && total.mass > 0 ? ranked_share / total.mass : 1;
    const double bound = rank_bound(total.changed, factor, ranked_share);
    scale(a, lists.vertices, static_cast<float>(factor));
    // Nobody is told anything that is still scaled.
    if (!meeting.all()) {
      return;
    }
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

class CudaLeanPr final : public graph::Traversal {
 public:
  explicit CudaLeanPr(const LeanLists& lists)
      : lists_(view_of(lists)),
        guard_(lists.gpu()),
        run_(lists.gpu(), kMostSweeps, "PageRank"),
        state_(lists_, lists.gpu(), run_.stream()) {}

  double run(Vertex /*source*/) override { return launch<false>(run_.board()); }
  void spoil() override {
    state_.spoil(run_.stream());
    run_.stream().synchronize();
  }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    return run_.count([&](const StepBoard& board) { return launch<true>(board); });
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<float> ranks() const override { return state_.ranks(); }
  [[nodiscard]] const void* answer_on_gpu() const override { return state_.ranks_on_gpu(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
  template <bool kCount>
  double launch(const StepBoard& board) {
    const RankArrays a = state_.arrays();
    const bool keeps = keeps_mass(lists_);
    return lists_.in.coding == Coding::compressed
               ? run_.run(sweep_ranks<Coding::compressed, kCount, RanksAlone>, lists_, a, board, keeps, {})
               : run_.run(sweep_ranks<Coding::plain, kCount, RanksAlone>, lists_, a, board, keeps, {});
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  SteppedRun run_;
  RankState state_;
};

}  // namespace

std::unique_ptr<graph::Traversal> make_lean_pr(const LeanLists& lists) {
  return std::make_unique<CudaLeanPr>(lists);
}

// PageRank by pulling, each sweep by segments that are read or copied.
namespace {

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
  Carry<Settle> carry{a, settle};
  visit_lists<kCoding, kCount>(
      lists.in, range.words(), [&](std::uint32_t word) { return a.listed[word] & range.of_word(word); },
      {a.pieces, &counters->pieces}, note, carry);
  settle.finish(*counters);
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    sweep_pieces(PlacedView lists, RankArrays a, const SweepCounters* counters, ReadNote* note) {
  Settle settle{lists.out, a, teleport(lists.vertices)};
  Carry<Settle> carry{a, settle};
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

class HybridPr final : public graph::Traversal {
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
  void spoil() override {
    state_.spoil(run_.stream());
    run_.stream().synchronize();
  }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    static_cast<void>(sweeps<true>());
    return run_.reads();
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<float> ranks() const override { return state_.ranks(); }
  [[nodiscard]] const void* answer_on_gpu() const override { return state_.ranks_on_gpu(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
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

// PageRank by pulling, each GPU the lists of its own vertices: what an edge of one carries is told to all, so
// that a rank is there for those that come after it, on whichever GPU.
namespace {

// What an edge of a settled vertex carries is told to the other GPUs, in their `shares`.
struct SettleForAll : Settle {
  const Others<float*>& shares;
  __device__ void operator()(std::uint32_t vertex, double carried) {
    Settle::operator()(vertex, carried);
    const float share = a.shares[vertex];
    for (int i = 0; i < shares.count; ++i) {
      shares.of[i][vertex] = share;
    }
  }
};

struct RanksOfTeam : TeamPlace {
  using Settles = SettleForAll;
  Others<float*> shares;
  [[nodiscard]] __device__ SettleForAll settle(const ListsView& out, const RankArrays& a, float base) const {
    return {{out, a, base}, shares};
  }
};

class TeamPr final : public graph::Traversal {
 public:
  explicit TeamPr(LeanTeam team) : run_(team), steps_(run_, kMostSweeps, "PageRank") {
    run_.each([&](std::size_t i, const cuda::Stream& stream) {
      states_.push_back(std::make_unique<RankState>(run_.view(i), run_.gpu(i), stream));
    });
  }

  double run(Vertex /*source*/) override {
    return steps_.run(kernel<false>(), [&](const auto&... of_gpu) { return arguments(of_gpu...); });
  }
  void spoil() override { spoil_all(run_, states_); }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    return steps_.count(kernel<true>(), [&](const auto&... of_gpu) { return arguments(of_gpu...); });
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return steps_.levels(); }
  [[nodiscard]] std::vector<float> ranks() const override {
    return run_.gathered<float>([&](std::size_t i) { return states_[i]->ranks(); });
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return bytes_of(states_) + steps_.bytes(); }

 private:
  using Kernel = void (*)(PlacedView, RankArrays, StepBoard, bool, RanksOfTeam);
  template <bool kCount>
  [[nodiscard]] Kernel kernel() const {
    return run_.view(0).in.coding == Coding::compressed ? sweep_ranks<Coding::compressed, kCount, RanksOfTeam>
                                                        : sweep_ranks<Coding::plain, kCount, RanksOfTeam>;
  }
  using Arguments = std::tuple<PlacedView, RankArrays, StepBoard, bool, RanksOfTeam>;
  [[nodiscard]] Arguments arguments(std::size_t i, const TeamPlace& place, const StepBoard& board) const {
    const auto shares =
        run_.others<float*>(i, [&](std::size_t other) { return states_[other]->arrays().shares; });
    return {run_.view(i), states_[i]->arrays(), board, keeps_mass(run_.view(0)), RanksOfTeam{place, shares}};
  }

  TeamRun run_;
  std::vector<std::unique_ptr<RankState>> states_;
  TeamSteps steps_;
  TeamDrain drain_{run_};
};

}  // namespace

std::unique_ptr<graph::Traversal> make_lean_pr(LeanTeam team) {
  return team.size() == 1 ? make_lean_pr(*team.front()) : std::make_unique<TeamPr>(team);
}

std::unique_ptr<graph::Traversal> make_hybrid_pr(const LeanLists& lists, const LinkCosts& costs) {
  return std::make_unique<HybridPr>(lists, costs);
}

}  // namespace grainscope::lean
