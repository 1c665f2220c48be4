// PageRank by pushing residuals (dissertation 2.3; EMOGI's code stops at a residual of 1e-3 a vertex, this at
// GAP's L1 norm of 1e-4). damping 0.85, teleport 0.15 / V, the mass of vertices without out-edges dropped.
//
// rank + what its residual will still add is the answer: residual = teleport + damping * pushed rank - rank,
// of either sign. It begins with the rank 1 / V everywhere, which lies nearer than zero: fewer walks. The sum
// of |residual| is what one more step would change, GAP's measure. Residuals are in double precision: a hub
// takes a hundred thousand small shares one by one, and in single precision their rounding adds up to more
// than the tolerance.

#include "divided.cuh"
#include "grainscope/graph/answers.hpp"
#include "program.cuh"
#include "subway.cuh"

namespace grainscope::graph {
namespace {

// Single precision rounds: what is measured here must lie below the tolerance with room.
constexpr double kMargin = 0.9;

struct PrProgram : ProgramDefaults {
  static constexpr bool kMeasuresRest = true;

  const std::uint64_t* offsets = nullptr;  // [V + 1], device
  float* ranks = nullptr;                  // [V], device
  double* residuals = nullptr;             // [V], device
  float* shares = nullptr;                 // [V], device: what each edge of a list carries in this level
  Vertex vertices = 0;
  float start = 0;       // 1 / V
  float negligible = 0;  // a residual that is not worth a walk
  bool first = true;

  __device__ double rest_of(std::uint32_t vertex) const {
    return first ? 1.0 / vertices : fabs(residuals[vertex]);
  }
  __device__ bool activate(std::uint32_t vertex, bool mine, int /*lane*/) const {
    if (!mine) {
      return false;
    }
    double pushed = start;
    if (first) {
      ranks[vertex] = start;
      residuals[vertex] = (1 - kDamping) * start - start;
    } else {
      pushed = residuals[vertex];
      if (fabs(pushed) <= negligible) {
        return false;
      }
      ranks[vertex] += static_cast<float>(pushed);
      residuals[vertex] = 0;
    }
    const std::uint64_t degree = offsets[vertex + std::uint64_t{1}] - offsets[vertex];
    shares[vertex] = static_cast<float>(kDamping * pushed / static_cast<double>(degree));
    return degree > 0;
  }
  __device__ float open(const WorkItem& item, Team /*team*/) const { return shares[item.vertex]; }
  __device__ void visit(float share, Vertex neighbour, Weight /*weight*/) const {
    atomicAdd(residuals + neighbour, static_cast<double>(share));
  }
  // What others have for this vertex is taken out of their hands.
  __device__ void take(Vertex vertex, const Others<PrProgram>& others) const {
    double found = 0;
    for (int i = 0; i < others.count; ++i) {
      double* const theirs = others.of[i].residuals + vertex;
      if (const double share = *theirs; share != 0) {
        found += share;
        *theirs = 0;
      }
    }
    if (found != 0) {
      residuals[vertex] += found;
    }
  }
  __host__ __device__ bool satisfied(const LevelSummary& summary) const {
    return !first && (summary.active == 0 || summary.rest < kMargin * kRankTolerance);
  }
  void next_level() { first = false; }
};

// PageRank by pull, as GAP's own but for that a step sees only the step before it: every vertex adds up what
// its in-neighbours carry, until a step changes less than the tolerance.
struct PrPullProgram : PrProgram {
  static constexpr bool kPulls = true;

  struct Sum {
    double of_list = 0;  // what lanes have added up of it
    double of_lane = 0;
  };
  // `residuals` is the sum over in-neighbours.
  [[nodiscard]] __device__ float rank_of(std::uint32_t vertex) const {
    return static_cast<float>((1 - kDamping) * start + kDamping * residuals[vertex]);
  }
  __device__ double rest_of(std::uint32_t vertex) const {
    return first ? 1.0 / vertices : fabs(static_cast<double>(rank_of(vertex)) - ranks[vertex]);
  }
  __device__ bool activate(std::uint32_t vertex, bool mine, int /*lane*/) const {
    if (!mine) {
      return false;
    }
    const float rank = first ? start : rank_of(vertex);
    ranks[vertex] = rank;
    residuals[vertex] = 0;
    const std::uint64_t degree = offsets[vertex + std::uint64_t{1}] - offsets[vertex];
    shares[vertex] = rank / static_cast<float>(degree);
    return degree > 0;
  }
  __device__ Sum open(const WorkItem& /*item*/, Team /*team*/) const { return {}; }
  __device__ void visit(Sum& sum, Vertex neighbour, Weight /*weight*/) const {
    sum.of_lane += shares[neighbour];
  }
  __device__ void close(const WorkItem& item, const Sum& sum, Team team) const {
    const double all = sum_of(sum.of_list + sum.of_lane, team);
    if (all != 0 && speaks_for(team)) {
      atomicAdd(residuals + item.vertex, all);  // of other parts of the list, too
    }
  }
  __device__ void merge(Sum& list, const Sum& lane) const { atomicAdd(&list.of_list, lane.of_lane); }
};

template <class AnyProgram>
class PrState {
 public:
  using Program = AnyProgram;
  explicit PrState(const PlacedGraph& graph)
      : view_(graph.view()),
        ranks_(graph.request().gpu, view_.vertices),
        residuals_(graph.request().gpu, view_.vertices),
        shares_(graph.request().gpu, view_.vertices) {}

  [[nodiscard]] Program program() const {
    Program program;
    program.offsets = view_.offsets;
    program.ranks = ranks_.data();
    program.residuals = residuals_.data();
    program.shares = shares_.data();
    program.vertices = view_.vertices;
    program.start = 1.0F / static_cast<float>(view_.vertices);
    // All that is left lying together stays below half of what is allowed.
    program.negligible = static_cast<float>(kRankTolerance) / 2 * program.start;
    return program;
  }
  // A first level sets what belongs to the vertices whose lists are here; of others' nothing is there yet.
  void clear(Vertex /*source*/, const cuda::Stream& stream) const {
    if (view_.range != VertexRange{0, view_.vertices}) {
      residuals_.fill_bytes(0, stream);
    }
  }
  void spoil(const cuda::Stream& stream) const { ranks_.fill_bytes(kSpoiled, stream); }
  static std::uint64_t most_levels(Vertex /*vertices*/) { return 1000; }
  [[nodiscard]] static std::vector<std::uint32_t> answer(Vertex /*vertices*/) {
    throw UsageError("pr answers with ranks");
  }
  [[nodiscard]] std::vector<float> ranks(Vertex vertices) const { return ranks_.read(vertices); }
  [[nodiscard]] std::uint64_t gpu_bytes() const {
    return ranks_.bytes() + residuals_.bytes() + shares_.bytes();
  }

 private:
  GraphView view_;
  DeviceArray<float> ranks_;
  DeviceArray<double> residuals_;
  DeviceArray<float> shares_;
};

}  // namespace

std::unique_ptr<Traversal> make_pr(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<PrState<PrProgram>>>(graph, access);
}

std::unique_ptr<Traversal> make_pr_pull(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<PrState<PrPullProgram>>>(graph, access);
}

std::unique_ptr<Traversal> make_pr_divided(Parts parts, Access access) {
  return std::make_unique<DividedTraversal<PrState<PrProgram>>>(parts, access);
}

std::unique_ptr<Traversal> make_pr_subway(const Csr& graph, const SubwayRequest& request) {
  return std::make_unique<CompactingTraversal<PrState<PrProgram>>>(graph, request);
}

}  // namespace grainscope::graph
