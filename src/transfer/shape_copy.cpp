// Copies that are not contiguous, as lanes and movers: boxes by the runtime's strided copies, by a copy a
// row, by one kernel or packed; pieces one by one, in a batch, as a graph, by one kernel.

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
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/mover.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

// A copy (BoxCopy, BatchCopy) with its ends (BoxEnds, BatchEnds), and the check.
template <class Copy, class Ends>
class ShapeLane : public Lane {
 public:
  ShapeLane(const Copy& copy, std::uint64_t bytes, const Surroundings& surroundings)
      : Lane(copy.gpu(), copy.node(), bytes),
        copy_(copy),
        reach_(copy.source, copy.destination),
        ends_(copy, surroundings) {}

  // Once before any gate closes and any sample is timed, so that nothing is loaded or set up then; after that
  // the ends are filled.
  void start() {
    const cuda::Stream stream;
    issue(stream);
    stream.synchronize();
    ends_.fill();
  }

  std::string verify() final { return ends_.verify(); }

 protected:
  [[nodiscard]] const Copy& copy() const { return copy_; }
  [[nodiscard]] const Ends& ends() const { return ends_; }

 private:
  Copy copy_;
  PeerReach reach_;
  Ends ends_;
};

// A mover of the lane that `make(copy, surroundings)` makes, where the copy is issued from; `submission_only`
// as Mover has it. Throws UsageError for a copy from host to host, and for one that no GPU can fetch.
template <class Copy, class Make>
[[nodiscard]] std::unique_ptr<Mover> make_shape_mover(const Copy& copy, const Surroundings& surroundings,
                                                      const Make& make, bool submission_only = false) {
  if (copy.source.on_host() && copy.destination.on_host()) {
    throw UsageError("boxes and pieces are copied to or from a GPU, not from host to host");
  }
  if (copy.by_destination && !copy.between_gpus()) {
    throw UsageError("boxes and pieces are fetched by one GPU from another");
  }
  std::vector<MoverLane> lanes;
  {
    const NodeBinding binding(*surroundings.topology, copy.node());
    const cuda::DeviceGuard guard(copy.gpu());
    auto lane = make(copy, surroundings);
    lane->start();
    lanes.push_back({std::move(lane)});
  }
  return std::make_unique<Mover>(std::move(lanes), surroundings, submission_only);
}

using BoxLane = ShapeLane<BoxCopy, BoxEnds>;

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

// A stream of another GPU that works between two moments of this one's.
class Detour {
 public:
  explicit Detour(int gpu) : gpu_(gpu) {
    const cuda::DeviceGuard guard(gpu);
    stream_.emplace();
    done_.emplace();
  }

  template <class Work>
  void run(const cuda::Stream& stream, const Work& work) {
    reached_.record(stream);
    const cuda::DeviceGuard guard(gpu_);
    cuda::check(cudaStreamWaitEvent(stream_->get(), reached_.get(), 0), "wait for another GPU's stream");
    work(*stream_);
    done_->record(*stream_);
    cuda::check(cudaStreamWaitEvent(stream.get(), done_->get(), 0), "wait for another GPU's stream");
  }

 private:
  int gpu_;
  cuda::Event reached_;  // on the GPU current at construction
  std::optional<cuda::Stream> stream_;
  std::optional<cuda::Event> done_;
};

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

namespace {

// The ways to submit many small copies.
class OneByOne final : public PieceCopier {
 public:
  explicit OneByOne(const std::vector<PieceCopy>& pieces) : pieces_(pieces) {}

  void issue(const cuda::Stream& stream) const override {
    for (const PieceCopy& piece : pieces_) {
      cuda::check(cudaMemcpyAsync(piece.to, piece.from, piece.bytes, cudaMemcpyDefault, stream.get()),
                  "copy one piece of many");
    }
  }

 private:
  std::vector<PieceCopy> pieces_;
};

class InOneBatch final : public PieceCopier {
 public:
  explicit InOneBatch(const std::vector<PieceCopy>& pieces) {
    if (!cuda::kHasBatchCopy) {
      throw SkipError("needs CUDA 12.8: this program was built with an older one");
    }
    for (const PieceCopy& piece : pieces) {
      to_.push_back(piece.to);
      from_.push_back(piece.from);
      sizes_.push_back(piece.bytes);
    }
  }

  void issue(const cuda::Stream& stream) const override {
    const cudaError_t status =
        cuda::copy_batch(to_.data(), from_.data(), sizes_.data(), sizes_.size(), stream.get());
    if (status == cudaErrorCallRequiresNewerDriver) {
      static_cast<void>(cudaGetLastError());
      throw SkipError("needs a driver for CUDA 12.8");
    }
    cuda::check(status, "copy many pieces by cudaMemcpyBatchAsync");
  }

