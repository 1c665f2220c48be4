// The direct ways to move a box: the runtime's strided copies, one copy a row, one kernel.

#include "grainscope/transfer/box_copy.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::transfer {
namespace {

// One call a plane: it knows rows and no planes.
void copy_2d(const PlacedBox& to, const PlacedBox& from, const cuda::Stream& stream) {
  for (std::uint64_t plane = 0; plane < from.box.planes; ++plane) {
    cuda::check(cudaMemcpy2DAsync(to.first + plane * to.box.plane_bytes(), to.box.pitch_bytes,
                                  from.first + plane * from.box.plane_bytes(), from.box.pitch_bytes,
                                  from.box.width_bytes, from.box.rows, cudaMemcpyDefault, stream.get()),
                "copy a plane of a box by cudaMemcpy2DAsync");
  }
}

cudaPitchedPtr pitched(const PlacedBox& placed) {
  return {placed.first, placed.box.pitch_bytes, placed.box.pitch_bytes, placed.box.plane_rows};
}

void copy_3d(const PlacedBox& to, const PlacedBox& from, const cuda::Stream& stream) {
  const cudaExtent extent{from.box.width_bytes, from.box.rows, from.box.planes};
  if (to.gpu != from.gpu && to.gpu != PlacedBox::kOnHost && from.gpu != PlacedBox::kOnHost) {
    cudaMemcpy3DPeerParms parameters{};
    parameters.srcPtr = pitched(from);
    parameters.srcDevice = from.gpu;
    parameters.dstPtr = pitched(to);
    parameters.dstDevice = to.gpu;
    parameters.extent = extent;
    cuda::check(cudaMemcpy3DPeerAsync(&parameters, stream.get()), "copy a box by cudaMemcpy3DPeerAsync");
    return;
  }
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = pitched(from);
  parameters.dstPtr = pitched(to);
  parameters.extent = extent;
  parameters.kind = cudaMemcpyDefault;
  cuda::check(cudaMemcpy3DAsync(&parameters, stream.get()), "copy a box by cudaMemcpy3DAsync");
}

void copy_each_row(const PlacedBox& to, const PlacedBox& from, const cuda::Stream& stream) {
  for (std::uint64_t row = 0; row < from.box.all_rows(); ++row) {
    cuda::check(cudaMemcpyAsync(to.first + to.box.row_offset(row), from.first + from.box.row_offset(row),
                                from.box.width_bytes, cudaMemcpyDefault, stream.get()),
                "copy a row of a box by cudaMemcpyAsync");
  }
}

}  // namespace

void enqueue_box_copy(BoxMethod method, const PlacedBox& to, const PlacedBox& from,
                      const cuda::Stream& stream) {
  switch (method) {
    case BoxMethod::copy_2d:
      return copy_2d(to, from, stream);
    case BoxMethod::copy_3d:
      return copy_3d(to, from, stream);
    case BoxMethod::kernel_strided:
      return launch_box_kernel(to, from, false, stream);
    case BoxMethod::kernel_chunked:
      return launch_box_kernel(to, from, true, stream);
    case BoxMethod::row_copies:
      return copy_each_row(to, from, stream);
    case BoxMethod::pack:
      break;
  }
  throw UsageError("packing a box takes buffers of its own: make a mover of it");
}

BoxEnds::BoxEnds(const BoxCopy& copy, const Surroundings& surroundings)
    : copy_(copy), memory_(copy.source, copy.destination, guarded_bytes(copy.box), surroundings) {}

std::string BoxEnds::verify() const {
  const HostView found = memory_.destination.read();
  if (const auto wrong = find_box_mismatch(found.data, copy_.box)) {
    throw FailedError("wrong result: byte " + std::to_string(*wrong) +
                      " at the destination of a box is not what it must be; the copy did not move the whole "
                      "box, or wrote outside of it");
  }
  return "every byte of the box at the destination, which held other data before, and that every byte "
         "between its rows and around it still does";
}

}  // namespace grainscope::transfer
