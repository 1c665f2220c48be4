// Copies of boxes, as lanes and movers: by the runtime's strided copies, by a copy a row, by one kernel or
// packed.

#include "grainscope/transfer/shape_copy.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/mover.hpp"
#include "shape_lane.hpp"

namespace grainscope::transfer {
namespace {

class BoxLane : public ShapeLane<BoxCopy, BoxEnds> {
 public:
  using ShapeLane::ShapeLane;
  void prepare() final { ends().flush(); }
};

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

void BoxEnds::flush() const {
  memory_.source.flush();
  memory_.destination.flush();
}

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

namespace {

// A box copied from place to place, by the runtime's calls or by one kernel.
class DirectBoxLane final : public BoxLane {
 public:
  DirectBoxLane(const BoxCopy& copy, const Surroundings& surroundings)
      : BoxLane(copy, copy.box.bytes(), surroundings),
        from_(is_kernel(copy.method) ? ends().mapped_source() : ends().source()),
        to_(is_kernel(copy.method) ? ends().mapped_destination() : ends().destination()) {}

  void issue(const cuda::Stream& stream) override { enqueue_box_copy(copy().method, to_, from_, stream); }

  [[nodiscard]] Conduct conduct() const override {
    return operations() <= kMostBehindGate ? Conduct::enqueued : Conduct::called;
  }

  [[nodiscard]] bool launches_kernels() const override { return is_kernel(copy().method); }
  [[nodiscard]] std::string action() const override {
    switch (copy().method) {
      case BoxMethod::row_copies:
        return "one cudaMemcpyAsync a row";
      case BoxMethod::copy_2d:
        return "one cudaMemcpy2DAsync a plane";
      case BoxMethod::copy_3d:
        return copy().between_gpus() ? "one cudaMemcpy3DPeerAsync" : "one cudaMemcpy3DAsync";
      default:
        return "one kernel";
    }
  }

  void describe(Measurement& measurement) const override {
    if (is_kernel(copy().method)) {
      const BoxLaunch launch = box_launch(to_.box, from_.box, copy().method == BoxMethod::kernel_chunked);
      measurement.counters["blocks"] = launch.blocks;
      measurement.counters["element_bytes"] = launch.element_bytes;
    } else {
      measurement.counters["calls"] =
          copy().method == BoxMethod::copy_3d ? 1 : static_cast<double>(operations());
    }
  }

 private:
  // What stands on the stream. A copy of a box in one call may still be a command for each plane.
  [[nodiscard]] std::uint64_t operations() const {
    return is_kernel(copy().method)                 ? 1
           : copy().method == BoxMethod::row_copies ? copy().box.all_rows()
                                                    : copy().box.planes;
  }

  PlacedBox from_;
  PlacedBox to_;
};

constexpr std::uint64_t kMostPackers = 8;
constexpr std::uint64_t kBytesPerPacker = 512 * kKiB;

// A box packed by whoever holds the source, one contiguous copy, unpacked by whoever holds the destination: a
// kernel on a GPU, threads on the host.
// Host threads that pack: more bring nothing, and a small box is done before they are awake.
class PackedBoxLane final : public BoxLane {
 public:
  PackedBoxLane(const BoxCopy& copy, const Surroundings& surroundings)
      : BoxLane(copy, copy.box.bytes(), surroundings),
        packed_(copy.source, copy.destination, copy.box.bytes(), surroundings) {
    if (copy.has_host()) {
      const std::vector<int>& cpus = surroundings.topology->find_node(copy.node())->allowed_cpus;
      const std::uint64_t most = std::min<std::uint64_t>(cpus.size(), kMostPackers);
      const std::uint64_t useful = copy.box.bytes() / kBytesPerPacker;
      packers_.emplace(static_cast<int>(std::clamp<std::uint64_t>(useful, 1, most)), cpus);
    }
    if (copy.between_gpus()) {
      at_destination_.emplace(copy.destination.id);
    }
  }

  void issue(const cuda::Stream& stream) override {
    pack(stream);
    cuda::check(cudaMemcpyAsync(packed_.destination.data(), packed_.source.data(), copy().box.bytes(),
                                cudaMemcpyDefault, stream.get()),
                "copy a packed box");
    unpack(stream);
  }

  [[nodiscard]] Conduct conduct() const override { return packers_ ? Conduct::hosted : Conduct::enqueued; }
  [[nodiscard]] bool on_callers_thread() const override { return !packers_ || packers_->size() == 1; }

  [[nodiscard]] std::string action() const override {
    return packers_ ? "host threads that pack or unpack, one contiguous copy, and a kernel on the GPU's side"
                    : "a kernel that packs, one contiguous copy and a kernel that unpacks";
  }

  void describe(Measurement& measurement) const override {
    if (packers_) {
      measurement.counters["host_threads"] = packers_->size();
    }
  }

 private:
  [[nodiscard]] PlacedBox flat(const EndMemory& memory) const { return {memory.data(), packed(copy().box)}; }

  void pack(const cuda::Stream& stream) {
    if (!copy().source.on_host()) {
      launch_box_kernel(flat(packed_.source), ends().source(), false, stream);
    } else {
      copy_on_host(flat(packed_.source), ends().source());
    }
  }

  void unpack(const cuda::Stream& stream) {
    const PlacedBox from = flat(packed_.destination);
    const PlacedBox to = ends().destination();
    if (at_destination_) {
      at_destination_->run(stream,
                           [&](const cuda::Stream& there) { launch_box_kernel(to, from, false, there); });
    } else if (!copy().destination.on_host()) {
      launch_box_kernel(to, from, false, stream);
    } else {
      stream.synchronize();
      copy_on_host(to, from);
    }
  }

  void copy_on_host(const PlacedBox& to, const PlacedBox& from) {
    static_cast<void>(packers_->run([&](int worker) {
      const Share rows = share_of(from.box.all_rows(), worker, packers_->size());
      copy_rows(to.first, to.box, from.first, from.box, rows.first, rows.last);
    }));
  }

  BothEnds packed_;
  std::optional<ThreadTeam> packers_;
  std::optional<Detour> at_destination_;
};

}  // namespace

std::unique_ptr<Mover> make_box_mover(const BoxCopy& copy, const Surroundings& surroundings) {
  require_possible(copy.box);
  if (copy.by_destination && !is_kernel(copy.method)) {
    throw UsageError("only a kernel of one GPU fetches a box from another");
  }
  if (copy.method == BoxMethod::row_copies && copy.box.all_rows() > kMostRowCopies) {
    throw UsageError("a copy a row of " + std::to_string(copy.box.all_rows()) + " rows; at most " +
                     std::to_string(kMostRowCopies));
  }
  const auto make = [](const BoxCopy& box, const Surroundings& around) -> std::unique_ptr<BoxLane> {
    if (box.method == BoxMethod::pack) {
      return std::make_unique<PackedBoxLane>(box, around);
    }
    return std::make_unique<DirectBoxLane>(box, around);
  };
  return make_shape_mover(copy, surroundings, make, copy.submission_only);
}

}  // namespace grainscope::transfer
