// Embedding bags on a GPU: one kernel gathers rows and adds them up. A bag's lanes stand side by side on a
// row, 16 bytes each, and have eight of its rows in flight.

#include <cuda_runtime_api.h>

#include <bit>
#include <functional>
#include <string>

#include "gather_rows.cuh"
#include "gpu_gather.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/gnn/gather.hpp"

namespace grainscope::gnn {
namespace {

// What one launch pools: `outputs` bags of `pooling` rows, behind one another in `rows` (device).
struct BagLists {
  const std::uint32_t* rows = nullptr;
  std::uint64_t outputs = 0;
  std::uint32_t pooling = 1;
  float* out = nullptr;  // f32[outputs][row_bytes / 4], device
};

constexpr int kInFlight = 8;
constexpr int kCheckBlocks = 1024;
constexpr int kCheckThreads = 256;

struct Group {
  std::uint32_t units;  // of a row, 16 bytes each
  std::uint32_t lanes;  // that a bag has: a power of two up to 32
};

__device__ float element(std::uint32_t word) {
  return __uint_as_float(bag_element_bits(word));
}

template <class View>
__global__ void __launch_bounds__(kGatherThreads)
    pool_bags(const __grid_constant__ View view, Group group, BagLists lists) {
  const std::uint64_t groups = std::uint64_t{gridDim.x} * kGatherThreads / group.lanes;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kGatherThreads + threadIdx.x;
  for (std::uint64_t bag = thread / group.lanes; bag < lists.outputs; bag += groups) {
    const std::uint32_t* rows = lists.rows + bag * lists.pooling;
    for (std::uint32_t unit = threadIdx.x % group.lanes; unit < group.units; unit += group.lanes) {
      float4 sum = make_float4(0, 0, 0, 0);
      for (std::uint32_t first = 0; first < lists.pooling; first += kInFlight) {
        uint4 values[kInFlight];
#pragma unroll
        for (int k = 0; k < kInFlight; ++k) {
          if (first + k < lists.pooling) {
            values[k] = __ldcg(reinterpret_cast<const uint4*>(view.row(__ldg(rows + first + k))) + unit);
          }
        }
#pragma unroll
        for (int k = 0; k < kInFlight; ++k) {
          if (first + k < lists.pooling) {
            sum.x += element(values[k].x);
            sum.y += element(values[k].y);
            sum.z += element(values[k].z);
            sum.w += element(values[k].w);
          }
        }
      }
      __stcs(reinterpret_cast<float4*>(lists.out) + bag * group.units + unit, sum);
    }
  }
}

// The sum of the steps of 1/256 is a whole number, so the order of adding does not matter here either.
__global__ void check(const BagLists lists, const __grid_constant__ TableShape table,
                      unsigned long long* first_wrong) {
  const std::uint64_t elements = table.row_bytes / sizeof(float);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < lists.outputs * elements;
       i += stride) {
    const std::uint32_t* rows = lists.rows + i / elements * lists.pooling;
    std::uint32_t steps = 0;
    for (std::uint32_t k = 0; k < lists.pooling; ++k) {
      const TableShape::Contents contents = table.contents(rows[k]);
      steps += pattern_word(contents.first_byte / sizeof(float) + i % elements, contents.seed) >> 24;
    }
    const float expected = static_cast<float>(lists.pooling) + static_cast<float>(steps) / 256.0F;
    if (lists.out[i] != expected) {
      atomicMin(first_wrong, static_cast<unsigned long long>(i));
    }
  }
}

template <class View>
std::function<void(const BagLists&, cudaStream_t)> bind_bags(const View& view, const Group& group, int gpu) {
  const auto most = static_cast<std::uint64_t>(most_blocks(pool_bags<View>, {gpu, 0, 0}));
  return [=](const BagLists& lists, cudaStream_t stream) {
    const std::uint64_t wanted = (lists.outputs * group.lanes + kGatherThreads - 1) / kGatherThreads;
    pool_bags<View>
        <<<static_cast<unsigned>(std::min<std::uint64_t>(most, wanted)), kGatherThreads, 0, stream>>>(
            view, group, lists);
    cuda::check_launch("pool_bags");
  };
}

// Loads the kernel for `gpu`, which is current.
std::function<void(const BagLists&, cudaStream_t)> bag_function(const TableView& view, int gpu) {
  const auto units = static_cast<std::uint32_t>(view.shape.row_bytes / sizeof(uint4));
  const Group group{units, std::min<std::uint32_t>(std::bit_ceil(units), kWarpLanes)};
  if (const auto flat = flat_view(view)) {
    return bind_bags(*flat, group, gpu);
  }
  return bind_bags(view, group, gpu);
}

// Enqueues a check of a whole output: the lowest wrong element goes to `first_wrong` (u64, device), else it
// is left as it was.
void check_bags(const BagLists& lists, const TableShape& table, unsigned long long* first_wrong,
                cudaStream_t stream) {
  check<<<kCheckBlocks, kCheckThreads, 0, stream>>>(lists, table, first_wrong);
  cuda::check_launch("check_bags");
}

class CudaBagLookup final : public BagLookup {
 public:
  CudaBagLookup(FeatureStore& store, const RowLists& lists, const BagRequest& request)
      : store_(store),
        request_(request),
        guard_(store.request().gpu),
        lists_(copy_to_gpu(lists, store.request().gpu)),
        rig_(store.request().gpu, lists.size(), request.outputs() * store.shape().row_bytes,
             cuda::GatherRig::Word::lowest),
        pool_(bag_function(store.view(), store.request().gpu)) {}

