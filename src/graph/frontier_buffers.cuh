#ifndef GRAINSCOPE_SRC_GRAPH_FRONTIER_BUFFERS_CUH
#define GRAINSCOPE_SRC_GRAPH_FRONTIER_BUFFERS_CUH

// The GPU memory of a frontier and its work items, and the scan between counting and emitting them.

#include <cuda_runtime.h>

#include <vector>

#include "counts_scan.hpp"
#include "frontier.cuh"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::graph {

// Work items that all lists together can be cut into, at most: ceil((degree + 31) / 256) each.
inline std::uint64_t most_items(const GraphView& graph) {
  return graph.vertices + graph.vertices / 8 + graph.edges / (kPieceSteps * kWarpLanes) + 1;
}

class FrontierBuffers {
 public:
  FrontierBuffers(const GraphView& graph, int gpu)
      : words_((graph.vertices + kWarpLanes - 1) / kWarpLanes),
        active_(gpu, words_ * sizeof(std::uint32_t)),
        counts_(gpu, (words_ + 1) * sizeof(std::uint32_t)),
        positions_(gpu, (words_ + 1) * sizeof(std::uint64_t)),
        items_(gpu, most_items(graph) * sizeof(WorkItem)),
        summary_(gpu, sizeof(LevelSummary) + sizeof(std::uint64_t)),
        scan_(gpu, words_ + std::uint64_t{1}) {
    // The scan reads one count more than there are words.
    cuda::check(cudaMemset(counts_.data(), 0, counts_.bytes()), "clear the counts of a frontier");
  }

  [[nodiscard]] FrontierArrays arrays() const {
    return {static_cast<std::uint32_t*>(active_.data()),    static_cast<std::uint32_t*>(counts_.data()),
            static_cast<std::uint64_t*>(positions_.data()), static_cast<WorkItem*>(items_.data()),
            static_cast<LevelSummary*>(summary_.data()),    words_};
  }
  // How many items of the level there are; device memory, behind the summary.
  [[nodiscard]] std::uint64_t* item_count() const {
    return reinterpret_cast<std::uint64_t*>(static_cast<LevelSummary*>(summary_.data()) + 1);
  }

  // From counts to positions.
  void scan(cudaStream_t stream) const {
    const FrontierArrays to = arrays();
    scan_.submit(to.counts, to.positions, words_ + std::uint64_t{1}, stream);
  }

  // The active vertices, ascending; none where the level has no items. Waits for the GPU.
  [[nodiscard]] std::vector<Vertex> read_active() const {
    std::uint64_t items = 0;
    cuda::check(cudaMemcpy(&items, item_count(), sizeof(items), cudaMemcpyDefault), "read a level");
    std::vector<Vertex> active;
    if (items == 0) {
      return active;
    }
    std::vector<std::uint32_t> words(words_);
    cuda::check(cudaMemcpy(words.data(), active_.data(), active_.bytes(), cudaMemcpyDefault),
                "read which vertices are active");
    for (std::uint32_t word = 0; word < words_; ++word) {
      for (std::uint32_t bits = words[word]; bits != 0; bits &= bits - 1) {
        active.push_back(word * kWarpLanes + static_cast<std::uint32_t>(__builtin_ctz(bits)));
      }
    }
    return active;
  }

  [[nodiscard]] std::uint64_t bytes() const {
    return active_.bytes() + counts_.bytes() + positions_.bytes() + items_.bytes() + scan_.bytes();
  }

 private:
  std::uint32_t words_;
  cuda::DeviceBuffer active_;
  cuda::DeviceBuffer counts_;
  cuda::DeviceBuffer positions_;
  cuda::DeviceBuffer items_;
  cuda::DeviceBuffer summary_;
  CountsScan scan_;
};

}  // namespace grainscope::graph

#endif
