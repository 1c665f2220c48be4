#ifndef GRAINSCOPE_GNN_SAMPLING_HPP
#define GRAINSCOPE_GNN_SAMPLING_HPP

// Neighbour sampling (GraphSAGE): from seeds outward, hop by hop, each vertex keeps at most `fan-out` of its
// neighbours, drawn without replacement.
//
// Every vertex reached so far is a destination of the next hop, the seeds included, as in DGL's blocks. A
// destination with at most fan-out neighbours takes all, in the order of its list; else Floyd's method draws
// (Bentley and Floyd, CACM 30(9), 1987): for i = 0 … k − 1 with j = degree − k + i a place t from 0 to j;
// where t is taken already, j. Its random numbers are keyed by (seed, batch, hop, vertex, i), so a mini-batch
// is the same, bit for bit, on a CPU with any number of threads and on a GPU.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::gnn {

// Layer h: edges from nodes within h + 1 hops to nodes within h hops.
struct Layer {
  std::vector<std::uint64_t> offsets;  // [destinations + 1]; destination i is MiniBatch::nodes[i]
  std::vector<std::uint32_t> sources;  // [edges of the layer], as indices into MiniBatch::nodes
  friend bool operator==(const Layer&, const Layer&) = default;
};

struct MiniBatch {
  // The seeds in the order given, then hop by hop the vertices that it reached first, ascending.
  std::vector<graph::Vertex> nodes;
  std::vector<std::uint32_t> nodes_upto;  // [hops + 1]: nodes[0 … nodes_upto[h]) are within h hops
  std::vector<Layer> layers;              // [hops]; layer h has nodes_upto[h] destinations
  std::uint64_t sampled_edges = 0;        // of all layers
  friend bool operator==(const MiniBatch&, const MiniBatch&) = default;
};

inline constexpr int kMostHops = 8;
inline constexpr int kMostFanout = 1024;

struct SampleRequest {
  std::vector<int> fanouts;  // from the seeds outward: 1 to kMostHops of them, each 1 to kMostFanout
  std::uint64_t seed = 1;
};

// "10x25", and back. Throws UsageError, naming what is wrong, for other texts and for impossible fan-outs.
[[nodiscard]] std::string fanout_text(std::span<const int> fanouts);
[[nodiscard]] std::vector<int> parse_fanouts(const std::string& text);
// Throws UsageError for fan-outs that cannot be.
void require_fanouts(std::span<const int> fanouts);
// Throws UsageError, naming the entry, unless the seeds are different vertices of the graph, at least one.
void require_seeds(std::span<const graph::Vertex> seeds, graph::Vertex vertices);

// The most nodes and edges that a mini-batch of `seeds` seeds can have after each hop: nodes [hops + 1],
// edges [hops].
struct MostOf {
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint64_t> edges;
};
[[nodiscard]] MostOf most_of(std::span<const int> fanouts, std::uint64_t seeds, graph::Vertex vertices);

// Samples on the CPU, by all of OpenMP's threads. Keeps 4.25 bytes a vertex between mini-batches.
class CpuSampler {
 public:
  // `neighbours`: of each vertex those that it is fed by, of a directed graph its in-neighbours
  // (graph::transpose); outlives the sampler. Throws UsageError for impossible fan-outs, EnvironmentError
  // where memory does not suffice.
  CpuSampler(const graph::Csr& neighbours, SampleRequest request);
  ~CpuSampler();
  CpuSampler(const CpuSampler&) = delete;
  CpuSampler& operator=(const CpuSampler&) = delete;

  // Mini-batch number `batch`, into one whose memory is used again. Throws as require_seeds.
  void sample(std::span<const graph::Vertex> seeds, std::uint64_t batch, MiniBatch& into);
  [[nodiscard]] MiniBatch sample(std::span<const graph::Vertex> seeds, std::uint64_t batch);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The oracle: the same mini-batch by one thread and sets.
[[nodiscard]] MiniBatch serial_sample(const graph::Csr& neighbours, const SampleRequest& request,
                                      std::span<const graph::Vertex> seeds, std::uint64_t batch);

// Throws FailedError, saying where, unless `sampled` can have been drawn from `neighbours`: every destination
// has the right number of different sources, all of them its neighbours, and the nodes are what the layers
// reach, in the right order. What was drawn among the possible it does not judge. Says what was checked.
std::string certify_sample(const graph::Csr& neighbours, std::span<const int> fanouts,
                           std::span<const graph::Vertex> seeds, const MiniBatch& sampled);

}  // namespace grainscope::gnn

#endif
