#include "gpu_gather.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <utility>

#include "file_check.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::gnn {

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
      rig_(gpu(), lists_.size(), count() * row_bytes(), cuda::GatherRig::Word::lowest) {}

void GpuGather::prepare() {
  store_.make_cold();
  rig_.make_cold(stream_);
}

void GpuGather::check(std::size_t list) {
  if (const Features* const own = store_.features()) {
    unlike_file_ += count_unlike_file(*own, out(), on_host(list), stream_);
  } else {
    check_rows(out(), on_gpu(list), count(), store_.shape(), rig_.word(), stream_);
  }
}

double GpuGather::run() {
  const std::size_t list = rig_.next_list();
  const double seconds = move(list);
  if (const auto moved = store_.moved_bytes()) {
    moved_bytes_.push_back(*moved);
  }
  check(list);
  return seconds;
}

void GpuGather::run_counted() {
  prepare();
  if (issue(0)) {
    check(0);
    stream_.synchronize();
  }
}

std::string GpuGather::verify() {
  const Features* const own = store_.features();
  if (own == nullptr) {
    require_rows_right(rig_, stream_);
  } else if (rig_.samples() == 0 || unlike_file_ > 0) {
    throw FailedError(rig_.samples() == 0
                          ? "wrong result: no rows were gathered"
                          : "wrong result: " + std::to_string(unlike_file_) +
                                " elements of gathers' outputs are not those of " + own->file()->path());
  }
  return "every byte of every sample's output against " +
         (own != nullptr ? own->spoken() : Features().spoken());
}

void GpuGather::describe(Measurement& measurement) {
  if (!moved_bytes_.empty()) {
    std::vector<std::uint64_t> ordered = moved_bytes_;
    std::sort(ordered.begin(), ordered.end());
    measurement.link_bytes_least = ordered[(ordered.size() - 1) / 2];
  }
}

std::unique_ptr<Operation> make_gpu_gather(FeatureStore& store, RowLists lists,
                                           const GatherRequest& request) {
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
