// Shortest paths by near and far (run.hpp): the phases of a step, each by all warps of the grid; as one
// kernel, and as steps that the host submits by segments.

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

// More steps are no use to anyone: a delta that is far too small.
inline constexpr std::uint32_t kMostSteps = 1 << 18;

// What a step comes to; two take turns.
struct StepCounters {
  unsigned long long active;
  unsigned long long edges;
  unsigned long long pieces;
  unsigned int nearest;  // of the vertices that wait behind the step, the lowest distance
};

// All device memory. A set of vertices is a bit each.
struct PathArrays {
  std::uint32_t* distances;  // [V]
  std::uint32_t* fallen;     // [words]: distance is lower than when the list was last read
  std::uint32_t* active;     // [words]: of these, whose lists are read in this step
  PieceItem* pieces;         // [most_pieces]
  StepCounters* counters;    // [2]
  std::uint32_t words;
};

// Only the source has a distance, and has fallen.
__device__ inline void clear_paths(const PathArrays& a, graph::Vertex vertices, graph::Vertex source) {
  const std::uint64_t first = cuda::thread_of_grid();
  for (std::uint64_t word = first; word < a.words; word += cuda::threads_of_grid()) {
    a.fallen[word] = word == source / kWarpLanes ? 1U << source % kWarpLanes : 0;
  }
  for (std::uint64_t vertex = first; vertex < vertices; vertex += cuda::threads_of_grid()) {
    a.distances[vertex] = vertex == source ? 0 : graph::kUnreached;
  }
  if (first < 2) {
    a.counters[first] = {0, 0, 0, graph::kUnreached};
  }
}

// What a step comes to on all GPUs.
struct StepTotal {
  unsigned long long active;
  unsigned long long edges;
  unsigned int nearest;
  unsigned int none;  // what is told has no padding

  __device__ void join(const StepTotal& other) {
    active += other.active;
    edges += other.edges;
    nearest = min(nearest, other.nearest);
  }
};

// On one GPU: which of a word's vertices have fallen. By all lanes of a warp, each for a word of its own.
struct PathsAlone : Alone {
  [[nodiscard]] __device__ std::uint32_t fallen(const PathArrays& a, bool there, std::uint64_t word) const {
    return there ? a.fallen[word] : 0;
  }
};

// By all lanes.
__device__ inline void lower_nearest(StepCounters& step, std::uint32_t nearest) {
  nearest =
      cuda::all_of_warp(nearest, [](std::uint32_t one, std::uint32_t other) { return min(one, other); });
  if (cuda::lane_of_warp() == 0 && nearest != graph::kUnreached) {
    atomicMin(&step.nearest, nearest);
  }
}

// What is asked for at a time, of this many words' vertices, before the first answer is looked at.
inline constexpr int kAtOnce = 4;

