#ifndef GRAINSCOPE_TRANSFER_TRANSFER_HPP
#define GRAINSCOPE_TRANSFER_TRANSFER_HPP

// A transfer as data: what moves, from where to where, by what. Every transfer family is a list of
// these; one function turns one of them into buffers and something that can be timed.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "grainscope/core/measurement.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::cuda {
class ManagedBudget;  // cuda/memory.hpp
}

namespace grainscope::transfer {

// Where bytes live.
enum class Placement { pageable, pinned, registered, write_combined, mapped, managed, device };

// What moves them.
enum class Engine {
  copy_engine,  // cudaMemcpyAsync
  sm,           // a kernel that loads or stores over the link
  fault,        // first access to managed memory that lives elsewhere
  prefetch,     // cudaMemPrefetchAsync
};

// How mapped host memory came to be: EMOGI's three ways.
enum class Allocation {
  host_alloc,   // cudaHostAlloc
  registered,   // cudaHostRegister of ordinary memory
  accessed_by,  // cudaMallocManaged with AccessedBy: mapped, never migrated
};

// One end of a transfer: memory of a kind, on a NUMA node of the host or on a GPU.
struct Endpoint {
  enum class Side { host, gpu };
  Placement placement = Placement::pinned;
  Side side = Side::host;
  int id = 0;  // NUMA node or GPU ordinal

  static constexpr Endpoint host(Placement placement, int node) { return {placement, Side::host, node}; }
  static constexpr Endpoint gpu(Placement placement, int ordinal) { return {placement, Side::gpu, ordinal}; }
};

// How warps walk host memory in a zero-copy transfer.
struct Walk {
  enum class Pattern {
    strided,  // a thread reads its own 128-byte chunk, one element after another
    merged,   // the lanes of a warp read consecutive elements
  };
  Pattern pattern = Pattern::merged;
  int offset_bytes = 0;  // of the first element behind a 128-byte boundary; a multiple of the width
  int width_bytes = 4;   // of one access: 4, 8 or 16
  int blocks = 0;        // 0: enough to fill the GPU
  int threads = 1024;    // a block
};

struct Transfer {
  Endpoint source;
  Endpoint destination;
  Engine engine = Engine::copy_engine;
  std::uint64_t bytes = 0;
  bool flush = false;            // evict the host buffer from the CPU's caches before every sample
  bool submission_only = false;  // time the call that submits, not the copy
  Allocation allocation = Allocation::host_alloc;
  Walk walk;             // of Engine::sm
  int host_threads = 1;  // that touch managed pages from the host

  [[nodiscard]] bool to_gpu() const { return destination.side == Endpoint::Side::gpu; }
  // The ends of a transfer between the host and a GPU.
  [[nodiscard]] const Endpoint& host_end() const { return to_gpu() ? source : destination; }
  [[nodiscard]] const Endpoint& gpu_end() const { return to_gpu() ? destination : source; }
};

[[nodiscard]] const char* name(Placement placement);
[[nodiscard]] const char* name(Allocation allocation);
// "strided", "merged" (off a 128-byte boundary) or "merged_aligned".
[[nodiscard]] const char* access_name(const Walk& walk);

// What `walk` over `bytes` sends over the link, if the GPU's caches kept every sector (the lower bound).
// `without_cache` gives the requests if they kept none.
[[nodiscard]] Traffic walk_traffic(const Walk& walk, std::uint64_t bytes, bool without_cache);

// A transfer with its buffers: prepared, timed, checked. Not thread-safe.
class Mover {
 public:
  virtual ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // Brings everything to where a sample starts: pages at their source, caches flushed. Untimed.
  virtual void prepare() = 0;
  // One timed sample, in seconds.
  [[nodiscard]] virtual double run() = 0;
  // Throws FailedError unless what was asked for really moved; says what was checked.
  [[nodiscard]] virtual std::string verify() = 0;
  // What `run` times.
  [[nodiscard]] virtual Timing timing() const = 0;
  // Anything worth a number beside the times.
  virtual void annotate(Measurement& measurement) const { static_cast<void>(measurement); }

 protected:
  Mover() = default;
};

// What a mover needs of its surroundings; all outlive it.
struct Surroundings {
  const Topology* topology = nullptr;
  cuda::ManagedBudget* managed = nullptr;
};

// Allocates and initialises. Throws SkipError where this machine cannot hold it, EnvironmentError or
// FailedError where something that should work does not; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<Mover> make_mover(const Transfer& transfer, const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
