#ifndef GRAINSCOPE_BENCHMARKS_GATHER_POINT_SET_HPP
#define GRAINSCOPE_BENCHMARKS_GATHER_POINT_SET_HPP

// Collects the gathers of a preset by what they are to show, each once.

#include <algorithm>
#include <utility>

#include "gather_points.hpp"
#include "grainscope/core/units.hpp"
#include "reach_points.hpp"

namespace grainscope::harness {

class GatherPointSet {
 public:
  using Indices = gnn::Indices;
  using Mode = gnn::Mode;
  using Store = gnn::Store;

  explicit GatherPointSet(const Scope& scope) : scope_(scope) {}

  // A mode as it is usually: a load as wide as the mode takes, as many rows as make 256 MiB, at most 1 Mi.
  GatherPoint usual(Mode mode, std::uint32_t row, std::uint64_t span) const {
    GatherPoint point;
    point.mode = mode;
    point.row_bytes = row;
    point.rows = rows_asked(row);
    point.span_bytes = span;
    const bool wide = gnn::sorts(mode) || mode == Mode::vector;
    point.width = wide ? gnn::widest_load(mode, row) : point.element;
    return point;
  }

  void add(const GatherPoint& point) {
    const bool known = std::find(points_.begin(), points_.end(), point) != points_.end();
    if (!known && scope_.in_range(point.span_bytes)) {
      points_.push_back(point);
    }
  }
  void add(Mode mode, std::uint32_t row, std::uint64_t span) { add(usual(mode, row, span)); }

  // The same with the widest loads.
  void add_wide(Mode mode, std::uint32_t row, std::uint64_t span) {
    GatherPoint point = usual(mode, row, span);
    point.width = gnn::widest_load(point.mode, row);
    add(point);
  }

  void add_window(std::uint32_t row, std::uint64_t span, int window) {
    GatherPoint point = usual(Mode::address_ordered, row, span);
    point.window = window;
    add(point);
  }

  // Which mode asks for fewest lines: figure 3.10 and the rows of real data sets.
  void add_alignment(const std::vector<std::uint32_t>& rows, std::uint64_t span) {
    for (const std::uint32_t row : rows) {
      add(Mode::naive, row, span);
      add(Mode::circular_shift, row, span);
      add(Mode::masked, row, span);
      add_wide(Mode::masked, row, span);
      if (gnn::widest_load(row) > GatherPoint{}.element) {  // else it is naive
        add(Mode::vector, row, span);
      }
    }
  }

  // Behind the translation wall: as asked, and in the order of addresses; --max-bytes reaches farther.
  void add_wall(std::uint32_t row, const std::vector<std::uint64_t>& spans, const std::vector<int>& windows) {
    for (const std::uint64_t span : cut_spans(spans, scope_)) {
      add_wide(Mode::masked, row, span);
      add(Mode::graphbolt, row, span);
      for (const int window : windows) {
        add_window(row, span, window);
      }
    }
  }

  // What copies do.
  void add_copies(const std::vector<std::uint32_t>& rows, std::uint64_t span) {
    for (const std::uint32_t row : rows) {
      for (const Store store : {Store::pinned, Store::pageable}) {
        GatherPoint staged = usual(Mode::cpu_gather_dma, row, span);
        staged.store = store;
        staged.rows = std::min(staged.rows, 64 * kMiB / row);
        add(staged);
      }
    }
  }
  // A copy a row against kernels for the same rows: where does the copy engine pay?
  void add_row_dma(const std::vector<std::uint32_t>& rows, std::uint64_t span) {
    for (const std::uint32_t row : rows) {
      for (const Mode mode : {Mode::row_dma, Mode::masked}) {
        GatherPoint point = usual(mode, row, span);
        point.store = mode == Mode::row_dma ? Store::pinned : Store::mapped;
        point.width = gnn::widest_load(point.mode, row);
        point.rows = kFewCopies;
        add(point);
      }
    }
  }

  void add_store(Store store, Mode mode, std::uint32_t row, std::uint64_t span, Indices indices, int hot = 0,
                 int gpus = 1, int replicated = 0) {
    GatherPoint point = usual(mode, row, span);
    point.store = store;
    point.indices = indices;
    point.width = gnn::widest_load(point.mode, row);
    point.hot = hot;
    point.gpus = gpus;
    point.replicated = replicated;
    if (store == Store::managed) {
      point.rows = std::min(point.rows, 16 * kKi);
    }
    add(point);
  }

  void add_batches(std::uint32_t row, std::uint64_t span) {
    for (std::uint64_t rows = kKi; rows <= kKi * kKi; rows *= 4) {
      for (const Mode mode : {Mode::masked, Mode::address_ordered, Mode::graphbolt}) {
        GatherPoint point = usual(mode, row, span);
        point.width = gnn::widest_load(point.mode, row);
        point.rows = std::min(rows, rows_asked(row));
        add(point);
      }
    }
  }

  void add_half_floats(std::uint32_t row, std::uint64_t span) {
    const auto add_with = [&](Mode mode, std::uint32_t width) {
      GatherPoint point = usual(mode, row, span);
      point.element = 2;
      point.width = width;
      add(point);
    };
    for (const Mode mode : {Mode::naive, Mode::circular_shift, Mode::masked}) {
      add_with(mode, 2);
    }
    if (gnn::widest_load(row) > 2) {  // else it is naive
      add_with(Mode::vector, gnn::widest_load(row));
    }
    for (const Mode mode : {Mode::masked, Mode::address_ordered}) {
      add_with(mode, gnn::widest_load(mode, row));
    }
  }

  std::vector<GatherPoint> take() {
    std::stable_sort(points_.begin(), points_.end(),
                     [](const GatherPoint& a, const GatherPoint& b) { return a.span_bytes < b.span_bytes; });
    return std::move(points_);
  }

 private:
  static constexpr std::uint64_t kKi = 1 << 10;
  static constexpr std::uint64_t kFewCopies = 512;  // rows of a copy each: behind a gate

  const Scope& scope_;
  std::vector<GatherPoint> points_;
};

}  // namespace grainscope::harness

#endif