// Of the vertices whose distance has fallen, of the words that are read from this place, those below the
// threshold become active. A warp has 32 words that come one after the other.
template <class Place>
__device__ void choose(const ListsView& lists, const PathArrays& a, const Place& place,
                       std::uint64_t threshold, StepCounters& step) {
  const auto words = place.words();
  unsigned long long active = 0;
  unsigned long long edges = 0;
  std::uint32_t nearest = graph::kUnreached;
  const int lane = cuda::lane_of_warp();
  const std::uint32_t count = words.count(a.words);
  for (std::uint64_t first = std::uint64_t{warp_of_grid()} * kWarpLanes; first < count;
       first += std::uint64_t{warps_of_grid()} * kWarpLanes) {
    const std::uint64_t index = first + static_cast<std::uint32_t>(lane);
    const std::uint64_t own = words.word(index);
    const std::uint32_t fallen = place.fallen(a, index < count, own);
    const auto vertex_of = [&](int of) {  // this lane's, of the word that lane has
      return static_cast<std::uint32_t>(words.word(first + static_cast<std::uint32_t>(of)) * kWarpLanes) +
             static_cast<std::uint32_t>(lane);
    };
    std::uint32_t chosen = 0;  // of the lane's own word
    for (std::uint32_t with = __ballot_sync(kAllLanes, fallen != 0); with != 0;) {
      int of[kAtOnce];                  // the lane whose word it is
      std::uint32_t distance[kAtOnce];  // of this lane's vertex, where that has fallen
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        of[i] = max(__ffs(static_cast<int>(with)) - 1, 0);
        const std::uint32_t bits = with != 0 ? __shfl_sync(kAllLanes, fallen, of[i]) : 0;
        with &= with - 1;
        distance[i] = (bits >> lane & 1) != 0 ? __ldcg(a.distances + vertex_of(of[i])) : graph::kUnreached;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool near = distance[i] < threshold && distance[i] != graph::kUnreached;
        active += near ? 1 : 0;
        edges += near ? degree_of(lists, vertex_of(of[i])) : 0;
        nearest = near ? nearest : min(nearest, distance[i]);
        const std::uint32_t of_word = __ballot_sync(kAllLanes, near);
        chosen |= lane == of[i] ? of_word : 0;
      }
    }
    if (index < count) {
      a.active[own] = chosen;
      if (chosen != 0) {
        a.fallen[own] = fallen & ~chosen;
      }
    }
  }
  active = cuda::sum_of_warp(active);
  edges = cuda::sum_of_warp(edges);
  if (lane == 0 && active > 0) {
    atomicAdd(&step.active, active);
    atomicAdd(&step.edges, edges);
  }
  lower_nearest(step, nearest);
}

// A list, or a piece of one, is read with the distance that its vertex has then. Where that has fallen since
// an earlier piece was, the vertex is among the fallen again, and all of its list comes once more.
struct Relax {
  const PathArrays& a;
  std::uint32_t distance = 0;
  std::uint32_t nearest = graph::kUnreached;  // of what this lane has lowered, the lowest

  __device__ void start(std::uint32_t vertex) {
    std::uint32_t read = 0;
    if (cuda::lane_of_warp() == 0) {
      read = __ldcg(a.distances + vertex);
    }
    distance = __shfl_sync(kAllLanes, read, 0);
  }
  __device__ void visit(const Neighbour& neighbour) {
    const std::uint32_t through = distance + neighbour.weight;
    // A path that does not fit is not taken. What is read first may be too high: then the next line tells.
    if (through >= distance && through < a.distances[neighbour.vertex] &&
        through < atomicMin(a.distances + neighbour.vertex, through)) {
      atomicOr(a.fallen + neighbour.vertex / kWarpLanes, 1U << neighbour.vertex % kWarpLanes);
      nearest = min(nearest, through);
    }
  }
  __device__ void finish(bool /*whole*/) {}
};

// Memory that every way to find shortest paths works on.
class PathState {
 public:
  // Throws UsageError for lists without weights or a delta of 0.
  PathState(const PlacedView& lists, std::uint32_t delta, int gpu)
      : vertices_(checked(lists, delta)),
        distances_(gpu, vertices_),
        bits_(gpu, std::uint64_t{2} * words()),
        pieces_(gpu, lists.most_pieces),
        counters_(gpu, 2) {}

  [[nodiscard]] std::uint32_t words() const { return (vertices_ + kWarpLanes - 1) / kWarpLanes; }
  [[nodiscard]] PathArrays arrays() const {
    return {distances_.data(), bits_.data(),     bits_.data() + words(),
            pieces_.data(),    counters_.data(), words()};
  }
  [[nodiscard]] std::vector<std::uint32_t> distances() const { return distances_.read(vertices_); }
  [[nodiscard]] const void* distances_on_gpu() const { return distances_.data(); }
  void spoil(const cuda::Stream& stream) const { distances_.fill_bytes(graph::kSpoiled, stream); }
  [[nodiscard]] StepCounters counters() const { return counters_.read(1).front(); }
  [[nodiscard]] std::uint64_t bytes() const { return distances_.bytes() + bits_.bytes() + pieces_.bytes(); }

