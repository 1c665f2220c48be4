#ifndef GRAINSCOPE_TRANSFER_TRANSFER_HPP
#define GRAINSCOPE_TRANSFER_TRANSFER_HPP

// A transfer as data: what moves, from where to where, by what. Every transfer family is a list of these;
// make_lane turns one into buffers, and a Mover times one or several at once (both in mover.hpp).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/hint.hpp"

namespace grainscope::transfer {

// Where bytes live. `managed_host` is managed memory that stays on the host and that GPUs have mapped
// (cuda::MemoryKind). `registers` is the GPU's end of a kernel that only reads, or only writes, the other
// end.
enum class Placement {
  pageable,
  pinned,
  registered,
  write_combined,
  mapped,
  managed,
  managed_host,
  device,
  registers
};

// What moves them.
enum class Engine {
  copy_engine,  // cudaMemcpyAsync
  sm,           // a kernel: a walk where one end is registers, else a copy
  fault,        // first access to managed memory that lives elsewhere
  prefetch,     // cudaMemPrefetchAsync
};

// How mapped host memory came to be: EMOGI's three ways, and the one that GPUs map by large pages.
enum class Allocation {
  host_alloc,    // cudaHostAlloc
  registered,    // cudaHostRegister of ordinary memory
  accessed_by,   // cudaMallocManaged with AccessedBy: mapped, never migrated
  managed_host,  // the same with the host as preferred location, touched first by the CPU
};

// Of Engine::prefetch: by which call pages are sent to the destination, or given up where they are.
enum class PageCall {
  prefetch,              // cudaMemPrefetchAsync, one a piece
  prefetch_batch,        // cudaMemPrefetchBatchAsync of all pieces
  discard,               // cudaMemDiscardBatchAsync of all pieces: they go nowhere
  discard_and_prefetch,  // cudaMemDiscardAndPrefetchBatchAsync of all pieces
};

// One end of a transfer: memory of a kind, on a NUMA node of the host or on a GPU.
struct Endpoint {
  enum class Side { host, gpu };
  Placement placement = Placement::pinned;
  Side side = Side::host;
  int id = 0;  // NUMA node or GPU ordinal

  static constexpr Endpoint host(Placement placement, int node) { return {placement, Side::host, node}; }
  static constexpr Endpoint gpu(Placement placement, int ordinal) { return {placement, Side::gpu, ordinal}; }
  [[nodiscard]] constexpr bool on_host() const { return side == Side::host; }
};

// Of bulk copies, where nobody says otherwise: so much of a multiprocessor's shared memory as one block can
// have on any GPU that has bulk copies and much of it.
inline constexpr std::uint64_t kUsualChunkBytes = 6 * kKiB;
inline constexpr int kUsualStages = 32;
inline constexpr int kMostStages = 32;                        // warps of a block
inline constexpr std::uint64_t kMostChunkBytes = 256 * kKiB;  // no multiprocessor has so much

// By what a kernel takes bytes and gives them away.
enum class Load {
  vector,  // an access of each thread, through registers
  bulk,    // a bulk copy (TMA) of a chunk, through shared memory
};

// How a kernel takes and gives bytes: how warps walk the memory at the other end of their registers, and the
// grid.
struct Walk {
  enum class Pattern {
    strided,    // a thread reads its own 128-byte chunk, one element after another
    merged,     // the lanes of a warp read consecutive elements
    scattered,  // merged within a piece; the pieces follow one another as if at random
  };
  Pattern pattern = Pattern::merged;
  int offset_bytes = 0;           // of the first element behind a 128-byte boundary; a multiple of the width
  int width_bytes = 4;            // of one access: 4, 8 or 16
  int blocks = 0;                 // 0: enough to fill the GPU
  int threads = 1024;             // a block; of Load::bulk a warp for each stage
  std::uint64_t piece_bytes = 0;  // of `scattered`: a power of two, at least a width; so is their number
  Load load = Load::vector;
  std::uint64_t chunk_bytes = kUsualChunkBytes;  // of Load::bulk: a multiple of 128
  int stages = kUsualStages;                     // of Load::bulk: chunks that a block has under way
  int kernels = 1;  // that run on the GPU at once, this one among them: none fills more than its part
};

// Of a copy by a kernel: what a block has asked for at once.
inline constexpr std::uint64_t kUnderWayOfCopyBlock = 32 * kKiB;  // bytes

// The part of a copy between the host and a GPU that goes over the links of other GPUs, and between them and
// that GPU over what joins GPUs: chunk by chunk through buffers in their memory where copy engines move it,
// straight where their kernels (sm) do.
struct Relay {
  std::uint64_t gpus = 0;         // that pass bytes on, a bit each, in equal parts; 0: none does
  int share = 50;                 // percent of the bytes that they pass on, all together
  std::uint64_t chunk_bytes = 0;  // of copy engines; 0: what a part of that size usually needs
  int buffers = 4;                // of copy engines: chunks that a GPU holds

