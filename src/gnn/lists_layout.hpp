#ifndef GRAINSCOPE_SRC_GNN_LISTS_LAYOUT_HPP
#define GRAINSCOPE_SRC_GNN_LISTS_LAYOUT_HPP

// Where the arrays of a sampled mini-batch lie in one piece of a GPU's memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/sampling.hpp"

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

}  // namespace grainscope::gnn

#endif
