#ifndef GRAINSCOPE_MODEL_PAGING_HPP
#define GRAINSCOPE_MODEL_PAGING_HPP

// What managed memory moves under a given card memory: an LRU over pages. Modelled, not validated on
// hardware: no shared card may be oversubscribed.

#include <cstdint>

#include "grainscope/model/replay.hpp"

namespace grainscope::model {

struct PagingOptions {
  std::uint64_t card_bytes = 0;         // left for the edge list
  std::uint64_t page_bytes = 64 << 10;  // what one fault brings: 4 KiB, 64 KiB or 2 MiB
  double link_gb_s = 0;
  double fault_s = 20e-6;  // handling of one fault group, and how many are handled at once
  double faults_at_once = 1;
};

struct Paging {
  std::uint64_t moved_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t moved_bytes = 0;
  std::uint64_t touched_bytes = 0;  // different pages × their size
  double seconds = 0;               // moving and faulting, no overlap with work
};

// Walks the lists of each level in ascending order, whole pages, starting with none on the card.
class Pager {
 public:
  Pager(const graph::Csr& graph, const Layout& layout, const PagingOptions& options);
  void level(std::span<const graph::Vertex> active);
  [[nodiscard]] Paging result() const;

 private:
  const graph::Csr& graph_;
  Layout layout_;
  PagingOptions options_;
  Paging paging_;
  // An exact LRU: intrusive list over pages.
  std::vector<std::uint32_t> newer_, older_;
  std::vector<bool> there_;
  std::uint64_t resident_ = 0;
};

}  // namespace grainscope::model

#endif
