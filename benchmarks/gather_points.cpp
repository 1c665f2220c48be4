#include "gather_points.hpp"

#include <algorithm>

#include "grainscope/core/units.hpp"
#include "reach_points.hpp"

namespace grainscope::harness {
namespace {

using gnn::Indices;
using gnn::Mode;
using gnn::Store;

constexpr std::uint64_t kKi = 1 << 10;
constexpr std::uint64_t kFewCopies = 512;  // rows of a copy each: behind a gate

class Points {
 public:
  explicit Points(const Scope& scope) : scope_(scope) {}

  // A mode as it is usually: a load as wide as the mode takes, as many rows as make 256 MiB, at most 1 Mi.
  GatherPoint usual(Mode mode, std::uint32_t row, std::uint64_t span) const {
    GatherPoint point;
    point.mode = mode;
    point.row_bytes = row;
    point.rows = rows_asked(row);
    point.span_bytes = span;
    const bool wide = gnn::sorts(mode) || mode == Mode::vector;
    point.width = wide ? gnn::widest_load(row) : point.element;
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
    point.width = gnn::widest_load(row);
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

  // Behind the translation wall: as asked, and in the order of addresses.
  void add_wall(std::uint32_t row, const std::vector<std::uint64_t>& spans, const std::vector<int>& windows) {
    for (const std::uint64_t span : spans) {
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
        point.width = gnn::widest_load(row);
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
    point.width = gnn::widest_load(row);
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
        point.width = gnn::widest_load(row);
        point.rows = std::min(rows, rows_asked(row));
        add(point);
      }
    }
  }

  void add_half_floats(std::uint32_t row, std::uint64_t span) {
    for (const Mode mode : {Mode::naive, Mode::circular_shift, Mode::masked}) {
      GatherPoint point = usual(mode, row, span);
      point.element = 2;
      point.width = 2;
      add(point);
    }
  }

  std::vector<GatherPoint> take() {
    std::stable_sort(points_.begin(), points_.end(),
                     [](const GatherPoint& a, const GatherPoint& b) { return a.span_bytes < b.span_bytes; });
    return std::move(points_);
  }

