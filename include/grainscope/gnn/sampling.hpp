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
//
// Random numbers depend on what they are for and on nothing else. Training runs start from a labelled part of
// the graph, in another order each epoch, and ask for the rows of what they sample.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::gnn {

// Number `counter` of the stream `key`: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), entered anywhere.
// The number of one stream is the key of another.
[[nodiscard]] constexpr std::uint64_t random_number(std::uint64_t key, std::uint64_t counter) {
  std::uint64_t x = key + (counter + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The same as a number from 0 to `bound` − 1 (multiply and shift: a value's share is off by at most
// bound / 2³²).
[[nodiscard]] constexpr std::uint32_t random_below(std::uint64_t key, std::uint64_t counter,
                                                   std::uint32_t bound) {
  return static_cast<std::uint32_t>(((random_number(key, counter) >> 32) * bound) >> 32);
}

// Where a hop of a mini-batch draws from, and in it a vertex.
[[nodiscard]] constexpr std::uint64_t hop_key(std::uint64_t seed, std::uint64_t batch, std::uint64_t hop) {
  return random_number(random_number(random_number(0, seed), batch), hop);
}
[[nodiscard]] constexpr std::uint64_t vertex_key(std::uint64_t hop_key, std::uint32_t vertex) {
  return random_number(hop_key, vertex);
}

// `count` different places below `degree`, which is larger, by Floyd's method with the numbers of stream
// `key`, in the order in which they are drawn.
inline void draw_places(std::uint64_t key, std::uint32_t degree, std::uint32_t count, std::uint32_t* places) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t last = degree - count + i;
    const std::uint32_t place = random_below(key, i, last + 1);
    // `last` cannot be among them: it was out of reach so far.
    places[i] = std::find(places, places + i, place) == places + i ? place : last;
  }
}

// Row number = vertex, as the graph is numbered when it is sampled. The rows of a mini-batch differ from each
// other and stand in the order in which its consumer wants them.
struct Trace {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint64_t> begins = {0};  // batch b is rows[begins[b] … begins[b + 1])

  [[nodiscard]] std::size_t batches() const noexcept { return begins.empty() ? 0 : begins.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> batch(std::size_t b) const noexcept {
    return {rows.data() + begins[b], static_cast<std::size_t>(begins[b + 1] - begins[b])};
  }
  void add(std::span<const std::uint32_t> batch) {
    rows.insert(rows.end(), batch.begin(), batch.end());
    begins.push_back(rows.size());
  }
  friend bool operator==(const Trace&, const Trace&) = default;
};

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

// A bijection of 0 … size − 1 that a key draws: any value without the others, in the same time.
class Permutation {
 public:
  // `size`: 1 to 2³².
  Permutation(std::uint64_t size, std::uint64_t key);
  // Where `i`, below the size, goes.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const;

 private:
  [[nodiscard]] std::uint64_t step(std::uint64_t x) const;
  std::uint64_t size_;
  std::uint64_t key_;
  int half_bits_;
};

// `percent` of the vertices, to the nearest whole number. Throws UsageError, with the numbers, where that is
// none or the percentage is not above 0 and at most 100.
[[nodiscard]] std::uint64_t labelled_count(graph::Vertex vertices, double percent);

// So many vertices, ascending; all vertices are equally likely. Throws as labelled_count.
[[nodiscard]] std::vector<graph::Vertex> labelled_vertices(graph::Vertex vertices, double percent,
                                                           std::uint64_t seed);

// The labelled vertices in the order of an epoch: mini-batch b of size n starts from [b·n, (b + 1)·n), the
// last of an epoch from what is left.
[[nodiscard]] std::vector<graph::Vertex> epoch_order(std::span<const graph::Vertex> labelled,
                                                     std::uint64_t seed, std::uint64_t epoch);

// A run of training: whose mini-batches, and which.
struct RunRequest {
  SampleRequest sample;
  std::uint64_t batch = 1000;      // seeds of a mini-batch, at least 1
  std::uint64_t first_epoch = 0;   // runs of different epochs differ in order and in what is drawn
  std::uint64_t epochs = 1;        // at least 1
  std::uint64_t most_batches = 0;  // of the run, from its start; 0: all
};

// Samples the run on the CPU and shows its mini-batches one after another. Returns how many there were.
// Throws UsageError for impossible requests and where nothing is labelled.
std::uint64_t for_each_batch(const graph::Csr& neighbours, std::span<const graph::Vertex> labelled,
                             const RunRequest& request, const std::function<void(const MiniBatch&)>& visit);

// The rows that it asks for.
[[nodiscard]] Trace sampled_trace(const graph::Csr& neighbours, std::span<const graph::Vertex> labelled,
                                  const RunRequest& request);

}  // namespace grainscope::gnn

#endif
