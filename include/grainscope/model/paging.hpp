#ifndef GRAINSCOPE_MODEL_PAGING_HPP
#define GRAINSCOPE_MODEL_PAGING_HPP

// What managed memory moves under a given card memory, and what a walk costs in address translations: both
// an LRU over pages. Modelled, not validated on hardware: no shared card may be oversubscribed.

#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/model/link.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::model {

// An exact "least recently used" over numbered pages: a list through two arrays, so that a touch costs a few
// loads and nothing is ever searched.

class Lru {
 public:
  // Pages 0 to `pages` − 1 (below 2³² − 1), of which `capacity` (at least 1) are held. Throws FailedError
  // else.
  Lru(std::uint64_t pages, std::uint64_t capacity);

  void touch(std::uint32_t page) {
    if (page != older_[ends_]) {  // else it is the newest already
      touch_other(page);
    }
  }

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }        // touches of pages not held
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }  // pages that had to go
  [[nodiscard]] std::uint64_t different() const { return different_; }  // pages ever touched

 private:
  enum class State : std::uint8_t { never, gone, held };

  void touch_other(std::uint32_t page);
  void unlink(std::uint32_t page);
  void push_newest(std::uint32_t page);

  std::uint64_t capacity_;
  std::uint32_t ends_;  // a place beyond the pages: its neighbours are the oldest and the newest
  std::vector<std::uint32_t> newer_;  // of each page that is held, and of the ends the oldest
  std::vector<std::uint32_t> older_;  // of each page that is held, and of the ends the newest
  std::vector<State> state_;
  std::uint64_t held_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t different_ = 0;
};

// What managed memory moves under a given card memory, and what a walk costs in address translations: both an
// LRU over pages. Modelled, not validated on hardware: no shared card may be oversubscribed.

// Pages that `entries` edges lie on, and their weights where there are any.
[[nodiscard]] std::uint64_t pages_of(std::uint64_t entries, const Layout& layout, std::uint64_t page_bytes);

// Walks the lists of each level in ascending order, whole pages: of each list the pages of its edges and then
// those of its weights, which follow all pages of edges. The graph outlives it.
class PageWalk {
 public:
  // Throws FailedError for pages of no bytes or more than 2³² of them.
  PageWalk(const graph::Csr& graph, const Layout& layout, std::uint64_t page_bytes, std::uint64_t capacity);
  void level(std::span<const graph::Vertex> active);
  [[nodiscard]] const Lru& lru() const { return lru_; }
  [[nodiscard]] std::uint64_t pages() const { return pages_; }  // of the edge list and the weights

 private:
  // The pages of `elements` elements of `bytes` each from element `first`.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  [[nodiscard]] Range edge_pages(graph::Edge begin, graph::Edge end) const;
  [[nodiscard]] Range weight_pages(graph::Edge begin, graph::Edge end) const;
  void touch(const Range& range);

  const graph::Csr& graph_;
  Layout layout_;
  std::uint64_t page_bytes_;
  std::uint64_t first_weight_page_;
  std::uint64_t pages_;
  Lru lru_;
};

struct PagingOptions {
  std::uint64_t card_bytes = 0;         // left for the edge list
  std::uint64_t page_bytes = 64 << 10;  // what one fault brings: 4 KiB, 64 KiB or 2 MiB
  double link_gb_s = 0;
  double fault_s = 4.8e-6;  // handling of one fault group, see fault_cost; and how many are handled at once
  double faults_at_once = 1;
};

// What the driver takes for a group of faults beside moving its pages, and where that comes from.
struct FaultCost {
  double seconds = 0;
  const char* source = "";
};
// By the machines that the named links stand for: the papers' (PCIe 3 and 4), else an H100.
[[nodiscard]] FaultCost fault_cost(const Link& link);

struct Paging {
  std::uint64_t moved_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t moved_bytes = 0;
  std::uint64_t touched_bytes = 0;  // different pages × their size
  double seconds = 0;               // moving and faulting, no overlap with work
};

// Starts with no page on the card; a page that is brought replaces the one that was used the longest ago.
class Pager {
 public:
  // Throws FailedError where the card holds no page.
  Pager(const graph::Csr& graph, const Layout& layout, const PagingOptions& options);
  void level(std::span<const graph::Vertex> active) { walk_.level(active); }
  [[nodiscard]] Paging result() const;

 private:
  PagingOptions options_;
  PageWalk walk_;
};

// Seconds of `pages` pages that are brought: moving and faulting, no overlap.
[[nodiscard]] double paging_seconds(const PagingOptions& options, std::uint64_t pages);

// Misses of address translation over a link whose reach is known: an LRU of reach / granule translations.
// A walk whose whole data lies within reach has none: the first of each granule is not counted there.
class TranslationWalk {
 public:
  TranslationWalk(const graph::Csr& graph, const Layout& layout, std::uint64_t reach_bytes,
                  std::uint64_t granule_bytes);
  void level(std::span<const graph::Vertex> active);
  [[nodiscard]] std::uint64_t misses() const { return within_reach_ ? 0 : walk_.lru().misses(); }

 private:
  PageWalk walk_;
  bool within_reach_;
};

}  // namespace grainscope::model

#endif