 private:
  const Scope& scope_;
  std::vector<GatherPoint> points_;
};

void add_quick(Points& points, int most_gpus) {
  points.add_alignment({1024, 1028, 1040}, kGiB);
  points.add(Mode::naive, 2312, kGiB);
  points.add(Mode::masked, 2312, kGiB);
  points.add_wide(Mode::masked, 512, kGiB);
  points.add_wall(128, {4 * kGiB, 8 * kGiB}, {1});
  points.add_wall(512, {8 * kGiB}, {1});
  points.add_window(128, 8 * kGiB, 4);
  points.add_copies({1028}, kGiB);
  points.add_row_dma({4096, 131072}, kGiB);
  points.add_store(Store::device, Mode::masked, 512, kGiB, Indices::uniform);
  points.add_store(Store::managed, Mode::masked, 512, 256 * kMiB, Indices::uniform);
  points.add_store(Store::mapped, Mode::masked, 512, 4 * kGiB, Indices::zipf);
  points.add_store(Store::tiered, Mode::masked, 512, 4 * kGiB, Indices::zipf, 10);
  points.add_store(Store::multi_gpu, Mode::masked, 512, 4 * kGiB, Indices::uniform, 10, most_gpus);
}

void add_full(Points& points, int most_gpus) {
  points.add_alignment({1024, 1028, 1032, 1036, 1040, 1044, 188, 400, 1260, 2312, 1536, 3072}, kGiB);
  for (const std::uint32_t row : {4U, 16U, 32U, 64U, 128U, 256U, 512U, 4096U, 16384U}) {
    points.add(Mode::naive, row, kGiB);
    points.add_wide(Mode::masked, row, kGiB);
    points.add(Mode::address_ordered, row, kGiB);
  }
  const std::vector<std::uint64_t> spans{64 * kMiB, 256 * kMiB, 2 * kGiB,  4 * kGiB,
                                         8 * kGiB,  16 * kGiB,  32 * kGiB, 64 * kGiB};
  points.add_wall(128, spans, {1});
  points.add_wall(512, spans, {1});
  for (const int window : {2, 4, 8, 16}) {
    points.add_window(128, 8 * kGiB, window);
    points.add_window(128, 32 * kGiB, window);
    points.add_window(512, 32 * kGiB, window);
  }
  points.add_batches(128, 4 * kGiB);
  points.add_batches(1028, 4 * kGiB);
  points.add_half_floats(1030, kGiB);
  points.add_half_floats(768, kGiB);
  points.add_copies({128, 512, 1028, 4096, 16384}, 4 * kGiB);
  points.add_row_dma({1024, 4096, 16384, 65536, 131072, 262144, 1048576}, 4 * kGiB);
  for (const std::uint32_t row : {128U, 512U, 1028U}) {
    points.add_store(Store::device, Mode::masked, row, 4 * kGiB, Indices::uniform);
    points.add_store(Store::device, Mode::address_ordered, row, 4 * kGiB, Indices::uniform);
    points.add_store(Store::managed, Mode::masked, row, 256 * kMiB, Indices::uniform);
    for (const Mode mode : {Mode::masked, Mode::address_ordered, Mode::graphbolt}) {
      points.add_store(Store::mapped, mode, row, 4 * kGiB, Indices::zipf);
    }
    for (const int hot : {1, 5, 10, 25, 50}) {
      points.add_store(Store::tiered, Mode::masked, row, 4 * kGiB, Indices::zipf, hot);
      points.add_store(Store::tiered, Mode::address_ordered, row, 4 * kGiB, Indices::zipf, hot);
      points.add_store(Store::multi_gpu, Mode::masked, row, 4 * kGiB, Indices::zipf, hot, most_gpus);
    }
    points.add_store(Store::multi_gpu, Mode::masked, row, 4 * kGiB, Indices::uniform, 100, most_gpus);
    points.add_store(Store::multi_gpu, Mode::masked, row, 4 * kGiB, Indices::zipf, 10, most_gpus, 1);
  }
}

void add_paper(Points& points, int most_gpus) {
  // Figure 3.10, and the data sets' rows.
  points.add_alignment({1024, 1028, 1032, 1036, 1040, 1044, 1260, 2312, 1536, 3072}, kGiB);
  points.add_copies({1024, 1028, 1032, 1036, 1040, 1044, 16384}, 4 * kGiB);
  points.add_row_dma({16384, 65536, 131072}, kGiB);
  points.add_wall(128, {256 * kMiB, kGiB, 4 * kGiB, 8 * kGiB, 32 * kGiB}, {1});
  points.add_wall(512, {256 * kMiB, kGiB, 4 * kGiB, 8 * kGiB, 32 * kGiB}, {1});
  points.add_window(128, 32 * kGiB, 16);
  points.add_store(Store::device, Mode::masked, 1260, 4 * kGiB, Indices::uniform);
  points.add_store(Store::tiered, Mode::masked, 1260, 4 * kGiB, Indices::zipf, 10);
  points.add_store(Store::tiered, Mode::masked, 1260, 4 * kGiB, Indices::zipf, 25);
  points.add_store(Store::multi_gpu, Mode::masked, 1260, 4 * kGiB, Indices::zipf, 10, most_gpus);
}

}  // namespace

std::vector<GatherPoint> gather_points(const Scope& scope, int most_gpus) {
  Points points(scope);
  switch (scope.preset) {
    case Preset::smoke:
      points.add(Mode::masked, 1028, 64 * kMiB);
      points.add(Mode::address_ordered, 128, 64 * kMiB);
      break;
    case Preset::quick:
      add_quick(points, most_gpus);
      break;
    case Preset::full:
      add_full(points, most_gpus);
      break;
    case Preset::paper:
      add_paper(points, most_gpus);
      break;
    case Preset::acceptance:
      points.add_wide(Mode::masked, 512, kGiB);
      points.add(Mode::masked, 1028, kGiB);
      points.add_wall(128, {4 * kGiB}, {1});
      break;
  }
  return points.take();
}

std::vector<GatherPoint> host_gather_points(const Scope& scope) {
  Points points(scope);
  std::vector<std::uint32_t> rows{1028};
  std::vector<std::uint64_t> spans{256 * kMiB};
  if (scope.preset == Preset::smoke) {
    spans = {64 * kMiB};
  } else if (scope.dense()) {
    rows = {32, 128, 512, 1024, 1028, 4096, 16384};
    spans = {256 * kMiB, kGiB, 4 * kGiB};
  } else if (scope.preset == Preset::quick) {
    rows = {128, 1028};
  }
  for (const std::uint64_t span : spans) {
    for (const std::uint32_t row : rows) {
      GatherPoint point = points.usual(Mode::cpu_gather, row, span);
      point.store = Store::pageable;
      point.rows = std::min(point.rows, 64 * kMiB / row);
      points.add(point);
    }
  }
  return points.take();
}

}  // namespace grainscope::harness
