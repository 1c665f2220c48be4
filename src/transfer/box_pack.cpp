// A box packed by whoever holds the source, one contiguous copy, unpacked by whoever holds the destination: a
// kernel on a GPU, threads on the host.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "box_lane.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::transfer {
namespace {

// Host threads that pack: more bring nothing, and a small box is done before they are awake.
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

std::unique_ptr<BoxLane> make_packed_box_lane(const BoxCopy& copy, const Surroundings& surroundings) {
  return std::make_unique<PackedBoxLane>(copy, surroundings);
}

}  // namespace grainscope::transfer
