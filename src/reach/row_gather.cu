// The gather: warps take a list of rows, 16 bytes a lane, and read each row where it lies.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/reach/row_gather.hpp"
#include "row_lists.hpp"

namespace grainscope::reach {
namespace {

using Element = uint4;  // what a lane loads at once

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kInFlight = 4;  // loads of a lane before the first result is used
constexpr std::uint64_t kTile = std::uint64_t{kWarp} * kInFlight;

// Where a span lies, and how it is cut into rows and elements. All sizes are powers of two.
struct Layout {
  const std::byte* chunks[kMostChunks];
  int chunk_shift;    // log2 of a chunk's bytes
  int row_shift;      // log2 of a row's bytes
  int element_shift;  // log2 of a row's elements

  // Where element `i` of the rows of a list, taken one after another, lies; `row` is that which holds it.
  __device__ const Element* find(std::uint64_t row, std::uint64_t i) const {
    const std::uint64_t in_row = i & ((std::uint64_t{1} << element_shift) - 1);
    const std::uint64_t place = (row << row_shift) + in_row * sizeof(Element);
    const std::uint64_t in_chunk = place & ((std::uint64_t{1} << chunk_shift) - 1);
    return reinterpret_cast<const Element*>(chunks[place >> chunk_shift] + in_chunk);
  }
};

// A warp takes 128 elements in a row, 2 KiB, and loads all of them before it adds any up: rows that are
// neighbours in the list are asked for together, by however many lanes a row has.
__global__ void gather_rows(const __grid_constant__ Layout layout, const std::uint64_t* list,
                            std::uint64_t elements, unsigned long long* total) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / kWarp;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  std::uint64_t sum = 0;
  for (std::uint64_t tile = warp; tile * kTile < elements; tile += warps) {
    const std::uint64_t first = tile * kTile + threadIdx.x % kWarp;
    std::uint64_t rows[kInFlight];
    Element values[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::uint64_t i = first + k * kWarp;
      rows[k] = i < elements ? list[i >> layout.element_shift] : 0;
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::uint64_t i = first + k * kWarp;
      values[k] = i < elements ? *layout.find(rows[k], i) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      sum += std::uint64_t{values[k].x} + values[k].y + values[k].z + values[k].w;
    }
  }
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    sum += __shfl_down_sync(~0U, sum, lanes);
  }
  if (threadIdx.x % kWarp == 0) {
    atomicAdd(total, sum);
  }
}

Layout layout_of(const SpanMemory& memory, const GatherRequest& request) {
  Layout layout{};
  const std::vector<void*> chunks = memory.device_chunks();
  std::transform(chunks.begin(), chunks.end(), layout.chunks,
                 [](void* chunk) { return static_cast<const std::byte*>(chunk); });
  layout.chunk_shift = std::countr_zero(memory.request().chunk_bytes);
  layout.row_shift = std::countr_zero(request.row_bytes);
  layout.element_shift = std::countr_zero(request.row_bytes / sizeof(Element));
  return layout;
}

// As many blocks as the GPU holds at once. Loads the kernel, which must be there before a gate closes.
unsigned full_grid(int gpu) {
  cudaFuncAttributes attributes{};
  cuda::check(cudaFuncGetAttributes(&attributes, gather_rows), "load the kernel that gathers rows");
  int blocks = 0;
  cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gather_rows, kThreads, 0),
              "ask how many blocks a multiprocessor holds");
  return static_cast<unsigned>(std::max(1, blocks * cuda::sm_count(gpu)));
}

class CudaRowGather final : public RowGather {
 public:
  CudaRowGather(const SpanMemory& memory, const GatherRequest& request)
      : request_(request),
        gpu_(memory.request().gpu),
        guard_(gpu_),
        lists_(draw_row_lists(request, kSpanSeed, gpu_, stream_)),
        layout_(layout_of(memory, request)),
        blocks_(full_grid(gpu_)),
        rig_(gpu_, lists_.size(), 0, cuda::GatherRig::Word::sum) {}

  void prepare() override { rig_.make_cold(stream_); }

  double run() override {
    const RowList& list = lists_[rig_.next_list()];
    return stopwatch_.time_s(stream_, [&] { gather(list); });
  }

  void run_counted() override {
    prepare();
    gather(lists_.front());
    stream_.synchronize();
  }

  std::string verify() override {
    if (rig_.found(stream_, "no rows were read") != expected_) {
      throw FailedError("wrong result: the words read do not add up to those of the rows asked for");
    }
    return "the sum of every word of every row that every sample read";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true, "one kernel between two events"};
  }

  [[nodiscard]] std::uint64_t unique_rows() const override {
    return std::min_element(lists_.begin(), lists_.end(),
                            [](const RowList& a, const RowList& b) { return a.unique < b.unique; })
        ->unique;
  }

  [[nodiscard]] std::vector<std::uint64_t> rows_of(int list) const override {
    std::vector<std::uint64_t> rows(request_.rows);
    cuda::check(cudaMemcpy(rows.data(), lists_.at(static_cast<std::size_t>(list)).rows.data(),
                           rows.size() * sizeof(std::uint64_t), cudaMemcpyDeviceToHost),
                "read a list of rows");
    return rows;
  }

  [[nodiscard]] std::uint64_t sum_of(int list) const override {
    return lists_.at(static_cast<std::size_t>(list)).sum;
  }

 private:
  void gather(const RowList& list) {
    expected_ += list.sum;
    gather_rows<<<blocks_, kThreads, 0, stream_.get()>>>(
        layout_, static_cast<const std::uint64_t*>(list.rows.data()),
        request_.asked_bytes() / sizeof(Element), rig_.word());
    cuda::check_launch("gather_rows");
  }

  GatherRequest request_;
  int gpu_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::GatedStopwatch stopwatch_;
  std::vector<RowList> lists_;
  Layout layout_;
  unsigned blocks_;
  cuda::GatherRig rig_;
  std::uint64_t expected_ = 0;
};

}  // namespace

std::unique_ptr<RowGather> make_row_gather(const SpanMemory& memory, const GatherRequest& request) {
  require_possible(request);
  if (request.span_bytes > memory.bytes() || request.row_bytes > memory.request().chunk_bytes) {
    throw UsageError("a gather over " + format_bytes(request.span_bytes) + " in rows of " +
                     format_bytes(request.row_bytes) + " does not fit into " + format_bytes(memory.bytes()) +
                     " in chunks of " + format_bytes(memory.request().chunk_bytes));
  }
  return std::make_unique<CudaRowGather>(memory, request);
}

}  // namespace grainscope::reach
