// Drawing, sorting, counting and adding up rows, all before any sample and none of it timed.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "../cuda/launch.cuh"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "row_lists.hpp"

namespace grainscope::reach {
namespace {

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

}  // namespace

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

}  // namespace grainscope::reach
