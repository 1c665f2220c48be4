#ifndef GRAINSCOPE_GNN_SEEDS_HPP
#define GRAINSCOPE_GNN_SEEDS_HPP

// Which vertices a training run starts from: a labelled part of the graph, in another order each epoch.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/trace.hpp"

namespace grainscope::gnn {

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

// `percent` of the vertices, to the nearest whole number, ascending; all vertices are equally likely. Throws
// UsageError, with the numbers, where that is none or the percentage is not above 0 and at most 100.
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