 private:
  static graph::Vertex checked(const PlacedView& lists, std::uint32_t delta) {
    if (!lists.weighted || delta == 0) {
      throw UsageError("near and far needs lists that are placed with weights, and a delta");
    }
    return lists.vertices;
  }

  graph::Vertex vertices_;
  cuda::DeviceArray<std::uint32_t> distances_;
  cuda::DeviceArray<std::uint32_t> bits_;  // the fallen, then the active
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<StepCounters> counters_;
};

// Shortest paths by near and far: all steps in one kernel, whose blocks wait for each other between phases.
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

template <Coding kCoding, bool kCount, class Place>
__global__ void __launch_bounds__(kLeanThreads) relax_steps(PlacedView lists, PathArrays a, StepBoard board,
                                                            Vertex source, std::uint32_t delta, Place place) {
  typename Place::Meeting meeting(place);
  const bool notes = cg::this_grid().thread_rank() == 0;
  if (notes) {
    board.begin();
  }
  clear_paths(a, lists.vertices, source);
  if (!meeting.all()) {
    return;
  }
  std::uint64_t threshold = delta;
  std::uint32_t step = 0;
  for (std::uint32_t round = 0; step < board.most; ++round) {
    StepCounters& counters = a.counters[round % 2];
    choose(lists.out, a, place, threshold, counters);
    if (!meeting.all()) {  // nobody lowers what another GPU is taking
      return;
    }
    ReadNote* const note = kCount ? board.reads + step : nullptr;
    const HandOut out{a.pieces, &counters.pieces, long_list(__ldcg(&counters.active))};
    Relax relax{a};
    visit_words<kCoding, kCount>(
        lists.out, a.words, place.words(), [&](std::uint32_t word) { return a.active[word]; }, out, note,
        relax);
    meeting.here();
    visit_pieces<kCoding, kCount>(lists.out, out, __ldcg(&counters.pieces), note, relax);
    lower_nearest(counters, relax.nearest);
    if (notes) {
      a.counters[(round + 1) % 2] = {0, 0, 0, graph::kUnreached};
    }
    const auto own = [&] {
      return StepTotal{__ldcg(&counters.active), __ldcg(&counters.edges), __ldcg(&counters.nearest), 0};
    };
    if (!meeting.tell(own)) {
      return;
    }
    const StepTotal total = meeting.total(own);
    if (total.active != 0) {
      if (notes) {
        board.note(step, total.active, total.edges, false);
      }
      ++step;
    }
    if (total.nearest == graph::kUnreached) {
      if (notes) {
        *board.steps = step;
      }
      return;
    }
    // By several GPUs nobody may be below it: a copy may be lowered to what its own GPU knows to be no news.
    if (total.nearest >= threshold) {
      threshold = std::uint64_t{total.nearest} + delta;
    }
  }
}

template <class Place>
using StepsKernel = void (*)(PlacedView, PathArrays, StepBoard, Vertex, std::uint32_t, Place);
template <bool kCount, class Place>
StepsKernel<Place> steps_kernel(Coding coding) {
  switch (coding) {
    case Coding::joined:
      return relax_steps<Coding::joined, kCount, Place>;
    case Coding::beside:
      return relax_steps<Coding::beside, kCount, Place>;
    case Coding::compressed_weighted:
      return relax_steps<Coding::compressed_weighted, kCount, Place>;
    case Coding::plain:
    case Coding::compressed:
      break;
  }
  throw UsageError("shortest paths are over lists that are placed with weights");
}

class CudaLeanSssp final : public graph::Traversal {
 public:
  CudaLeanSssp(const LeanLists& lists, std::uint32_t delta)
      : lists_(view_of(lists)),
        delta_(delta),
        guard_(lists.gpu()),
        state_(lists_, delta, lists.gpu()),
        run_(lists.gpu(), kMostSteps, "shortest paths") {}

