// Kernels of the tests' own.

#include "probes.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "lists.cuh"
#include "program.cuh"

namespace grainscope::graph {
namespace {

constexpr std::uint32_t kOpen = 1U << 24;

struct InDegreeProgram : ProgramDefaults {
  std::uint32_t* visits = nullptr;  // [V], device
  bool first = true;

  __device__ bool activate(std::uint32_t /*vertex*/, bool mine, int /*lane*/) const { return mine && first; }
  __device__ std::uint32_t open(const WorkItem& item, Team team) const {
    if (speaks_for(team)) {
      atomicAdd(visits + item.vertex, kOpen);
    }
    return item.vertex;
  }
  __device__ void visit(std::uint32_t /*vertex*/, Vertex neighbour, Weight /*weight*/) const {
    atomicAdd(visits + neighbour, 1U);
  }
  // By what was opened, not by what it is closed with: they must be the same.
  __device__ void close(const WorkItem& /*item*/, std::uint32_t vertex, Team team) const {
    if (speaks_for(team)) {
      atomicSub(visits + vertex, kOpen);
    }
  }
  void next_level() { first = false; }
};

class InDegreeState {
 public:
  using Program = InDegreeProgram;
  explicit InDegreeState(const PlacedGraph& graph) : visits_(graph.request().gpu, graph.view().vertices) {}

  [[nodiscard]] InDegreeProgram program() const {
    InDegreeProgram program;
    program.visits = visits_.data();
    return program;
  }
  void clear(Vertex /*source*/, const cuda::Stream& stream) const { visits_.fill_bytes(0, stream); }
  void spoil(const cuda::Stream& stream) const { visits_.fill_bytes(kSpoiled, stream); }
  static std::uint64_t most_levels(Vertex /*vertices*/) { return 2; }
  [[nodiscard]] std::vector<std::uint32_t> answer(Vertex vertices) const { return visits_.read(vertices); }
  [[nodiscard]] static std::vector<float> ranks(Vertex /*vertices*/) {
    throw UsageError("in-degrees are no ranks");
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return visits_.bytes(); }

 private:
  DeviceArray<std::uint32_t> visits_;
};

bool refuses(const GatherBoard& board) {
  try {
    board.check();
    return false;
  } catch (const FailedError&) {
    return true;
  }
}

}  // namespace

std::unique_ptr<Traversal> make_in_degrees(const PlacedGraph& graph, Access access) {
  return std::make_unique<ProgramTraversal<InDegreeState>>(graph, access);
}

bool gives_up_waiting(double patience_s) {
  constexpr unsigned kBlocks = 4;
  const cuda::Stream stream;
  const GatherBoard board(0, kBlocks, patience_s);
  board.clear(stream);
  // No lists at all, but one that is open for ever.
  const DeviceArray<std::uint64_t> count(0, 1);
  count.fill_bytes(0, stream);
  WalkInput input;
  input.count = count.data();
  input.gather = board.view();
  const unsigned long long open = 1;
  cuda::check(cudaMemcpyAsync(input.gather.surplus, &open, sizeof(open), cudaMemcpyDefault, stream.get()),
              "plant a list that never gets done");
  InDegreeProgram program;
  void* arguments[] = {&input, &program};
  const void* const kernel =
      reinterpret_cast<const void*>(gather_edges<std::uint32_t, InDegreeProgram, Note::nothing>);
  cuda::check(
      cudaLaunchCooperativeKernel(kernel, dim3(kBlocks), dim3(kWalkThreads), arguments, 0, stream.get()),
      "launch gather_edges");
  stream.synchronize();
  return refuses(board) && !refuses(board);
}

}  // namespace grainscope::graph

namespace grainscope::lean {
namespace {

constexpr unsigned kBlocks = 64;

struct Found {
  std::uint32_t vertex;
  std::uint32_t weight;
};

// Writes each neighbour to its list's place.
struct Write {
  const std::uint64_t* offsets;
  unsigned* counts;  // [V]: found so far
  Found* found;      // [E]
  std::uint32_t of = 0;

