#ifndef GRAINSCOPE_SRC_GNN_SHARED_LAYOUT_HPP
#define GRAINSCOPE_SRC_GNN_SHARED_LAYOUT_HPP

// Where sampled lists and rows lie in the memory that both processes of a pipeline use: one allocation, since
// each that is shared is opened by itself.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "grainscope/gnn/exchange.hpp"
#include "grainscope/gnn/training.hpp"
#include "lists_layout.hpp"

namespace grainscope::gnn {

class SharedLayout {
 public:
  explicit SharedLayout(const TrainingPlan& plan)
      : lists_(most_of_plan(plan)),
        rows_bytes_(padded(lists_.most().nodes.back() * plan.request.shape.features * sizeof(float))) {}

  [[nodiscard]] std::uint64_t bytes() const { return kListSets * lists_.bytes() + kRowBuffers * rows_bytes_; }
  [[nodiscard]] const ListsLayout& lists() const { return lists_; }
  [[nodiscard]] std::byte* lists_of(std::byte* memory, std::uint64_t batch) const {
    return memory + batch % kListSets * lists_.bytes();
  }
  [[nodiscard]] std::byte* rows_of(std::byte* memory, std::uint64_t batch) const {
    return memory + kListSets * lists_.bytes() + batch % kRowBuffers * rows_bytes_;
  }

 private:
  // As the sampler has it: no layer has more edges than the graph.
  static MostOf most_of_plan(const TrainingPlan& plan) {
    MostOf most = most_of(plan.request.sample.fanouts, plan.seeds.front().size(), plan.neighbours.vertices());
    for (std::uint64_t& edges : most.edges) {
      edges = std::min<std::uint64_t>(edges, plan.neighbours.edges());
    }
    return most;
  }
  static std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + ListsLayout::kBoundary - 1) / ListsLayout::kBoundary * ListsLayout::kBoundary;
  }

  ListsLayout lists_;
  std::uint64_t rows_bytes_;
};

}  // namespace grainscope::gnn

#endif
