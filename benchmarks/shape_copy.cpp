// shape/copy: what does a copy cost that is not contiguous, and which way to make it is the fastest?
//
// A box of rows and planes is copied from one allocation to the same place in another of the same shape: by
// the runtime's strided copies, by one kernel from box to box, packed into one contiguous copy, or row by
// row. Timed: everything that brings the box over, between two events behind a closed gate; ungated from an
// idle stream where that is more than 512 operations (a copy a row of many rows, or a call a plane of very
// many planes); on the host's clock where host threads pack or unpack. Not timed: allocation, filling,
// checking. The GPU at the source carries a copy out; on the path peer_to_gpu the one at the destination
// fetches, by a kernel. `submission`: the call that submits a copy of a small cube, behind a closed gate.
// Bytes: those of the box, counted once. Source: Comm|Scope's `Comm_3d_*` benchmarks (c3sr/comm_scope,
// src/3d). Limits: both ends have the same layout; small boxes within one card fit in its cache, and are
// measured so; the host's caches are left as the sample before left them.

#include <algorithm>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/box.hpp"
#include "shape_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Box;
using transfer::BoxCopy;
using transfer::BoxMethod;

const char* const kFamily = "shape/copy";

constexpr std::uint64_t kBoxBytes = 4 * kMiB;
constexpr std::uint64_t kSmallestPitch = 512;
// An allocation beyond this takes longer to make than a preset has time.
constexpr std::uint64_t kLargestAllocation = kGiB;

// Rows in one plane, half of each row of the allocation or less.
Box rows_of(std::uint64_t width, std::uint64_t bytes) {
  const std::uint64_t rows = bytes / width;
  return {width, rows, 1, std::max(kSmallestPitch, 2 * width), rows};
}

// The faces that a stencil of radius 2 in double precision exchanges, of a volume of 512 x 512 x 512 bytes
// with its halo: 16 bytes, 2 rows and 2 planes deep.
constexpr std::uint64_t kEdge = 512;
constexpr std::uint64_t kRadius = 2;
constexpr std::uint64_t kDepthBytes = kRadius * sizeof(double);
constexpr std::uint64_t kInnerBytes = kEdge - 2 * kDepthBytes;
constexpr std::uint64_t kInner = kEdge - 2 * kRadius;

std::vector<Box> faces() {
  return {{kDepthBytes, kInner, kInner, kEdge, kEdge},
          {kInnerBytes, kRadius, kInner, kEdge, kEdge},
          {kInnerBytes, kInner, kRadius, kEdge, kEdge}};
}

// Comm|Scope's faces: radius 3 in single precision, of 768 x 768 x 768.
std::vector<Box> comm_scope_faces() {
  constexpr std::uint64_t edge = 768;
  constexpr std::uint64_t pitch = edge * sizeof(float);
  return {{3 * sizeof(float), edge, edge, pitch, edge},
          {pitch, 3, edge, pitch, edge},
          {pitch, edge, 3, pitch, edge}};
}

std::vector<std::uint64_t> widths(const Scope& scope, std::uint64_t bytes) {
  if (scope.preset == Preset::smoke) {
    return {512};
  }
  if (scope.preset == Preset::acceptance) {
    return {128, 4 * kKiB};
  }
  if (scope.preset == Preset::full && bytes > kBoxBytes) {
    return {512, 64 * kKiB};  // narrower rows lie in a GiB, which takes longer to make than to copy
  }
  if (scope.preset == Preset::full && bytes == kBoxBytes) {
    return {8, 32, 128, 512, 4 * kKiB, 16 * kKiB, 64 * kKiB};
  }
  if (!scope.dense() || bytes != kBoxBytes) {
    return {32, 128, 512, 4 * kKiB, 64 * kKiB};
  }
  std::vector<std::uint64_t> all;
  for (std::uint64_t width = 8; width <= 64 * kKiB; width *= 2) {
    all.push_back(width);
  }
  return all;
}

// Total bytes of the boxes that differ in their width alone.
std::vector<std::uint64_t> totals(const Scope& scope) {
  std::vector<std::uint64_t> all = scope.one_size(kBoxBytes);
  if (scope.dense()) {
    for (const std::uint64_t more : {256 * kKiB, 64 * kMiB}) {
      const auto one = scope.one_size(more);
      all.insert(all.end(), one.begin(), one.end());
    }
  }
  return all;
}

std::vector<Box> boxes(const Scope& scope) {
  std::vector<Box> all;
  for (const std::uint64_t bytes : totals(scope)) {
    for (const std::uint64_t width : widths(scope, bytes)) {
      if (const Box box = rows_of(width, bytes); box.span_bytes() <= kLargestAllocation) {
        all.push_back(box);
      }
    }
  }
  std::vector<Box> sides;
  if (scope.preset == Preset::paper) {
    sides = comm_scope_faces();
  }
  if (scope.dense() || scope.preset == Preset::quick) {
    const auto ours = faces();
    sides.insert(sides.end(), ours.begin(), ours.end());
  }
  std::copy_if(sides.begin(), sides.end(), std::back_inserter(all),
               [&](const Box& box) { return scope.keeps(box.bytes()); });
  return all;
}