 private:
  std::vector<void*> to_;
  std::vector<const void*> from_;
  std::vector<std::size_t> sizes_;
};

class AsGraph final : public PieceCopier {
 public:
  explicit AsGraph(const std::vector<PieceCopy>& pieces) {
    for (const PieceCopy& piece : pieces) {
      graph_.add(piece.to, piece.from, piece.bytes);
    }
    const cuda::Stream stream;
    graph_.instantiate(stream);
    stream.synchronize();
  }

  void issue(const cuda::Stream& stream) const override { graph_.launch(stream); }

 private:
  cuda::CopyGraph graph_;
};

class ByKernel final : public PieceCopier {
 public:
  explicit ByKernel(const std::vector<PieceCopy>& pieces)
      : pieces_(pieces.size()), table_(cuda::current_gpu(), pieces.size() * sizeof(PieceCopy)) {
    cuda::check(cudaMemcpy(table_.data(), pieces.data(), table_.bytes(), cudaMemcpyHostToDevice),
                "bring a table of pieces to the GPU");
    for (const PieceCopy& piece : pieces) {
      largest_bytes_ = std::max(largest_bytes_, piece.bytes);
    }
  }

  void issue(const cuda::Stream& stream) const override {
    launch_piece_kernel(static_cast<const PieceCopy*>(table_.data()), pieces_, largest_bytes_, stream);
  }

 private:
  std::uint64_t pieces_;
  std::uint64_t largest_bytes_ = 0;
  cuda::DeviceBuffer table_;
};

}  // namespace

std::unique_ptr<PieceCopier> make_piece_copier(BatchMethod method, const std::vector<PieceCopy>& pieces) {
  switch (method) {
    case BatchMethod::one_by_one:
      return std::make_unique<OneByOne>(pieces);
    case BatchMethod::batch:
      return std::make_unique<InOneBatch>(pieces);
    case BatchMethod::graph:
      return std::make_unique<AsGraph>(pieces);
    case BatchMethod::kernel:
      return std::make_unique<ByKernel>(pieces);
  }
  throw UsageError("many copies are to be made by a method that does not exist");
}

BatchEnds::BatchEnds(const BatchCopy& copy, const Surroundings& surroundings)
    : copy_(copy), memory_(copy.source, copy.destination, copy.batch.memory_bytes(), surroundings) {}

std::vector<PieceCopy> BatchEnds::pieces(bool for_kernel) const {
  const std::byte* from = for_kernel ? memory_.source.device_data() : memory_.source.data();
  std::byte* to = for_kernel ? memory_.destination.device_data() : memory_.destination.data();
  const Batch& batch = copy_.batch;
  const std::vector<std::uint64_t> from_slots = source_slots(batch.pieces);
  const std::vector<std::uint64_t> to_slots = destination_slots(batch.pieces);
  std::vector<PieceCopy> pieces;
  for (std::size_t i = 0; i < batch.pieces; ++i) {
    pieces.push_back(
        {to + batch.slot_offset(to_slots[i]), from + batch.slot_offset(from_slots[i]), batch.piece_bytes});
  }
  return pieces;
}

std::string BatchEnds::verify() const {
  const HostView found = memory_.destination.read();
  if (const auto wrong = find_batch_mismatch(found.data, copy_.batch)) {
    throw FailedError("wrong result: byte " + std::to_string(*wrong) +
                      " at the destination of many copies is not what it must be; a piece is missing or "
                      "misplaced, or something was written between the pieces");
  }
  return "every byte of every piece at the destination, which held other data before, and that every byte "
         "between and around the pieces still does";
}

namespace {

// Many small copies as a lane: timed by the host's clock, since submitting them is half of their price.
class BatchLane final : public ShapeLane<BatchCopy, BatchEnds> {
 public:
  BatchLane(const BatchCopy& copy, const Surroundings& surroundings)
      : ShapeLane(copy, copy.batch.bytes(), surroundings),
        copier_(make_piece_copier(copy.method, ends().pieces(copy.method == BatchMethod::kernel))) {}

  void issue(const cuda::Stream& stream) override { copier_->issue(stream); }

  [[nodiscard]] Conduct conduct() const override { return Conduct::hosted; }

  [[nodiscard]] bool launches_kernels() const override { return copy().method == BatchMethod::kernel; }

  [[nodiscard]] std::string action() const override {
    switch (copy().method) {
      case BatchMethod::one_by_one:
        return "one cudaMemcpyAsync a piece";
      case BatchMethod::batch:
        return "one cudaMemcpyBatchAsync";
      case BatchMethod::graph:
        return "one launch of a graph of copies";
      case BatchMethod::kernel:
        return "one kernel that copies all pieces";
    }
    return {};
  }

 private:
  std::unique_ptr<PieceCopier> copier_;
};

}  // namespace

std::unique_ptr<Mover> make_batch_mover(const BatchCopy& copy, const Surroundings& surroundings) {
  require_possible(copy.batch);
  return make_shape_mover(copy, surroundings, [](const BatchCopy& batch, const Surroundings& around) {
    return std::make_unique<BatchLane>(batch, around);
  });
}

}  // namespace grainscope::transfer
