// The gather: warps take a list of rows, 16 bytes a lane, and read each row where it lies. Its lists are
// drawn, sorted, counted and added up before any sample; none of that is timed.

#include "grainscope/reach/row_gather.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::reach {
namespace {

// The lists of rows that a gather reads, in the memory of the GPU that reads them.
struct RowList {
  cuda::DeviceBuffer rows;   // u64[request.rows]
  std::uint64_t unique = 0;  // different ones among them
  std::uint64_t sum = 0;  // mod 2⁶⁴, of the pattern's words in them, computed without reading the memory
};

constexpr int kBlocks = 1024;
constexpr int kThreads = 256;

__global__ void draw_rows(std::uint64_t* rows, std::uint64_t count, std::uint64_t rows_in_span,
                          std::uint64_t seed) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    rows[i] = random_row(i, rows_in_span, seed);
  }
}

struct Totals {
  unsigned long long unique;
  unsigned long long sum;
};

// A value of a sorted list counts where it first appears.
__global__ void count_unique(const std::uint64_t* sorted, std::uint64_t count, Totals* totals) {
  unsigned long long found = 0;
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    found += i == 0 || sorted[i] != sorted[i - 1] ? 1 : 0;
  }
  atomicAdd(&totals->unique, found);
}

__global__ void add_up_rows(const std::uint64_t* rows, std::uint64_t count, std::uint64_t words_a_row,
                            std::uint32_t pattern_seed, Totals* totals) {
  unsigned long long sum = 0;
  for (std::uint64_t i = cuda::thread_of_grid(); i < count * words_a_row; i += cuda::threads_of_grid()) {
    sum += pattern_word(rows[i / words_a_row] * words_a_row + i % words_a_row, pattern_seed);
  }
  atomicAdd(&totals->sum, sum);
}

// Sorts u64[count] from `rows` into `sorted`.
class Sorter {
 public:
  Sorter(int gpu, const GatherRequest& request)
      : count_(request.rows),
        bits_(std::max(1, static_cast<int>(std::bit_width(request.rows_in_span() - 1)))),
        scratch_(gpu, scratch_bytes(request.rows, bits_)) {}

  void sort(const std::uint64_t* rows, std::uint64_t* sorted, const cuda::Stream& stream) const {
    std::size_t bytes = scratch_.bytes();
    cuda::check(
        cub::DeviceRadixSort::SortKeys(scratch_.data(), bytes, rows, sorted, count_, 0, bits_, stream.get()),
        "sort rows by address");
  }

 private:
  static std::uint64_t scratch_bytes(std::uint64_t count, int bits) {
    std::size_t bytes = 0;
    const std::uint64_t* const none = nullptr;
    cuda::check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, none, static_cast<std::uint64_t*>(nullptr),
                                               count, 0, bits),
                "size the scratch memory of a sort");
    return std::max<std::uint64_t>(bytes, 1);
  }

  std::uint64_t count_;
  int bits_;
  cuda::DeviceBuffer scratch_;
};

// Draws kLists lists on the current GPU, `gpu`, and waits. Throws SkipError where it has no room for them.
std::vector<RowList> draw_row_lists(const GatherRequest& request, std::uint32_t pattern_seed, int gpu,
                                    const cuda::Stream& stream) {
  const std::uint64_t bytes = request.rows * sizeof(std::uint64_t);
  const Sorter sorter(gpu, request);
  const cuda::DeviceBuffer totals_memory(gpu, sizeof(Totals));
  auto* totals = static_cast<Totals*>(totals_memory.data());
  cuda::DeviceBuffer sorted(gpu, bytes);
  std::vector<RowList> lists;
  for (int list = 0; list < kLists; ++list) {
    cuda::DeviceBuffer drawn(gpu, bytes);
    auto* rows = static_cast<std::uint64_t*>(drawn.data());
    auto* in_order = static_cast<std::uint64_t*>(sorted.data());
    cuda::check(cudaMemsetAsync(totals, 0, sizeof(Totals), stream.get()), "clear totals");
    draw_rows<<<kBlocks, kThreads, 0, stream.get()>>>(rows, request.rows, request.rows_in_span(),
                                                      list_seed(request, list));
    cuda::check_launch("draw_rows");
    sorter.sort(rows, in_order, stream);
    count_unique<<<kBlocks, kThreads, 0, stream.get()>>>(in_order, request.rows, totals);
    cuda::check_launch("count_unique");
    add_up_rows<<<kBlocks, kThreads, 0, stream.get()>>>(
        rows, request.rows, request.row_bytes / sizeof(std::uint32_t), pattern_seed, totals);
    cuda::check_launch("add_up_rows");
    Totals found{};
    cuda::check(cudaMemcpyAsync(&found, totals, sizeof(found), cudaMemcpyDeviceToHost, stream.get()),
                "read totals");
    stream.synchronize();
    if (request.sorted) {
      std::swap(drawn, sorted);
    }
    lists.push_back({std::move(drawn), found.unique, found.sum});
  }
  return lists;
}

// The gather: warps take a list of rows, 16 bytes a lane, and read each row where it lies.