  __device__ void start(std::uint32_t vertex) { of = vertex; }
  __device__ void visit(const Neighbour& neighbour) {
    const std::uint64_t at = offsets[of] + atomicAdd(counts + of, 1U);
    if (at < offsets[of + std::uint64_t{1}]) {  // else there are too many, and the count tells
      found[at] = {neighbour.vertex, neighbour.weight};
    }
  }
  __device__ void finish(bool /*whole*/) {}
};

template <Coding kCoding>
__global__ void __launch_bounds__(kLeanThreads)
    walk_lists(ListsView lists, graph::Vertex vertices, HandOut out, Write write) {
  for (std::uint64_t v = warp_of_grid(); v < vertices; v += warps_of_grid()) {
    visit_list<kCoding, false>(lists, static_cast<std::uint32_t>(v), out, nullptr, write);
  }
}

template <Coding kCoding>
__global__ void __launch_bounds__(kLeanThreads) walk_pieces(ListsView lists, HandOut out, Write write) {
  visit_pieces<kCoding, false>(lists, out, *out.count, nullptr, write);
}

template <Coding kCoding>
void walk(const PlacedView& view, const HandOut& out, const Write& write, const cuda::Stream& stream) {
  walk_lists<kCoding><<<kBlocks, kLeanThreads, 0, stream.get()>>>(view.out, view.vertices, out, write);
  walk_pieces<kCoding><<<kBlocks, kLeanThreads, 0, stream.get()>>>(view.out, out, write);
  cuda::check_launch("walks over lists");
}

}  // namespace

std::vector<Neighbours> walk_all_lists(const LeanLists& lists, const graph::Csr& graph) {
  const PlacedView& view = view_of(lists);
  const cuda::DeviceGuard guard(lists.gpu());
  const cuda::Stream stream;
  const cuda::DeviceArray<PieceItem> items(lists.gpu(), std::max<std::uint64_t>(1, view.most_pieces));
  const cuda::DeviceArray<unsigned long long> pieces(lists.gpu(), 1);
  const cuda::DeviceArray<unsigned> counts(lists.gpu(), graph.vertices());
  const cuda::DeviceArray<Found> found(lists.gpu(), std::max<std::uint64_t>(1, graph.edges()));
  pieces.fill_bytes(0, stream);
  counts.fill_bytes(0, stream);
  const HandOut out{items.data(), pieces.data()};
  const Write write{view.out.offsets, counts.data(), found.data()};
  switch (view.out.coding) {
    case Coding::plain:
      walk<Coding::plain>(view, out, write, stream);
      break;
    case Coding::joined:
      walk<Coding::joined>(view, out, write, stream);
      break;
    case Coding::beside:
      walk<Coding::beside>(view, out, write, stream);
      break;
    case Coding::compressed:
      walk<Coding::compressed>(view, out, write, stream);
      break;
    case Coding::compressed_weighted:
      walk<Coding::compressed_weighted>(view, out, write, stream);
      break;
  }
  stream.synchronize();
  const std::vector<unsigned> many = counts.read(graph.vertices());
  std::vector<Found> all = found.read(graph.edges());
  std::vector<Neighbours> walked(graph.vertices());
  for (graph::Vertex v = 0; v < graph.vertices(); ++v) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(graph.offsets[v]);
    const std::uint64_t kept = std::min<std::uint64_t>(graph.degree(v), many[v]);
    std::sort(begin, begin + static_cast<std::ptrdiff_t>(kept),
              [](const Found& one, const Found& other) { return one.vertex < other.vertex; });
    walked[v].ids.resize(many[v]);  // too many or too few, if they are
    walked[v].weights.resize(many[v]);
    for (std::uint64_t i = 0; i < kept; ++i) {
      const Found& neighbour = begin[static_cast<std::ptrdiff_t>(i)];
      walked[v].ids[i] = neighbour.vertex;
      walked[v].weights[i] = neighbour.weight;
    }
  }
  return walked;
}

}  // namespace grainscope::lean

namespace grainscope {
namespace {

__global__ void store(volatile int* where) {
  *where = 1;
}

}  // namespace

void enqueue_illegal_store(const cuda::Stream& stream) {
  // No driver and no kernel maps the first page, not even where the GPU reads the host's page tables.
  store<<<1, 1, 0, stream.get()>>>(nullptr);
  cuda::check_launch("store");
}

}  // namespace grainscope
