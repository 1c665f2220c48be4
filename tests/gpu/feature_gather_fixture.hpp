#ifndef GRAINSCOPE_TESTS_GPU_FEATURE_GATHER_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_FEATURE_GATHER_FIXTURE_HPP

// Stores of a few chunks, and gathers from them held against the CPU.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "grainscope/reach/span_memory.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::gnn {
inline constexpr std::uint64_t kChunk = 2 * kMiB;  // small, so that tables lie in several
inline constexpr std::uint64_t kSpan = 5 * kChunk;
inline constexpr std::uint32_t kOddRows[] = {4,   6,   16,   60,   128,  132,  188,
                                             400, 512, 1028, 1030, 1040, 2312, 16384};

class FeatureGather : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      reach::SpanRequest request;
      request.home = topology_.usable_nodes().front();
      request.chunk_bytes = kChunk;
      memory_ = std::make_unique<reach::SpanMemory>(topology_, request);
      memory_->grow(kSpan);
    }
  }

  // GPUs that the first reads, itself among them.
  [[nodiscard]] static std::vector<int> reachable_gpus() {
    std::vector<int> gpus{0};
    for (const cuda::PeerLink& link : runtime().peers) {
      if (link.from == 0 && link.access && gpus.size() < 3) {
        gpus.push_back(link.to);
      }
    }
    return gpus;
  }

  [[nodiscard]] static StoreRequest request_of(Store store, std::uint32_t row_bytes) {
    StoreRequest request;
    request.store = store;
    request.row_bytes = row_bytes;
    request.span_bytes = store == Store::managed ? kMiB : kSpan;
    if (store == Store::tiered || store == Store::multi_gpu) {
      request.hot_percent = 30;
    }
    if (store == Store::multi_gpu) {
      request.replicated_percent = 10;
      request.gpus = reachable_gpus();
    }
    return request;
  }

  [[nodiscard]] std::unique_ptr<FeatureStore> store_of(const StoreRequest& request) {
    return make_feature_store(request, memory_.get(), &budget_);
  }
  [[nodiscard]] std::unique_ptr<FeatureStore> store_of(Store store, std::uint32_t row_bytes) {
    return store_of(request_of(store, row_bytes));
  }

  [[nodiscard]] static RowLists lists_of(const FeatureStore& store, std::uint64_t rows, int lists = 2) {
    RowLists result;
    for (int list = 0; list < lists; ++list) {
      result.push_back(
          draw_rows(list % 2 == 0 ? Indices::uniform : Indices::zipf, rows, store.shape().rows, 7, list));
    }
    return result;
  }

  // What the table's closed form has in a list's rows.
  [[nodiscard]] static std::vector<std::uint16_t> expected(const TableShape& table,
                                                           const std::vector<std::uint32_t>& rows) {
    std::vector<std::uint16_t> halves;
    for (const std::uint32_t row : rows) {
      const TableShape::Contents contents = table.contents(row);
      for (std::uint64_t half = 0; half < table.row_bytes / 2; ++half) {
        halves.push_back(pattern_half(contents.first_byte / 2 + half, contents.seed));
      }
    }
    return halves;
  }

  // Widths that a mode may load from rows of 4- or 2-byte elements.
  [[nodiscard]] static std::vector<std::uint32_t> widths_of(Mode mode, std::uint32_t row_bytes) {
    std::vector<std::uint32_t> widths;
    for (const std::uint32_t width : {2U, 4U, 8U, 16U}) {
      const std::uint32_t element =
          (mode == Mode::naive || mode == Mode::circular_shift) && width <= 4 ? width : 2;
      if (may_load(mode, row_bytes, element, width)) {
        widths.push_back(width);
      }
    }
    return widths;
  }

  // The timed gather, which checks itself on the GPU.
  static void expect_right(FeatureStore& store, const RowLists& lists, const GatherRequest& request) {
    SCOPED_TRACE(std::string(name(request.mode)) + " of " + std::to_string(lists.front().size()) +
                 " rows of " + std::to_string(store.shape().row_bytes) + " by " +
                 std::to_string(request.width) + " from " + name(store.request().store));
    const auto gather = make_gather(store, lists, request);
    for (std::size_t turn = 0; turn < lists.size() + 1; ++turn) {
      EXPECT_GT(sample(*gather), 0);
    }
    EXPECT_FALSE(gather->verify().empty());
  }

  // A kernel's output, copied back and compared by the CPU.
  static void expect_kernel_right(FeatureStore& store, Mode mode, std::uint32_t width,
                                  const std::vector<std::uint32_t>& rows, int blocks = 0) {
    SCOPED_TRACE(std::string(name(mode)) + " of " + std::to_string(rows.size()) + " rows of " +
                 std::to_string(store.shape().row_bytes) + " by " + std::to_string(width) + " from " +
                 name(store.request().store));
    const cuda::Stream stream;
    const std::uint64_t bytes = rows.size() * store.shape().row_bytes;
    const cuda::DeviceBuffer list(0, rows.size() * 4);
    // Behind the output a guard that nothing may write to.
    const cuda::DeviceBuffer out(0, bytes + 256);
    cuda::check(cudaMemcpy(list.data(), rows.data(), rows.size() * 4, cudaMemcpyHostToDevice), "copy rows");
    cuda::check(cudaMemset(out.data(), 0xee, out.bytes()), "overwrite an output");
    const GatherKernel kernel(store.view(), mode, width, 0, blocks);
    AddressOrder order(0, rows.size(), store.shape().rows);
    const auto* listed = static_cast<const std::uint32_t*>(list.data());
    auto* to = static_cast<std::byte*>(out.data());
    kernel.launch(sorts(mode) ? order.sort(listed, rows.size(), to, stream)
                              : GatherLists{listed, nullptr, rows.size(), to},
                  stream);
    stream.synchronize();
    std::vector<std::uint16_t> found(out.bytes() / 2);
    cuda::check(cudaMemcpy(found.data(), out.data(), out.bytes(), cudaMemcpyDeviceToHost), "read an output");
    std::vector<std::uint16_t> wanted = expected(store.shape(), rows);
    wanted.resize(found.size(), 0xeeee);
    EXPECT_TRUE(found == wanted) << "first difference in row "
                                 << static_cast<std::uint64_t>(
                                        std::mismatch(found.begin(), found.end(), wanted.begin()).first -
                                        found.begin()) *
                                        2 / store.shape().row_bytes;
  }

  const Topology topology_ = Topology::read();
  cuda::ManagedBudget budget_;
  std::unique_ptr<reach::SpanMemory> memory_;
};

inline constexpr Mode kKernelModes[] = {Mode::naive,  Mode::circular_shift,  Mode::masked,
                                        Mode::vector, Mode::address_ordered, Mode::graphbolt};
inline constexpr Store kKernelStores[] = {Store::mapped, Store::managed, Store::device, Store::tiered,
                                          Store::multi_gpu};

}  // namespace grainscope::gnn

#endif
