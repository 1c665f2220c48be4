#ifndef GRAINSCOPE_SRC_GNN_LISTS_LAYOUT_HPP
#define GRAINSCOPE_SRC_GNN_LISTS_LAYOUT_HPP

// Where the arrays of a sampled mini-batch lie in one piece of a GPU's memory, and where sampled lists and
// rows lie in the memory that both processes of a pipeline use: one allocation, since each that is shared
// is opened by itself.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/training.hpp"

// Where the arrays of a sampled mini-batch lie in one piece of a GPU's memory.

namespace grainscope::gnn {

class ListsLayout {
 public:
  static constexpr std::uint64_t kBoundary = 256;  // as cudaMalloc's

  explicit ListsLayout(MostOf most) : most_(std::move(most)) {
    nodes_ = take(most_.nodes.back() * sizeof(graph::Vertex));
    nodes_upto_ = take(most_.nodes.size() * sizeof(std::uint32_t));
    for (std::size_t hop = 0; hop < most_.edges.size(); ++hop) {
      offsets_.push_back(take((most_.nodes[hop] + 1) * sizeof(std::uint64_t)));
      sources_.push_back(take(edges(hop) * sizeof(std::uint32_t)));
    }
  }

  // Bytes of all arrays; those behind it are at a boundary too.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const MostOf& most() const { return most_; }

  [[nodiscard]] graph::Vertex* nodes(std::byte* memory) const {
    return reinterpret_cast<graph::Vertex*>(memory + nodes_);
  }
  [[nodiscard]] std::uint32_t* nodes_upto(std::byte* memory) const {
    return reinterpret_cast<std::uint32_t*>(memory + nodes_upto_);
  }
  [[nodiscard]] std::uint64_t* offsets(std::byte* memory, std::size_t hop) const {
    return reinterpret_cast<std::uint64_t*>(memory + offsets_[hop]);
  }
  [[nodiscard]] std::uint32_t* sources(std::byte* memory, std::size_t hop) const {
    return reinterpret_cast<std::uint32_t*>(memory + sources_[hop]);
  }
  [[nodiscard]] DeviceMiniBatch view(std::byte* memory) const {
    DeviceMiniBatch view{nodes(memory), nodes_upto(memory), most_.nodes.back(), {}};
    for (std::size_t hop = 0; hop < most_.edges.size(); ++hop) {
      view.layers.push_back({offsets(memory, hop), sources(memory, hop), most_.nodes[hop], edges(hop)});
    }
    return view;
  }

 private:
  [[nodiscard]] std::uint64_t edges(std::size_t hop) const {
    return std::max<std::uint64_t>(most_.edges[hop], 1);
  }
  std::uint64_t take(std::uint64_t bytes) {
    return std::exchange(bytes_, (bytes_ + bytes + kBoundary - 1) / kBoundary * kBoundary);
  }

  MostOf most_;
  std::uint64_t bytes_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t nodes_upto_ = 0;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint64_t> sources_;
};

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
