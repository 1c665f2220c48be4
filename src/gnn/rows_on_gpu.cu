// What a table's rows hold, written and checked by a GPU.

#include <cuda_runtime.h>

#include <string>

#include "../cuda/launch.cuh"
#include "gpu_tables.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::gnn {
namespace {

constexpr int kBlocks = 1024;
constexpr int kThreads = 256;

// Unit `at` of the pattern as units of a size.
__device__ void pattern_unit(std::uint64_t at, std::uint32_t seed, std::uint32_t& unit) {
  unit = pattern_word(at, seed);
}
__device__ void pattern_unit(std::uint64_t at, std::uint32_t seed, std::uint16_t& unit) {
  unit = pattern_half(at, seed);
}

template <class Unit>
__global__ void fill(Unit* memory, std::uint64_t rows, std::uint32_t units, std::uint32_t seed,
                     std::uint32_t first, std::uint32_t step) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < rows * units; i += cuda::threads_of_grid()) {
    const std::uint64_t row = i / units * step + first;
    pattern_unit(row * units + i % units, seed, memory[i]);
  }
}

template <class Unit>
__global__ void check(const Unit* out, const std::uint32_t* rows, std::uint64_t count,
                      const __grid_constant__ TableShape table, unsigned long long* first_wrong) {
  const std::uint32_t units = table.row_bytes / sizeof(Unit);
  for (std::uint64_t i = cuda::thread_of_grid(); i < count * units; i += cuda::threads_of_grid()) {
    const std::uint64_t position = i / units;
    const TableShape::Contents contents = table.contents(rows[position]);
    Unit expected;
    pattern_unit(contents.first_byte / sizeof(Unit) + i % units, contents.seed, expected);
    if (out[i] != expected) {
      atomicMin(first_wrong, static_cast<unsigned long long>(position));
    }
  }
}

// Odd numbers of bytes are no row: an element has 2 at least.
bool in_words(std::uint32_t row_bytes) {
  if (row_bytes % sizeof(std::uint16_t) != 0) {
    throw UsageError("a row has an even number of bytes, not " + std::to_string(row_bytes));
  }
  return row_bytes % sizeof(std::uint32_t) == 0;
}

template <class Unit>
void launch_fill(std::byte* memory, std::uint32_t rows, std::uint32_t row_bytes, std::uint32_t seed,
                 std::uint32_t first, std::uint32_t step, cudaStream_t stream) {
  fill<<<kBlocks, kThreads, 0, stream>>>(reinterpret_cast<Unit*>(memory), rows,
                                         static_cast<std::uint32_t>(row_bytes / sizeof(Unit)), seed, first,
                                         step);
  cuda::check_launch("fill");
}

template <class Unit>
void launch_check(const std::byte* out, const std::uint32_t* rows, std::uint64_t count,
                  const TableShape& table, unsigned long long* first_wrong, cudaStream_t stream) {
  check<<<kBlocks, kThreads, 0, stream>>>(reinterpret_cast<const Unit*>(out), rows, count, table,
                                          first_wrong);
  cuda::check_launch("check");
}

}  // namespace

void fill_rows(std::byte* memory, std::uint32_t rows, std::uint32_t row_bytes, std::uint32_t seed,
               std::uint32_t first, std::uint32_t step, const cuda::Stream& stream) {
  if (in_words(row_bytes)) {
    launch_fill<std::uint32_t>(memory, rows, row_bytes, seed, first, step, stream.get());
  } else {
    launch_fill<std::uint16_t>(memory, rows, row_bytes, seed, first, step, stream.get());
  }
  stream.synchronize();
}

void check_rows(const std::byte* out, const std::uint32_t* rows, std::uint64_t count, const TableShape& table,
                unsigned long long* first_wrong, const cuda::Stream& stream) {
  if (in_words(table.row_bytes)) {
    launch_check<std::uint32_t>(out, rows, count, table, first_wrong, stream.get());
  } else {
    launch_check<std::uint16_t>(out, rows, count, table, first_wrong, stream.get());
  }
}

void require_rows_right(const cuda::GatherRig& rig, const cuda::Stream& stream) {
  const std::uint64_t first = rig.found(stream, "no rows were gathered");
  if (first != cuda::GatherRig::kNothingWrong) {
    throw FailedError("wrong result: row " + std::to_string(first) +
                      " of a gather's output does not hold what the table has there");
  }
}

}  // namespace grainscope::gnn
