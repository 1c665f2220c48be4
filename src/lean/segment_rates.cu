// How fast whole segments come over a link, copied and read.

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "grainscope/core/statistics.hpp"
#include "grainscope/cuda/memory.hpp"
#include "hybrid.cuh"

namespace grainscope::lean {
namespace {

// All lines, eight of them under way in each warp, as pieces of lists are read.
__global__ void __launch_bounds__(kLeanThreads)
    read_words(const std::uint32_t* words, std::uint64_t count, std::uint32_t* sum) {
  std::uint32_t mine = 0;
  const std::uint64_t pieces = pieces_of(0, count);
  for (std::uint64_t piece = warp_of_grid(); piece < pieces; piece += warps_of_grid()) {
    const Step step = piece_of(0, count, piece);
    const PieceWords read = load_piece<false>(words, nullptr, step.from, step, nullptr);
#pragma unroll
    for (const std::uint32_t word : read.words) {
      mine += word;
    }
  }
  mine = cuda::sum_of_warp(mine);
  if (cuda::lane_of_warp() == 0) {
    atomicAdd(sum, mine);
  }
}

constexpr int kRounds = 5;

// Of `submit`, by events.
template <class Submit>
double seconds_of(const cuda::Stream& stream, const Submit& submit) {
  const cuda::Event start;
  const cuda::Event stop;
  start.record(stream);
  submit();
  stop.record(stream);
  stop.synchronize();
  return cuda::elapsed_s(start, stop);
}

}  // namespace

SegmentRates measure_segment_rates(const LeanLists& lists) {
  const PlacedSegments& placed = pulled_segments(lists);
  const std::uint64_t words = std::min(placed.words, kSegmentsAtOnce * kSegmentWords);
  if (words == 0) {
    return {1, 1};  // nothing is ever asked of them
  }
  const cuda::DeviceGuard guard(lists.gpu());
  const cuda::Stream stream;
  const cuda::DeviceArray<std::uint32_t> memory(lists.gpu(), words);
  const cuda::DeviceArray<std::uint32_t> sum(lists.gpu(), 1);
  const auto grid = static_cast<unsigned>(cuda::sm_count(lists.gpu())) * kBlocksPerSm;
  std::vector<double> copied_s;
  std::vector<double> read_s;
  for (int round = 0; round <= kRounds; ++round) {
    const double copy = seconds_of(stream, [&] {
      cuda::check(cudaMemcpyAsync(memory.data(), placed.host, words * sizeof(std::uint32_t),
                                  cudaMemcpyHostToDevice, stream.get()),
                  "copy segments");
    });
    const double read = seconds_of(stream, [&] {
      read_words<<<grid, kLeanThreads, 0, stream.get()>>>(placed.device, words, sum.data());
      cuda::check_launch("read_words");
    });
    if (round > 0) {  // the first loads the kernel
      copied_s.push_back(copy);
      read_s.push_back(read);
    }
  }
  const double bytes = static_cast<double>(words * sizeof(std::uint32_t));
  constexpr double kGiga = 1e9;
  return {bytes / summarize(copied_s).median / kGiga, bytes / summarize(read_s).median / kGiga};
}

}  // namespace grainscope::lean
