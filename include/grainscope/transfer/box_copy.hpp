#ifndef GRAINSCOPE_TRANSFER_BOX_COPY_HPP
#define GRAINSCOPE_TRANSFER_BOX_COPY_HPP

// The parts of a copy of a box: memory at both ends with its check, and the calls and kernels that move it.

#include <cstddef>
#include <string>

#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/box.hpp"
#include "grainscope/transfer/end_memory.hpp"

namespace grainscope::transfer {

// A box in memory. On the host `gpu` is kOnHost.
struct PlacedBox {
  static constexpr int kOnHost = -1;
  std::byte* first = nullptr;  // as whoever moves it addresses it
  Box box;
  int gpu = kOnHost;
};

// Source and destination of a copy of a box, with their memory: the source full of payload, the destination
// of poison, between the rows and around the box too.
class BoxEnds {
 public:
  BoxEnds(const BoxCopy& copy, const Surroundings& surroundings);
  // Writes payload and poison, and waits.
  void fill() const { memory_.fill(); }
  // As copies address them, and as kernels of the current GPU do.
  [[nodiscard]] PlacedBox source() const {
    return placed(memory_.source, copy_.source, memory_.source.data());
  }
  [[nodiscard]] PlacedBox destination() const {
    return placed(memory_.destination, copy_.destination, memory_.destination.data());
  }
  [[nodiscard]] PlacedBox mapped_source() const {
    return placed(memory_.source, copy_.source, memory_.source.device_data());
  }
  [[nodiscard]] PlacedBox mapped_destination() const {
    return placed(memory_.destination, copy_.destination, memory_.destination.device_data());
  }
  // Throws FailedError, naming the first wrong byte, unless the destination holds the whole box and nothing
  // else of it changed; says what was checked.
  [[nodiscard]] std::string verify() const;

 private:
  [[nodiscard]] PlacedBox placed(const EndMemory& memory, const Endpoint& where, std::byte* data) const {
    return {data + kGuardBytes, copy_.box, memory.on_host() ? PlacedBox::kOnHost : where.id};
  }

  BoxCopy copy_;
  BothEnds memory_;
};

// Enqueues a copy from box to box of the same width, rows and planes, on a stream of the current GPU; every
// method but `pack`. Kernels take elements as wide as both boxes allow, which must begin on 16-byte
// boundaries in memory that the current GPU can reach. Throws FailedError for a refused call, UsageError for
// `pack`.
void enqueue_box_copy(BoxMethod method, const PlacedBox& to, const PlacedBox& from,
                      const cuda::Stream& stream);

// The kernel of the methods kernel_* and of packing, alone.
void launch_box_kernel(const PlacedBox& to, const PlacedBox& from, bool chunked, const cuda::Stream& stream);

// What a kernel's launch for this box looks like on the current GPU.
struct BoxLaunch {
  unsigned blocks = 1;
  unsigned threads = 1;
  int element_bytes = 1;
};
[[nodiscard]] BoxLaunch box_launch(const Box& to, const Box& from, bool chunked);

}  // namespace grainscope::transfer

#endif