// In a quick look each box is asked what it differs in: planes are for the copy that knows planes.
std::vector<BoxMethod> methods(const Scope& scope, const Box& box) {
  std::vector<BoxMethod> all{BoxMethod::copy_2d,        BoxMethod::copy_3d, BoxMethod::kernel_strided,
                             BoxMethod::kernel_chunked, BoxMethod::pack,    BoxMethod::row_copies};
  if (scope.preset == Preset::quick || scope.preset == Preset::acceptance) {
    if (box.planes == 1) {
      std::erase(all, BoxMethod::copy_3d);
    } else {
      all = {BoxMethod::copy_3d, BoxMethod::kernel_strided, BoxMethod::pack};
    }
  }
  if (box.all_rows() > transfer::kMostRowCopies) {
    std::erase(all, BoxMethod::row_copies);
  }
  return all;
}

std::string timed_by(const BoxCopy& copy, bool has_host) {
  switch (copy.method) {
    case BoxMethod::copy_2d:
      return "one cudaMemcpy2DAsync a plane, between two events behind a closed gate (from an idle stream "
             "where there are more than 512 planes)";
    case BoxMethod::copy_3d:
      return "one cudaMemcpy3DAsync (cudaMemcpy3DPeerAsync between GPUs), between two events behind a closed "
             "gate (from an idle stream where there are more than 512 planes)";
    case BoxMethod::kernel_strided:
      return "one kernel whose threads stride over all elements of the box, between two events behind a "
             "closed gate";
    case BoxMethod::kernel_chunked:
      return "one kernel each of whose blocks copies consecutive rows, between two events behind a closed "
             "gate";
    case BoxMethod::pack:
      return has_host
                 ? "host threads pack or unpack, one contiguous copy, and a kernel unpacks or packs on the "
                   "GPU: on the host's clock, from the waking of the threads until the last is done"
                 : "a kernel that packs, one contiguous copy and a kernel that unpacks, between two events "
                   "behind a closed gate";
    case BoxMethod::row_copies:
      return "one cudaMemcpyAsync a row, between two events behind a closed gate; from an idle stream where "
             "there are more than 512 rows, and then submission is part of it";
  }
  return {};
}

Explanation explain(const BoxCopy& copy, const ShapePath& path) {
  return {"the bandwidth of copying a box that is not contiguous at either end",
          timed_by(copy, path.route.has_host()),
          "bandwidth = width * rows * planes / median time (of a submission: the time alone)",
          "Comm|Scope (c3sr/comm_scope): Comm_3d_*",
          path.name == "local" ? "a box that the card's cache holds is copied from and to the cache"
                               : "both ends have the same layout; the host's caches are not flushed"};
}

Benchmark make_benchmark(const Machine& machine, const ShapePath& path, const Box& box, BoxMethod method,
                         bool submission_only = false) {
  const BoxCopy copy{path.route, box, method, submission_only};
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  Benchmark benchmark;
  benchmark.id = shape_case(kFamily, path, name(method),
                            {{"width", number(box.width_bytes)},
                             {"rows", number(box.rows)},
                             {"planes", number(box.planes)},
                             {"pitch", number(box.pitch_bytes)},
                             {"bytes", number(box.bytes())}});
  benchmark.skip = path.why_not;
  if (is_kernel(method) && path.route.has_host()) {
    benchmark.skip_for(why_no_mapping(machine, path.gpu.ordinal));
  }
  benchmark.needs = shape_needs(path, end_bytes(copy));
  benchmark.explanation = explain(copy, path);
  transfer::Transfer moved = path.as_transfer(box.bytes());
  moved.submission_only = submission_only;
  benchmark.run = [copy, moved](Session& session) {
    return measure_mover(
        session, [&] { return transfer::make_box_mover(copy, session.surroundings()); }, moved);
  };
  return benchmark;
}

constexpr Box kSmallCube{8, 8, 8, 64, 8};

Benchmark make_submission(const Machine& machine, const ShapePath& path) {
  Benchmark benchmark = make_benchmark(machine, path, kSmallCube, BoxMethod::copy_3d, true);
  auto& axes = benchmark.id.axes;
  axes.insert(axes.begin(), {"timed", "submission", AxisStyle::bare});
  benchmark.explanation.measures = "what submitting a copy of a small cube costs the CPU";
  benchmark.explanation.timed = "the call alone, on the host's clock, behind a closed gate";
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope) {
  const std::vector<Box> all = boxes(scope);
  std::vector<Benchmark> benchmarks;
  for (const ShapePath& path : shape_paths(machine, scope)) {
    for (const Box& box : all) {
      for (const BoxMethod method : methods(scope, box)) {
        benchmarks.push_back(make_benchmark(machine, path, box, method));
        if (path.has_peer() && is_kernel(method)) {
          benchmarks.push_back(make_benchmark(machine, fetched(path), box, method));
        }
      }
    }
    if (scope.keeps(kSmallCube.bytes())) {
      benchmarks.push_back(make_submission(machine, path));
    }
  }
  return benchmarks;
}

}  // namespace

Family shape_copy() {
  return {kFamily,
          "What does a copy of a box that is not contiguous cost, by each way to make it?",
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return list(machine, scope);
          }};
}

}  // namespace grainscope::harness