  void prepare() override {
    store_.make_cold();
    rig_.make_cold(stream_);
  }

  double run() override {
    const BagLists lists{static_cast<const std::uint32_t*>(lists_[rig_.next_list()].data()),
                         request_.outputs(), request_.pooling, reinterpret_cast<float*>(rig_.output())};
    const double seconds = stopwatch_.time_s(stream_, [&] { pool_(lists, stream_.get()); });
    check_bags(lists, store_.shape(), rig_.word(), stream_.get());
    return seconds;
  }

  std::string verify() override {
    const std::uint64_t first = rig_.found(stream_, "no bags were pooled");
    if (first != cuda::GatherRig::kNothingWrong) {
      const std::uint64_t elements = store_.shape().row_bytes / sizeof(float);
      throw FailedError("wrong result: element " + std::to_string(first % elements) + " of bag " +
                        std::to_string(first / elements) + " is not the sum of its rows");
    }
    return "every element of every sample's output against the table's closed form";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true, "one kernel between two events"};
  }

  [[nodiscard]] std::vector<float> output() const override {
    stream_.synchronize();
    std::vector<float> elements(rig_.output_bytes() / sizeof(float));
    cuda::check(cudaMemcpy(elements.data(), rig_.output(), rig_.output_bytes(), cudaMemcpyDeviceToHost),
                "read an output");
    return elements;
  }

 private:
  FeatureStore& store_;
  BagRequest request_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::GatedStopwatch stopwatch_;
  std::vector<cuda::DeviceBuffer> lists_;
  cuda::GatherRig rig_;
  std::function<void(const BagLists&, cudaStream_t)> pool_;
};

}  // namespace

std::unique_ptr<BagLookup> make_bag_lookup(FeatureStore& store, const RowLists& lists,
                                           const BagRequest& request) {
  require_possible(store, lists, {Mode::masked, 16, 0, 1});
  if (lists.front().size() != request.lookups()) {
    throw UsageError("a batch of bags asks for " + std::to_string(request.lookups()) + " rows, not for " +
                     std::to_string(lists.front().size()));
  }
  return std::make_unique<CudaBagLookup>(store, lists, request);
}

}  // namespace grainscope::gnn
