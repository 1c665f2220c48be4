#ifndef GRAINSCOPE_TRANSFER_SHAPE_COPY_HPP
#define GRAINSCOPE_TRANSFER_SHAPE_COPY_HPP

// The parts of copies that are not contiguous: memory at both ends with its check, and the calls and
// kernels that move boxes and pages.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  // The ends in host memory leave the CPUs' caches.
  void flush() const;
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

// Both pools of pages with their memory: the source full of payload, the destination of poison, in free slots
// and around them too.
class PageEnds {
 public:
  PageEnds(const PageCopy& copy, const Surroundings& surroundings);
  // Writes payload and poison, and waits.
  void fill() const;
  // Writes poison alone, where a copy since fill() should have written, and waits.
  void poison() const;
  // The pools in host memory leave the CPUs' caches.
  void flush() const;
  // The copies of all pages: for kernels of the current GPU, or for the runtime's copies and the host.
  [[nodiscard]] std::vector<PieceCopy> pieces(bool for_kernel) const;
  // Throws FailedError, naming the first wrong byte, unless the destination holds every page and nothing else
  // of it changed; says what was checked.
  [[nodiscard]] std::string verify() const;

 private:
  PageCopy copy_;
  std::vector<std::uint64_t> source_table_;
  std::vector<std::uint64_t> destination_table_;
  EndMemory source_;
  EndMemory destination_;
};

// One kernel that copies the pieces of a table in device memory, a warp a chunk of a piece; in bulk, or each
// thread as much at once as both ends allow.
struct PieceLaunch {
  const PieceCopy* table = nullptr;
  std::uint64_t pieces = 0;
  std::uint64_t largest_bytes = 0;  // of a piece
  bool bulk = false;
  unsigned blocks = 0;
};
void launch_piece_kernel(const PieceLaunch& launch, const cuda::Stream& stream);
// Makes it ready on the current GPU. Throws SkipError for bulk copies where the GPU has none.
void load_piece_kernel(bool bulk);
// As many blocks as have work, and no more than `most`, or than the current GPU holds at once where that is
// empty.
[[nodiscard]] unsigned piece_blocks(std::uint64_t pieces, std::uint64_t largest_bytes, bool bulk,
                                    std::optional<unsigned> most);

// Pieces in the form that one way to submit them wants: arrays, a graph, a table on the GPU.
class PieceCopier {
 public:
  virtual ~PieceCopier() = default;
  PieceCopier(const PieceCopier&) = delete;
  PieceCopier& operator=(const PieceCopier&) = delete;
  // Enqueues all of them on a stream of the GPU that was current at construction; not the default stream.
  virtual void issue(const cuda::Stream& stream) = 0;
  // Copies that were submitted, and blocks that a kernel has; 0: there are none.
  [[nodiscard]] virtual std::uint64_t copies() const { return 0; }
  [[nodiscard]] virtual unsigned blocks() const { return 0; }

 protected:
  PieceCopier() = default;
};

// Where a kernel reads its table of pieces from: brought to the GPU before it, or in place.
enum class TableAt { gpu, host };
// For the current GPU; `blocks` of a kernel at most, where the GPU does not hold fewer. Pieces must not
// overlap. Throws SkipError for PageMethod::batch where the toolkit has no cudaMemcpyBatchAsync, for bulk
// where the GPU has no bulk copies; issue() does where the driver is too old; UsageError for the methods that
// stage.
[[nodiscard]] std::unique_ptr<PieceCopier> make_piece_copier(PageMethod method,
                                                             const std::vector<PieceCopy>& pieces,
                                                             TableAt table = TableAt::gpu,
                                                             std::optional<unsigned> blocks = {});

}  // namespace grainscope::transfer

#endif
