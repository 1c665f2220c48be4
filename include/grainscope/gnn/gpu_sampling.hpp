#ifndef GRAINSCOPE_GNN_GPU_SAMPLING_HPP
#define GRAINSCOPE_GNN_GPU_SAMPLING_HPP

// The same mini-batches, drawn on a GPU: adjacency lists in its own memory, in page-locked host memory, or
// interleaved over the memories of several GPUs (dissertation 4.4.5).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grainscope/cuda/mapped.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/table.hpp"

struct CUstream_st;

namespace grainscope::gnn {

enum class ListPlacement {
  mapped,       // page-locked host memory that the GPU reads over the link
  device,       // the sampling GPU's own memory
  interleaved,  // pieces of kPieceEntries neighbours, in turn over `gpus`, one of which may come twice
};
[[nodiscard]] const char* name(ListPlacement placement);

inline constexpr std::uint64_t kPieceEntries = std::uint64_t{1} << 14;  // 64 KiB

struct ListRequest {
  ListPlacement placement = ListPlacement::device;
  int gpu = 0;            // that samples
  std::vector<int> gpus;  // of `interleaved`: where pieces lie, the sampling GPU among them or not
  cuda::MemoryKind memory = cuda::MemoryKind::host_alloc;  // of `mapped`
  int node = 0;                                            // where that lies
};

// Offsets in the sampling GPU's memory (8 bytes a vertex), lists where the request says. It copies what it
// needs: the graph may go.
class PlacedLists {
 public:
  virtual ~PlacedLists() = default;
  PlacedLists(const PlacedLists&) = delete;
  PlacedLists& operator=(const PlacedLists&) = delete;
  [[nodiscard]] virtual const ListRequest& request() const = 0;
  [[nodiscard]] virtual graph::Vertex vertices() const = 0;
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;  // of the sampling GPU's memory
  // Throws FailedError where mapped lists have left the host.
  virtual void expect_on_host() const = 0;

 protected:
  PlacedLists() = default;
};

// Host memory comes to lie on the node that the calling thread is bound to. Throws SkipError where there is
// no room, or GPUs cannot reach each other; UsageError for an impossible request; in a build without CUDA
// always SkipError.
// Interleaved ones of `of_another`, placed by the same call for another GPU of the same request, serve this
// GPU too, and outlive what is returned; it may be null.
[[nodiscard]] std::unique_ptr<PlacedLists> place_lists(const graph::Csr& neighbours,
                                                       const ListRequest& request,
                                                       const cuda::Surroundings& surroundings = {},
                                                       const PlacedLists* of_another = nullptr);

// A mini-batch in the memory of a GPU, as kernels see it: all pointers are device memory. Sizes that sampling
// decides are in device memory too, so that nobody has to wait for them.
struct DeviceLayer {
  const std::uint64_t* offsets = nullptr;  // [most destinations + 1], valid to nodes_upto[h] + 1
  const std::uint32_t* sources = nullptr;  // [most edges]
  std::uint64_t most_destinations = 0;
  std::uint64_t most_edges = 0;
};
struct DeviceMiniBatch {
  const graph::Vertex* nodes = nullptr;       // [most_nodes]
  const std::uint32_t* nodes_upto = nullptr;  // [hops + 1]
  std::uint64_t most_nodes = 0;
  std::vector<DeviceLayer> layers;
};

// Memory for one mini-batch at a time.
class GpuMiniBatch {
 public:
  virtual ~GpuMiniBatch() = default;
  GpuMiniBatch(const GpuMiniBatch&) = delete;
  GpuMiniBatch& operator=(const GpuMiniBatch&) = delete;
  [[nodiscard]] virtual const DeviceMiniBatch& view() const = 0;
  // nodes_upto, as sampling left it; waits for the sampling of this mini-batch.
  [[nodiscard]] virtual std::vector<std::uint32_t> nodes_upto() const = 0;
  // All of it, copied to the host, into one whose memory is used again; waits for the sampling of this
  // mini-batch.
  virtual void copy(MiniBatch& into) const = 0;
  [[nodiscard]] MiniBatch copy() const {
    MiniBatch result;
    copy(result);
    return result;
  }
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;

 protected:
  GpuMiniBatch() = default;
};

// Not for two threads at once; outlived by the lists and outlives its mini-batches. These are sampled one
// after another: an `enqueue` waits, on the GPU, for the one before, also on another stream.
class GpuSampler {
 public:
  virtual ~GpuSampler() = default;
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  [[nodiscard]] virtual std::unique_ptr<GpuMiniBatch> make_batch() const = 0;
  // The same in device memory that outlives it, as much as its own would be and at a boundary of 256 bytes.
  [[nodiscard]] virtual std::unique_ptr<GpuMiniBatch> make_batch_in(std::byte* memory) const = 0;
  // Puts the sampling of mini-batch number `batch` on a stream of the sampling GPU and returns; the seeds are
  // copied before it does, after waiting for the seeds of the last sampling into the same mini-batch to have
  // left. Who still reads that mini-batch on another stream must be waited for. Throws as
  // require_seeds, and UsageError for more seeds than `most_seeds`.
  virtual void enqueue(std::span<const graph::Vertex> seeds, std::uint64_t batch, GpuMiniBatch& into,
                       CUstream_st* stream) = 0;
  // The same, waited for: seconds between two events around all of it, the copy of the seeds included. Where
  // the GPU samples its L2 cache holds nothing of the lists then, as behind the training of a mini-batch.
  [[nodiscard]] virtual double run(std::span<const graph::Vertex> seeds, std::uint64_t batch,
                                   GpuMiniBatch& into) = 0;
  [[nodiscard]] virtual std::uint64_t gpu_bytes() const = 0;  // of its state

 protected:
  GpuSampler() = default;
};

// Over lists that outlive it. Throws SkipError where the GPU has no room for 4.4 bytes a vertex; UsageError
// for impossible fan-outs; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<GpuSampler> make_gpu_sampler(const PlacedLists& lists,
                                                           const SampleRequest& request,
                                                           std::uint64_t most_seeds);

// The same interface where the CPU samples, by all of OpenMP's threads of the thread that calls: `enqueue`
// returns when a mini-batch has been drawn and its copy to the GPU enqueued. `neighbours` outlives it. Throws
// as the other, but needs no room.
[[nodiscard]] std::unique_ptr<GpuSampler> make_sending_sampler(const graph::Csr& neighbours, int gpu,
                                                               const SampleRequest& request,
                                                               std::uint64_t most_seeds);

}  // namespace grainscope::gnn

#endif
