#include "gather_points.hpp"

#include "gather_point_set.hpp"

namespace grainscope::harness {
namespace {

using gnn::Indices;
using gnn::Mode;
using gnn::Store;

void add_quick(GatherPointSet& points, int most_gpus) {
  points.add_alignment({1024, 1028, 1040}, kGiB);
  points.add(Mode::naive, 2312, kGiB);
  points.add(Mode::masked, 2312, kGiB);
  points.add_wide(Mode::masked, 512, kGiB);
  points.add(Mode::vector, 512, kGiB);
  points.add_wall(128, {8 * kGiB}, {1});
  points.add_wall(512, {8 * kGiB}, {1});
  points.add_window(128, 8 * kGiB, 4);
  points.add_copies({1028}, kGiB);
  points.add_row_dma({4096, 131072}, kGiB);
  points.add_store(Store::device, Mode::masked, 512, kGiB, Indices::uniform);
  points.add_store(Store::managed, Mode::masked, 512, 256 * kMiB, Indices::uniform);
  points.add_store(Store::mapped, Mode::masked, 512, kGiB, Indices::zipf);
  points.add_store(Store::tiered, Mode::masked, 512, kGiB, Indices::zipf, 10);
  points.add_store(Store::multi_gpu, Mode::masked, 512, 4 * kGiB, Indices::uniform, 10, most_gpus);
}

void add_full(GatherPointSet& points, int most_gpus) {
  points.add_alignment({1024, 1028, 1040, 188, 400, 1260, 2312, 3072}, kGiB);
  for (const std::uint32_t row : {4U, 16U, 32U, 64U, 128U, 256U, 512U, 4096U, 16384U}) {
    points.add(Mode::naive, row, kGiB);
    points.add_wide(Mode::masked, row, kGiB);
    points.add(Mode::address_ordered, row, kGiB);
  }
  const std::vector<std::uint64_t> spans{64 * kMiB, 256 * kMiB, 4 * kGiB, 8 * kGiB, 32 * kGiB};
  points.add_wall(128, spans, {1});
  points.add_wall(512, spans, {1});
  for (const int window : {2, 4, 8, 16}) {
    points.add_window(128, 32 * kGiB, window);
  }
  points.add_window(128, 8 * kGiB, 4);
  points.add_window(512, 32 * kGiB, 4);
  points.add_batches(128, 4 * kGiB);
  points.add_half_floats(1030, kGiB);
  points.add_half_floats(768, kGiB);
  points.add_copies({128, 1028, 4096, 16384}, 4 * kGiB);
  points.add_row_dma({4096, 65536, 131072, 1048576}, 4 * kGiB);
  for (const std::uint32_t row : {128U, 1028U}) {
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

void add_paper(GatherPointSet& points, int most_gpus) {
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
  GatherPointSet points(scope);
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
  GatherPointSet points(scope);
  std::vector<std::uint32_t> rows{1028};
  std::vector<std::uint64_t> spans{256 * kMiB};
  if (scope.preset == Preset::smoke) {
    spans = {64 * kMiB};
  } else if (scope.preset == Preset::full) {
    rows = {32, 128, 512, 1024, 1028, 4096, 16384};
    spans = {kGiB};
  } else if (scope.preset == Preset::paper) {
    rows = {32, 128, 512, 1024, 1028, 4096, 16384};
    spans = {256 * kMiB, kGiB, 4 * kGiB};
  } else if (scope.preset == Preset::quick) {
    rows = {128, 1028};
  }
  const auto add = [&](std::uint32_t row, std::uint64_t span) {
    GatherPoint point = points.usual(Mode::cpu_gather, row, span);
    point.store = Store::pageable;
    point.rows = std::min(point.rows, 64 * kMiB / row);
    points.add(point);
  };
  for (const std::uint64_t span : spans) {
    for (const std::uint32_t row : rows) {
      add(row, span);
    }
  }
  if (scope.preset == Preset::full) {  // what the span changes
    add(1028, 256 * kMiB);
    add(1028, 4 * kGiB);
  }
  return points.take();
}

}  // namespace grainscope::harness
