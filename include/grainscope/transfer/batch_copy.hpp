#ifndef GRAINSCOPE_TRANSFER_BATCH_COPY_HPP
#define GRAINSCOPE_TRANSFER_BATCH_COPY_HPP

// The parts of many small copies: memory at both ends with its check, and the ways to submit them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/batch.hpp"
#include "grainscope/transfer/end_memory.hpp"

namespace grainscope::transfer {

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