  double run(Vertex source) override { return launch<false>(run_.board(), source); }
  void spoil() override {
    state_.spoil(run_.stream());
    run_.stream().synchronize();
  }
  std::vector<LinkReads> count(Vertex source) override {
    return run_.count([&](const StepBoard& board) { return launch<true>(board, source); });
  }

  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override { return state_.distances(); }
  [[nodiscard]] const void* answer_on_gpu() const override { return state_.distances_on_gpu(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
  template <bool kCount>
  double launch(const StepBoard& board, Vertex source) {
    graph::require_vertex(source, lists_.vertices);
    return run_.run(steps_kernel<kCount, PathsAlone>(lists_.out.coding), lists_, state_.arrays(), board,
                    source, delta_, {});
  }

  PlacedView lists_;
  std::uint32_t delta_;
  cuda::DeviceGuard guard_;
  PathState state_;
  SteppedRun run_;
};

}  // namespace

std::unique_ptr<graph::Traversal> make_lean_sssp(const LeanLists& lists, std::uint32_t delta) {
  return std::make_unique<CudaLeanSssp>(lists, delta);
}

// Shortest paths by near and far, each step by segments that are read or copied.
namespace {

__global__ void __launch_bounds__(kLeanThreads) begin_paths(PathArrays a, Vertex vertices, Vertex source) {
  clear_paths(a, vertices, source);
}

__global__ void __launch_bounds__(kLeanThreads)
    choose_active(ListsView lists, PathArrays a, std::uint64_t threshold) {
  choose(lists, a, PathsAlone{}, threshold, *a.counters);
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

class HybridSssp final : public graph::Traversal {
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
  void spoil() override {
    state_.spoil(run_.stream());
    run_.stream().synchronize();
  }
  std::vector<LinkReads> count(Vertex source) override {
    static_cast<void>(steps<true>(source));
    return run_.reads();
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override { return state_.distances(); }
  [[nodiscard]] const void* answer_on_gpu() const override { return state_.distances_on_gpu(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.bytes() + run_.bytes(); }

 private:
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
        threshold = std::uint64_t{counters.nearest} + delta_;
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

// Shortest paths by near and far, each GPU the lists of its own vertices. What lists lower of others' stands
// in the own copy until their GPU takes it.
namespace {

struct PathsOfTeam : TeamPlace {
  struct Lowered {
    std::uint32_t* distances;
    std::uint32_t* fallen;
  };
  Others<Lowered> lowered;

  // And what lists of other GPUs have lowered of them since this one looked last, a GPU after the other. A
  // word and its vertices are one warp's throughout.
  [[nodiscard]] __device__ std::uint32_t fallen(const PathArrays& a, bool there, std::uint64_t word) const {
    std::uint32_t all = there ? a.fallen[word] : 0;
    const std::uint32_t own = all;
    for (int i = 0; i < lowered.count; ++i) {
      const std::uint32_t taken = there ? __ldcg(lowered.of[i].fallen + word) : 0;
      if (taken != 0) {
        __stcg(lowered.of[i].fallen + word, 0U);
      }
      all |= take(a, lowered.of[i].distances, word, taken);
    }
    if (all != own) {
      a.fallen[word] = all;
    }
    return all;
  }

 private:
  // Of those that are `taken`, which have a lower distance there than here; here they have it then.
  __device__ static std::uint32_t take(const PathArrays& a, const std::uint32_t* theirs, std::uint64_t word,
                                       std::uint32_t taken) {
    constexpr int kAcross = 8;  // asked for at a time: NVLink is further than the own memory
    const int lane = cuda::lane_of_warp();
    std::uint32_t lowered = 0;  // of the lane's own word
    for (std::uint32_t with = __ballot_sync(kAllLanes, taken != 0); with != 0;) {
      int of[kAcross];  // the lane whose word it is
      std::uint32_t vertex[kAcross];
      std::uint32_t distance[kAcross];
      std::uint32_t before[kAcross];
#pragma unroll
      for (int i = 0; i < kAcross; ++i) {
        of[i] = max(__ffs(static_cast<int>(with)) - 1, 0);
        const std::uint32_t bits = with != 0 ? __shfl_sync(kAllLanes, taken, of[i]) : 0;
        with &= with - 1;
        vertex[i] = __shfl_sync(kAllLanes, static_cast<std::uint32_t>(word), of[i]) * kWarpLanes +
                    static_cast<std::uint32_t>(lane);
        const bool mine = (bits >> lane & 1) != 0;
        distance[i] = mine ? __ldcg(theirs + vertex[i]) : graph::kUnreached;
        before[i] = mine ? __ldcg(a.distances + vertex[i]) : 0;
      }
#pragma unroll
      for (int i = 0; i < kAcross; ++i) {
        const bool lower = distance[i] < before[i];
        if (lower) {
          __stcg(a.distances + vertex[i], distance[i]);
        }
        const std::uint32_t of_word = __ballot_sync(kAllLanes, lower);
        lowered |= lane == of[i] ? of_word : 0;
      }
    }
    return lowered;
  }
};

class TeamSssp final : public graph::Traversal {
 public:
  TeamSssp(LeanTeam team, std::uint32_t delta)
      : run_(team),
        delta_(delta),
        vertices_(run_.view(0).vertices),
        steps_(run_, kMostSteps, "shortest paths") {
    for (std::size_t i = 0; i < run_.size(); ++i) {
      states_.push_back(std::make_unique<PathState>(run_.view(i), delta, run_.gpu(i)));
    }
  }

  double run(Vertex source) override {
    graph::require_vertex(source, vertices_);
    return steps_.run(kernel<false>(), [&](const auto&... of_gpu) { return arguments(of_gpu..., source); });
  }
  void spoil() override { spoil_all(run_, states_); }
  std::vector<LinkReads> count(Vertex source) override {
    graph::require_vertex(source, vertices_);
    return steps_.count(kernel<true>(), [&](const auto&... of_gpu) { return arguments(of_gpu..., source); });
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return steps_.levels(); }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override {
    return run_.gathered<std::uint32_t>([&](std::size_t i) { return states_[i]->distances(); });
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return bytes_of(states_) + steps_.bytes(); }

 private:
  template <bool kCount>
  [[nodiscard]] StepsKernel<PathsOfTeam> kernel() const {
    return steps_kernel<kCount, PathsOfTeam>(run_.view(0).out.coding);
  }
  using Arguments = std::tuple<PlacedView, PathArrays, StepBoard, Vertex, std::uint32_t, PathsOfTeam>;
  [[nodiscard]] Arguments arguments(std::size_t i, const TeamPlace& place, const StepBoard& board,
                                    Vertex source) const {
    const auto lowered = run_.others<PathsOfTeam::Lowered>(i, [&](std::size_t other) {
      const PathArrays a = states_[other]->arrays();
      return PathsOfTeam::Lowered{a.distances, a.fallen};
    });
    return {run_.view(i), states_[i]->arrays(), board, source, delta_, PathsOfTeam{place, lowered}};
  }

  TeamRun run_;
  std::uint32_t delta_;
  Vertex vertices_;
  std::vector<std::unique_ptr<PathState>> states_;
  TeamSteps steps_;
  TeamDrain drain_{run_};
};

}  // namespace

std::unique_ptr<graph::Traversal> make_lean_sssp(LeanTeam team, std::uint32_t delta) {
  return team.size() == 1 ? make_lean_sssp(*team.front(), delta) : std::make_unique<TeamSssp>(team, delta);
}

std::unique_ptr<graph::Traversal> make_hybrid_sssp(const LeanLists& lists, std::uint32_t delta,
                                                   const LinkCosts& costs) {
  const Coding coding = view_of(lists).out.coding;
  if (coding == Coding::beside) {
    throw SkipError(
        "weights do not fit beside their neighbours in four bytes: segments of two arrays are not copied");
  }
  return std::make_unique<HybridSssp>(lists, delta, costs);
}

}  // namespace grainscope::lean
