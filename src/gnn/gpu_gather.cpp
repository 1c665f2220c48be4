#include "gpu_gather.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <utility>

#include "file_check.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::gnn {

std::uint64_t evictor_bytes(int gpu) {
  int bytes = 0;
  cuda::check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, gpu), "read the size of a GPU's cache");
  return std::max<std::uint64_t>(2 * static_cast<std::uint64_t>(bytes), kMiB);
}

std::vector<cuda::DeviceBuffer> copy_to_gpu(const RowLists& lists, int gpu) {
  std::vector<cuda::DeviceBuffer> copies;
  for (const std::vector<std::uint32_t>& list : lists) {
    const std::uint64_t bytes = list.size() * sizeof(std::uint32_t);
    copies.emplace_back(gpu, bytes);
    cuda::check(cudaMemcpy(copies.back().data(), list.data(), bytes, cudaMemcpyHostToDevice),
                "copy a list of rows to the GPU");
  }
  return copies;
}

GpuGather::GpuGather(FeatureStore& store, RowLists lists)
    : store_(store),
      lists_(std::move(lists)),
      guard_(gpu()),
      device_lists_(copy_to_gpu(lists_, gpu())),
      out_(gpu(), count() * row_bytes()),
      evictor_(gpu(), evictor_bytes(gpu())),
      check_(gpu()) {}

void GpuGather::make_cold() {
  constexpr int kOther = 0xa5;
  store_.make_cold();
  cuda::check(cudaMemsetAsync(out_.data(), kOther, out_.bytes(), stream_.get()), "overwrite an output");
  cuda::check(cudaMemsetAsync(evictor_.data(), 0, evictor_.bytes(), stream_.get()),
              "overwrite the GPU's cache");
}

void GpuGather::check(std::size_t list) {
  if (const Features* const own = store_.features()) {
    unlike_file_ += count_unlike_file(*own, out(), on_host(list), stream_);
  } else {
    check_.enqueue(out(), on_gpu(list), count(), store_.shape(), stream_);
  }
}

double GpuGather::run() {
  const std::size_t list = samples_++ % lists_.size();
  make_cold();
  const double seconds = move(list);
  if (const auto moved = store_.moved_bytes()) {
    moved_bytes_.push_back(*moved);
  }
  check(list);
  return seconds;
}

void GpuGather::run_ungated() {
  make_cold();
  if (issue(0)) {
    check(0);
    stream_.synchronize();
  }
}

std::string GpuGather::verify() {
  const Features* const own = store_.features();
  if (own == nullptr) {
    check_.require_right(stream_);
  } else if (samples_ == 0 || unlike_file_ > 0) {
    throw FailedError(samples_ == 0
                          ? "wrong result: no rows were gathered"
                          : "wrong result: " + std::to_string(unlike_file_) +
                                " elements of gathers' outputs are not those of " + own->file()->path());
  }
  return "every byte of every sample's output against " +
         (own != nullptr ? own->spoken() : Features().spoken());
}

std::optional<std::uint64_t> GpuGather::moved_bytes() const {
  if (moved_bytes_.empty()) {
    return std::nullopt;
  }
  std::vector<std::uint64_t> ordered = moved_bytes_;
  std::sort(ordered.begin(), ordered.end());
  return ordered[(ordered.size() - 1) / 2];
}

std::unique_ptr<Gather> make_gpu_gather(FeatureStore& store, RowLists lists, const GatherRequest& request) {
  switch (request.mode) {
    case Mode::cpu_gather_dma:
      return make_staged_gather(store, std::move(lists), request);
    case Mode::row_dma:
      return make_row_dma(store, std::move(lists));
    default:
      return make_kernel_gather(store, std::move(lists), request);
  }
}

}  // namespace grainscope::gnn
