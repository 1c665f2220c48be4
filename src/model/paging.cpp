// An exact LRU over pages, and the walks that go through it.

#include "grainscope/model/paging.hpp"

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope::model {

Lru::Lru(std::uint64_t pages, std::uint64_t capacity) : capacity_(capacity) {
  if (pages >= UINT32_MAX || capacity == 0) {
    throw FailedError("cannot model a memory of " + std::to_string(capacity) + " pages over " +
                      std::to_string(pages) +
                      " pages: it needs one at least, and fewer than 2^32 - 1 in all");
  }
  ends_ = static_cast<std::uint32_t>(pages);
  newer_.assign(pages + 1, ends_);
  older_.assign(pages + 1, ends_);
  state_.assign(pages, State::never);
}

void Lru::touch_other(std::uint32_t page) {
  if (state_[page] == State::held) {
    unlink(page);
  } else {
    ++misses_;
    different_ += state_[page] == State::never ? 1 : 0;
    state_[page] = State::held;
    if (held_ < capacity_) {
      ++held_;
    } else {
      const std::uint32_t oldest = newer_[ends_];
      unlink(oldest);
      state_[oldest] = State::gone;
      ++evictions_;
    }
  }
  push_newest(page);
}

void Lru::unlink(std::uint32_t page) {
  older_[newer_[page]] = older_[page];
  newer_[older_[page]] = newer_[page];
}

void Lru::push_newest(std::uint32_t page) {
  const std::uint32_t before = older_[ends_];
  newer_[before] = page;
  older_[page] = before;
  newer_[page] = ends_;
  older_[ends_] = page;
}

namespace {

using graph::Csr;
using graph::Edge;
using graph::Vertex;

std::uint64_t checked_page(std::uint64_t page_bytes) {
  if (page_bytes == 0) {
    throw FailedError("cannot model pages of 0 bytes");
  }
  return page_bytes;
}

// Pages that `bytes` bytes from address `at` lie on.
std::uint64_t pages_under(std::uint64_t at, std::uint64_t bytes, std::uint64_t page_bytes) {
  return (at % page_bytes + bytes + page_bytes - 1) / page_bytes;
}

std::uint64_t edge_pages_of(std::uint64_t entries, const Layout& layout, std::uint64_t page_bytes) {
  return pages_under(layout.edges_at, entries * static_cast<unsigned>(layout.edge_bytes), page_bytes);
}

}  // namespace

std::uint64_t pages_of(std::uint64_t entries, const Layout& layout, std::uint64_t page_bytes) {
  return edge_pages_of(entries, layout, page_bytes) +
         (layout.weights ? pages_under(layout.weights_at, entries * 4, page_bytes) : 0);
}

PageWalk::PageWalk(const Csr& graph, const Layout& layout, std::uint64_t page_bytes, std::uint64_t capacity)
    : graph_(graph),
      layout_(layout),
      page_bytes_(checked_page(page_bytes)),
      first_weight_page_(edge_pages_of(graph.edges(), layout, page_bytes)),
      pages_(pages_of(graph.edges(), layout, page_bytes)),
      lru_(pages_, capacity) {}

PageWalk::Range PageWalk::edge_pages(Edge begin, Edge end) const {
  const std::uint64_t at = layout_.edges_at % page_bytes_;
  const auto bytes = static_cast<unsigned>(layout_.edge_bytes);
  return {static_cast<std::uint32_t>((at + begin * bytes) / page_bytes_),
          static_cast<std::uint32_t>((at + end * bytes - 1) / page_bytes_)};
}

PageWalk::Range PageWalk::weight_pages(Edge begin, Edge end) const {
  const std::uint64_t at = layout_.weights_at % page_bytes_;
  return {static_cast<std::uint32_t>(first_weight_page_ + (at + begin * 4) / page_bytes_),
          static_cast<std::uint32_t>(first_weight_page_ + (at + end * 4 - 1) / page_bytes_)};
}

void PageWalk::touch(const Range& range) {
  for (std::uint32_t page = range.first; page <= range.last; ++page) {
    lru_.touch(page);
  }
}

void PageWalk::level(std::span<const Vertex> active) {
  // A list on the same single page (and page of weights) as the list before leaves the order as it is, where
  // all that one list needs stays.
  const bool both_stay = !layout_.weights || lru_.capacity() > 1;
  Range edges_before{1, 0};
  Range weights_before{1, 0};
  for (const Vertex v : active) {
    const Edge begin = graph_.offsets[v];
    const Edge end = graph_.offsets[v + std::uint64_t{1}];
    if (begin == end) {
      continue;
    }
    const Range edges = edge_pages(begin, end);
    const Range weights = layout_.weights ? weight_pages(begin, end) : weights_before;
    if (both_stay && edges == edges_before && weights == weights_before && edges.first == edges.last &&
        weights.first >= weights.last) {
      continue;
    }
    touch(edges);
    touch(weights);
    edges_before = edges;
    weights_before = weights;
  }
}

Pager::Pager(const Csr& graph, const Layout& layout, const PagingOptions& options)
    : options_(options),
      walk_(graph, layout, options.page_bytes, options.card_bytes / checked_page(options.page_bytes)) {}

FaultCost fault_cost(const Link& link) {
  // 64 KiB at 9 GB/s over a link of 12.3, and at 1.53 times that over one of 24, leave the same 2.0 us.
  if (link.name == "pcie3x16" || link.name == "pcie4x16") {
    return {2.0e-6,
            "EMOGI: 9 GB/s of 12.3 (V100), and 1.53 times that over PCIe 4 (A100): 2.0 us for 64 KiB"};
  }
  // 256 MiB on demand at 10.8 GB/s over a link of 55.2.
  return {4.8e-6, "demand migration measured on an H100: 10.8 GB/s of 55.2: 4.8 us for 64 KiB"};
}

double paging_seconds(const PagingOptions& options, std::uint64_t pages) {
  const auto faults = static_cast<double>(pages);
  const double moving_s = faults * static_cast<double>(options.page_bytes) / (options.link_gb_s * 1e9);
  return moving_s + faults * options.fault_s / options.faults_at_once;
}

Paging Pager::result() const {
  const Lru& lru = walk_.lru();
  return {lru.misses(), lru.evictions(), lru.misses() * options_.page_bytes,
          lru.different() * options_.page_bytes, paging_seconds(options_, lru.misses())};
}

TranslationWalk::TranslationWalk(const Csr& graph, const Layout& layout, std::uint64_t reach_bytes,
                                 std::uint64_t granule_bytes)
    : walk_(graph, layout, granule_bytes,
            std::max<std::uint64_t>(1, reach_bytes / checked_page(granule_bytes))),
      within_reach_(walk_.pages() * granule_bytes <= reach_bytes) {}

void TranslationWalk::level(std::span<const Vertex> active) {
  if (!within_reach_) {
    walk_.level(active);
  }
}

}  // namespace grainscope::model