  [[nodiscard]] constexpr bool used() const { return gpus != 0; }
};
inline constexpr std::uint64_t kMostRelayed = 256;  // chunks of a GPU: two copies and as many events each

inline constexpr std::uint64_t kMostBytes = kKiB * kKiB * kGiB;  // of a transfer: no machine has as much

struct Transfer {
  Endpoint source;
  Endpoint destination;
  Engine engine = Engine::copy_engine;
  std::uint64_t bytes = 0;
  std::uint64_t piece_bytes = 0;  // of one copy or prefetch, in order, one after another; 0: all in one
  // Of Engine::fault from the host with pieces: they begin so far apart, and a kernel reads every word of
  // each. `bytes` are those of the pieces alone.
  std::uint64_t stride_bytes = 0;
  bool flush = false;            // evict host buffers from the CPU's caches before every sample
  bool submission_only = false;  // time the call that submits, not the copy
  Allocation allocation = Allocation::host_alloc;
  Walk walk;                                // of Engine::sm
  Relay relay;                              // of copies between the host and a GPU
  int host_threads = 1;                     // that touch managed pages from the host
  PageCall page_call = PageCall::prefetch;  // of Engine::prefetch
  // Of Engine::fault from the host, all in one: under any but none a kernel reads every word, since what is
  // read in place crosses word by word.
  cuda::Hint hint = cuda::Hint::none;
  bool by_source = false;   // between GPUs: the source issues it and writes; else the destination reads
  bool peer_access = true;  // between GPUs: the issuer addresses the other's memory; else the host is between
  int staging_node = 0;     // between GPUs without peer access: where the CPU that issues it runs

  [[nodiscard]] bool between_gpus() const { return !source.on_host() && !destination.on_host(); }
  [[nodiscard]] bool within_gpu() const { return between_gpus() && source.id == destination.id; }
  // A kernel only reads, or only writes, the memory at one end.
  [[nodiscard]] bool walks() const {
    return source.placement == Placement::registers || destination.placement == Placement::registers;
  }
  // Pages of managed memory move: no copy is made.
  [[nodiscard]] bool migrates() const { return engine == Engine::fault || engine == Engine::prefetch; }
  // What its pages hold is dropped: none of it need cross the link.
  [[nodiscard]] bool discards() const {
    return page_call == PageCall::discard || page_call == PageCall::discard_and_prefetch;
  }
  [[nodiscard]] std::uint64_t pieces() const {
    return piece_bytes == 0 ? 1 : (bytes + piece_bytes - 1) / piece_bytes;
  }
  [[nodiscard]] bool to_gpu() const { return !destination.on_host(); }
  // Of the buffer at an end: more than `bytes` where pieces lie apart.
  [[nodiscard]] std::uint64_t memory_bytes() const {
    return stride_bytes > 0 && piece_bytes > 0 ? bytes / piece_bytes * stride_bytes : bytes;
  }
  // The ends of a transfer between the host and a GPU.
  [[nodiscard]] const Endpoint& host_end() const { return to_gpu() ? source : destination; }
  [[nodiscard]] const Endpoint& gpu_end() const { return to_gpu() ? destination : source; }
  // The GPU whose stream, or whose kernel, carries it out, and the GPU at the other end.
  [[nodiscard]] int gpu() const {
    return between_gpus() ? (by_source ? source.id : destination.id) : gpu_end().id;
  }
  [[nodiscard]] int peer() const { return by_source ? destination.id : source.id; }
  // The node whose CPUs issue it.
  [[nodiscard]] int node() const { return between_gpus() ? staging_node : host_end().id; }
};

[[nodiscard]] const char* name(Placement placement);
[[nodiscard]] const char* name(Engine engine);
[[nodiscard]] const char* name(Allocation allocation);
[[nodiscard]] const char* name(Load load);
[[nodiscard]] const char* name(PageCall call);
// "strided", "merged" (off a 128-byte boundary), "merged_aligned" or "scattered".
[[nodiscard]] const char* access_name(const Walk& walk);

// The GPUs that pass on a part, by their numbers.
[[nodiscard]] std::vector<int> relays_of(const Relay& relay);
[[nodiscard]] std::vector<int> relays_of(const Transfer& transfer);
// Throws UsageError for a relay of which `gpu`, the end of the copy, is one, or whose share is none.
void require_possible(const Relay& relay, int gpu);
// Bytes of a transfer that its relays pass on: whole blocks of 4 KiB for each of them, one at least.
[[nodiscard]] std::uint64_t relayed_bytes(const Transfer& transfer);
// Of the chunks in which copy engines pass them on.
[[nodiscard]] std::uint64_t relay_chunk_bytes(const Transfer& transfer);

// What `walk` over `bytes` sends over the link, if the GPU's caches kept every sector (the lower bound).
// `without_cache` gives the requests if they kept none.
[[nodiscard]] Traffic walk_traffic(const Walk& walk, std::uint64_t bytes, bool without_cache);

// Throws UsageError, saying why, for a transfer that cannot be: its size, its ends, its walk.
void require_possible(const Transfer& transfer);

// The pattern's seed of what is moved, and of what lies at the destination before.
inline constexpr std::uint32_t kPayload = 1;
inline constexpr std::uint32_t kPoison = 2;

}  // namespace grainscope::transfer

#endif