using Element = uint4;  // what a lane loads at once

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
  cuda::load_kernel(gather_rows, "load the kernel that gathers rows");
  return cuda::full_grid(reinterpret_cast<const void*>(gather_rows), kThreads, gpu);
}

class CudaRowGather final : public RowGather {
 public:
  CudaRowGather(const SpanMemory& memory, const GatherRequest& request, int gpu)
      : request_(request),
        gpu_(gpu),
        guard_(gpu_),
        lists_(draw_row_lists(request, kSpanSeed, gpu_, stream_)),
        layout_(layout_of(memory, request)),
        blocks_(full_grid(gpu_)),
        rig_(gpu_, lists_.size(), 0, cuda::GatherRig::Word::sum) {}

  void prepare() override { rig_.make_cold(stream_); }

  double run() override {
    return stopwatch_.time_s(stream_, [&] { gather_next(); });
  }

  // The work of a sample, for whoever holds the gate.
  void gather_next() { gather(lists_[rig_.next_list()]); }
  [[nodiscard]] int gpu() const { return gpu_; }
  [[nodiscard]] const cuda::Stream& stream() const { return stream_; }

  void run_counted() override {
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

// Several GPUs that read one memory at the same time, each rows of its own. One gate lets all of them begin;
// a sample's time is that of the GPU that takes longest.
class SharedRowGather final : public RowGather {
 public:
  SharedRowGather(const SpanMemory& memory, const GatherRequest& request, const std::vector<int>& gpus) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      GatherRequest own = request;
      own.seed += i;
      Reader& reader = readers_.emplace_back();
      reader.gather = std::make_unique<CudaRowGather>(memory, own, gpus[i]);
      reader.start.emplace();
      reader.stop.emplace();
      cuda::Gate::load();
    }
  }
  ~SharedRowGather() override {
    // Each holds its GPU current for as long as it lives.
    while (!readers_.empty()) {
      readers_.pop_back();
    }
  }

  void prepare() override {
    for (const Reader& reader : readers_) {
      const cuda::DeviceGuard guard(reader.gather->gpu());
      reader.gather->prepare();
    }
    for (const Reader& reader : readers_) {
      const cuda::DeviceGuard guard(reader.gather->gpu());
      reader.gather->stream().synchronize();
    }
  }

  double run() override {
    std::vector<cuda::GatedWork> works;
    works.reserve(readers_.size());
    for (const Reader& reader : readers_) {
      works.push_back({&reader.gather->stream(), [&reader] { reader.gather->gather_next(); }, &*reader.start,
                       &*reader.stop, reader.gather->gpu()});
    }
    cuda::GatedRun(gate_, std::move(works)).open();
    double longest_s = 0;
    for (const Reader& reader : readers_) {
      const cuda::DeviceGuard guard(reader.gather->gpu());
      longest_s = std::max(longest_s, cuda::elapsed_s(*reader.start, *reader.stop));
    }
    return longest_s;
  }

  std::string verify() override {
    std::string checked;
    for (const Reader& reader : readers_) {
      const cuda::DeviceGuard guard(reader.gather->gpu());
      checked = reader.gather->verify();
    }
    return checked + ", on each GPU";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true, "one kernel on each GPU between two events, of all at once the longest"};
  }

  [[nodiscard]] std::uint64_t unique_rows() const override {
    std::uint64_t sum = 0;
    for (const Reader& reader : readers_) {
      sum += reader.gather->unique_rows();
    }
    return sum;
  }
  [[nodiscard]] std::vector<std::uint64_t> rows_of(int list) const override {
    return readers_.front().gather->rows_of(list);
  }
  [[nodiscard]] std::uint64_t sum_of(int list) const override {
    std::uint64_t sum = 0;
    for (const Reader& reader : readers_) {
      sum += reader.gather->sum_of(list);
    }
    return sum;
  }

 private:
  struct Reader {
    std::unique_ptr<CudaRowGather> gather;
    std::optional<cuda::Event> start;
    std::optional<cuda::Event> stop;
  };
  cuda::Gate gate_;
  std::vector<Reader> readers_;
};

}  // namespace

std::unique_ptr<RowGather> make_row_gather(const SpanMemory& memory, const GatherRequest& request,
                                           const std::vector<int>& others) {
  require_possible(request);
  if (request.span_bytes > memory.bytes() || request.row_bytes > memory.request().chunk_bytes) {
    throw UsageError("a gather over " + format_bytes(request.span_bytes) + " in rows of " +
                     format_bytes(request.row_bytes) + " does not fit into " + format_bytes(memory.bytes()) +
                     " in chunks of " + format_bytes(memory.request().chunk_bytes));
  }
  if (others.empty()) {
    return std::make_unique<CudaRowGather>(memory, request, memory.request().memory.gpu);
  }
  std::vector<int> gpus{memory.request().memory.gpu};
  gpus.insert(gpus.end(), others.begin(), others.end());
  return std::make_unique<SharedRowGather>(memory, request, gpus);
}

}  // namespace grainscope::reach
