#ifndef GRAINSCOPE_TESTS_LANE_BY_LANE_HPP
#define GRAINSCOPE_TESTS_LANE_BY_LANE_HPP

// The slow and obvious replay that the model's is held against: every lane of every step of every turn.

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "grainscope/model/replay.hpp"

namespace grainscope::model {

class LaneByLane {
 public:
  LaneByLane(const graph::Csr& graph, graph::Access access, const Layout& layout, const Grid& grid);
  // The requests of one level.
  Requests level(std::span<const graph::Vertex> active);
  // Of the last level.
  [[nodiscard]] std::uint64_t level_bytes() const { return level_sectors_.size() * 32; }
  // That ask for a sector that nobody in this level asked for before; of naive the lines.
  [[nodiscard]] std::uint64_t level_requests() const {
    return access_ == graph::Access::naive ? level_lines_.size() : level_requests_;
  }
  [[nodiscard]] std::uint64_t cached_bytes() const { return sectors_.size() * 32; }
  [[nodiscard]] double block_imbalance() const;

 private:
  using Elements = std::vector<std::uint64_t>;  // that the lanes of one load read, by lane
  using Turn = std::vector<Elements>;

  [[nodiscard]] std::vector<graph::WorkItem> items(std::span<const graph::Vertex> active) const;
  [[nodiscard]] Turn steps_of(std::span<const graph::WorkItem> items) const;
  void load(const Elements& elements, int array, Requests& sum);
  void hand_out(const std::vector<std::uint64_t>& edges_of_block, Requests& sum);

  const graph::Csr& graph_;
  graph::Access access_;
  Layout layout_;
  Grid grid_;
  std::set<std::pair<int, std::uint64_t>> sectors_;  // array and sector
  std::set<std::pair<int, std::uint64_t>> level_sectors_;
  std::set<std::pair<int, std::uint64_t>> level_lines_;
  std::uint64_t level_requests_ = 0;
  std::vector<std::uint64_t> loads_of_block_;
};

}  // namespace grainscope::model

#endif
