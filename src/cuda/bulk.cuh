#ifndef GRAINSCOPE_SRC_CUDA_BULK_CUH
#define GRAINSCOPE_SRC_CUDA_BULK_CUH

// Bulk copies (TMA, cp.async.bulk): one thread asks for many bytes at once, between memory that the GPU
// addresses and the shared memory of its block, and no register holds them. Addresses, in both memories, and
// sizes are multiples of kBulkUnit. Compute capability 9.0 and newer: elsewhere the kernels trap, so that
// whoever launches one calls require_bulk first.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "launch.cuh"

namespace grainscope::cuda {

inline constexpr unsigned kBulkUnit = 16;        // bytes
inline constexpr unsigned kBulkAlignment = 128;  // of shared memory that is served best

// Throws SkipError where a GPU has no bulk copies.
inline void require_bulk(int gpu) {
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu), "ask what a GPU can do");
  if (major < kFirstMajorOfBulk) {
    throw SkipError("GPU " + std::to_string(gpu) + " has no bulk copies (compute capability " +
                    std::to_string(kFirstMajorOfBulk) + ".0 and newer)");
  }
}

// Makes a kernel of bulk copies ready on `gpu`, which is current: its launches may ask for `bytes` of shared
// memory a block. Throws SkipError where the GPU has no bulk copies or no room for such a block.
inline void load_bulk_kernel(const void* kernel, std::uint64_t bytes, int gpu) {
  require_bulk(gpu);
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu),
        "ask for a GPU's shared memory");
  if (bytes > static_cast<std::uint64_t>(most)) {
    throw SkipError("a block asks for " + format_bytes(bytes) + " of shared memory; on GPU " +
                    std::to_string(gpu) + " it can have " + format_bytes(static_cast<std::uint64_t>(most)));
  }
  // All of it, since launches of other sizes may be ready beside this one.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "let blocks have much shared memory");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxShared),
        "choose how a kernel divides a multiprocessor's memory");
  load_kernel(kernel, "load a kernel of bulk copies");
}
template <class... Arguments>
void load_bulk_kernel(void (*kernel)(Arguments...), std::uint64_t bytes, int gpu) {
  load_bulk_kernel(reinterpret_cast<const void*>(kernel), bytes, gpu);
}

// What follows runs on the GPU. A barrier lies in shared memory, 8 bytes at a multiple of 8. It completes a
// phase once `arrivals` threads have called bulk_expect and all bytes that they expect have come; the first
// phase has parity 0, the next 1, then 0 again.

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// By one thread, before any other uses the barrier: the block synchronises in between.
__device__ inline void bulk_barrier_init(std::uint64_t* barrier, unsigned arrivals) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
  // So that bulk copies, which are another proxy's, find it.
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  __trap();
#endif
}

// Arrives, and says how many bytes this thread's loads bring in this phase: before it issues them.
__device__ inline void bulk_expect(std::uint64_t* barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
#else
  __trap();
#endif
}

// Waits until the phase of this parity is complete. What its loads brought is visible to the caller then.
__device__ inline void bulk_wait(std::uint64_t* barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  unsigned complete = 0;
  while (complete == 0) {
    asm volatile(
        "{\n\t"
        ".reg .pred complete;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, complete;\n\t"
        "}"
        : "=r"(complete)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
#else
  __trap();
#endif
}

// Asks for `bytes` of global memory, which come to `to` in shared memory and count on the barrier.
__device__ inline void bulk_load(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
#else
  __trap();
#endif
}

// Sends `bytes` of shared memory to `to` in global memory, as a part of this thread's open group. What
// threads wrote to shared memory themselves is sent only past bulk_fence.
__device__ inline void bulk_store(void* to, const void* from, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
      "r"(shared_address(from)), "r"(bytes)
      : "memory");
#else
  __trap();
#endif
}

// Closes this thread's open group of stores.
__device__ inline void bulk_commit() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
  __trap();
#endif
}

// Waits until all of this thread's groups but the last `kPending` have read their shared memory, which may
// then be written again.
template <int kPending>
__device__ void bulk_wait_read() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
#else
  __trap();
#endif
}

// Waits until all of this thread's stores are complete: before the block ends.
__device__ inline void bulk_wait_stored() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#else
  __trap();
#endif
}

// Between this thread's own accesses to shared memory and bulk copies of the same bytes behind them: what it
// wrote is what a store sends, and what it read is read before a load overwrites it.
__device__ inline void bulk_fence() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  __trap();
#endif
}

// A stage: room in a block's shared memory for a chunk, with a barrier on which it fills. Each warp has one
// of its own, so that stages wait for nobody else and as many chunks are under way as the block has warps.
class BulkStage {
 public:
  // Shared memory that a launch asks for, a block of `stages` warps.
  [[nodiscard]] static std::uint64_t shared_bytes(std::uint64_t chunk_bytes, int stages) {
    return static_cast<std::uint64_t>(stages) * (chunk_bytes + sizeof(std::uint64_t));
  }

  // The calling warp's, of chunks of `chunk_bytes`, a multiple of kBulkAlignment. All lanes call.
  __device__ explicit BulkStage(unsigned chunk_bytes) {
    extern __shared__ __align__(kBulkAlignment) std::byte bulk_memory[];
    const unsigned stages = blockDim.x / kLanesOfWarp;
    const unsigned stage = threadIdx.x / kLanesOfWarp;
    chunk_ = bulk_memory + std::uint64_t{stage} * chunk_bytes;
    barrier_ = reinterpret_cast<std::uint64_t*>(bulk_memory + std::uint64_t{stages} * chunk_bytes) + stage;
    if (lane_of_warp() == 0) {
      bulk_barrier_init(barrier_, 1);
    }
    __syncwarp();
  }

  [[nodiscard]] __device__ std::byte* chunk() const { return chunk_; }

  // One lane: says how much the loads of this turn bring together, before any of them.
  __device__ void expect(unsigned bytes) const { bulk_expect(barrier_, bytes); }
  // Any lane, past that: asks for bytes that come to `at` in the chunk.
  __device__ void load(unsigned at, const std::byte* from, unsigned bytes) const {
    bulk_load(chunk_ + at, from, bytes, barrier_);
  }
  // Each lane that reads the chunk, once a turn: waits for all of them.
  __device__ void wait() {
    bulk_wait(barrier_, parity_);
    parity_ ^= 1U;
  }

 private:
  std::byte* chunk_;
  std::uint64_t* barrier_;
  unsigned parity_ = 0;
};

// The number of the calling warp's stage among those of the grid, and how many there are.
__device__ inline std::uint64_t stage_of_grid() {
  return thread_of_grid() / kLanesOfWarp;
}
__device__ inline std::uint64_t stages_of_grid() {
  return threads_of_grid() / kLanesOfWarp;
}

}  // namespace grainscope::cuda

#endif
