#ifndef GRAINSCOPE_TRANSFER_SHAPE_COPY_HPP
#define GRAINSCOPE_TRANSFER_SHAPE_COPY_HPP

// The parts of copies that are not contiguous: memory at both ends with its check, and the calls and
// kernels that move boxes and pieces.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/end_memory.hpp"
#include "grainscope/transfer/shape.hpp"

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

// One copy, with addresses as whoever makes it sees them.
struct PieceCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
};

// Source and destination of a batch with their memory: the source full of payload, the destination of poison,
// between the pieces and around them too.
class BatchEnds {
 public:
  BatchEnds(const BatchCopy& copy, const Surroundings& surroundings);
  // Writes payload and poison, and waits.
  void fill() const { memory_.fill(); }
  // All copies of the batch: for kernels of the current GPU, or for the runtime's copies.
  [[nodiscard]] std::vector<PieceCopy> pieces(bool for_kernel) const;
  // Throws FailedError, naming the first wrong byte, unless the destination holds every piece and nothing
  // else of it changed; says what was checked.
  [[nodiscard]] std::string verify() const;

 private:
  BatchCopy copy_;
  BothEnds memory_;
};

// One kernel that copies `pieces` pieces, the largest of `largest_bytes`, from a table in device memory: a
// warp a piece, or a block where pieces are large.
void launch_piece_kernel(const PieceCopy* table, std::uint64_t pieces, std::uint64_t largest_bytes,
                         const cuda::Stream& stream);

// Pieces in the form that one way to submit them wants: arrays, a graph, a table on the GPU.
class PieceCopier {
 public:
  virtual ~PieceCopier() = default;
  PieceCopier(const PieceCopier&) = delete;
  PieceCopier& operator=(const PieceCopier&) = delete;
  // Enqueues all of them on a stream of the GPU that was current at construction; not the default stream.
  virtual void issue(const cuda::Stream& stream) const = 0;

 protected:
  PieceCopier() = default;
};

// For the current GPU. Pieces must not overlap. Throws SkipError for BatchMethod::batch where the toolkit has
// no cudaMemcpyBatchAsync; issue() does where the driver is too old for it.
[[nodiscard]] std::unique_ptr<PieceCopier> make_piece_copier(BatchMethod method,
                                                             const std::vector<PieceCopy>& pieces);

}  // namespace grainscope::transfer

#endif
