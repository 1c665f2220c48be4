// The ways to submit many small copies.

#include "grainscope/transfer/batch_copy.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "batch_kernel.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/copy_graph.hpp"

namespace grainscope::transfer {
namespace {

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

int current_gpu() {
  int gpu = 0;
  cuda::check(cudaGetDevice(&gpu), "read the current GPU");
  return gpu;
}

class ByKernel final : public PieceCopier {
 public:
  explicit ByKernel(const std::vector<PieceCopy>& pieces)
      : pieces_(pieces.size()), table_(current_gpu(), pieces.size() * sizeof(PieceCopy)) {
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

}  // namespace grainscope::transfer
