// Walks: a kernel loads from, or stores to, memory at the other end of a link. Over host memory this is
// zero-copy, the toy of EMOGI (section 3.3, figures 3 and 4) and of Comm|Scope (section 3.3), with every
// load's result used; over a peer's memory the same between GPUs.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../cuda/bulk.cuh"
#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/end_memory.hpp"
#include "grainscope/transfer/transfer.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kChunkBytes = 128;  // of a thread in a strided walk
constexpr int kMostMultiprocessors = 1024;

// What a walk leaves in device memory, added up over all launches.
struct WalkOutcome {
  unsigned long long sum;                                    // mod 2⁶⁴, of every word read
  std::uint32_t multiprocessors[kMostMultiprocessors / 32];  // a bit for each that had a block
};

constexpr int kInFlight = 4;  // independent accesses of a thread before the first result is used

template <int kWidth>
struct Element;
template <>
struct Element<4> {
  using Type = std::uint32_t;
};
template <>
struct Element<8> {
  using Type = uint2;
};
template <>
struct Element<16> {
  using Type = uint4;
};

__device__ std::uint64_t word_sum(std::uint32_t value) {
  return value;
}
__device__ std::uint64_t word_sum(uint2 value) {
  return std::uint64_t{value.x} + value.y;
}
__device__ std::uint64_t word_sum(uint4 value) {
  return std::uint64_t{value.x} + value.y + value.z + value.w;
}

template <int kWidth>
__device__ typename Element<kWidth>::Type pattern_element(std::uint64_t index) {
  const std::uint64_t word = index * (kWidth / 4);
  if constexpr (kWidth == 4) {
    return pattern_word(word, kPayload);
  } else if constexpr (kWidth == 8) {
    return make_uint2(pattern_word(word, kPayload), pattern_word(word + 1, kPayload));
  } else {
    return make_uint4(pattern_word(word, kPayload), pattern_word(word + 1, kPayload),
                      pattern_word(word + 2, kPayload), pattern_word(word + 3, kPayload));
  }
}

// How the pieces of a scattered walk follow one another; of no meaning to the others.
struct Pieces {
  int element_bits = 0;  // elements of a piece, as a power of two
  int piece_bits = 0;    // pieces, likewise
};

// Element numbers that a thread visits: consecutive lanes take consecutive elements.
struct Merged {
  static __device__ std::uint64_t place(std::uint64_t i, Pieces /*pieces*/) { return i; }

  template <int kWidth, class Visit, class Order = Merged>
  static __device__ void walk(std::uint64_t elements, Pieces pieces, Visit visit) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (; i + (kInFlight - 1) * stride < elements; i += kInFlight * stride) {
      visit.template many<kInFlight>([=](int k) { return Order::place(i + k * stride, pieces); });
    }
    for (; i < elements; i += stride) {
      visit.template many<1>([=](int) { return Order::place(i, pieces); });
    }
  }
};

// The same within a piece, and the pieces shuffled.
struct Scattered {
  static __device__ std::uint64_t place(std::uint64_t i, Pieces pieces) {
    const std::uint64_t inside = i & ((std::uint64_t{1} << pieces.element_bits) - 1);
    return (scattered(i >> pieces.element_bits, pieces.piece_bits) << pieces.element_bits) | inside;
  }

  template <int kWidth, class Visit>
  static __device__ void walk(std::uint64_t elements, Pieces pieces, Visit visit) {
    Merged::walk<kWidth, Visit, Scattered>(elements, pieces, visit);
  }
};

// A thread takes a chunk of 128 bytes and visits its elements one after another.
struct Strided {
  template <int kWidth, class Visit>
  static __device__ void walk(std::uint64_t elements, Pieces /*pieces*/, Visit visit) {
    constexpr std::uint64_t kElements = kChunkBytes / kWidth;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    const std::uint64_t chunks = elements / kElements;
    for (std::uint64_t chunk = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; chunk < chunks;
         chunk += stride) {
      for (std::uint64_t k = 0; k < kElements; ++k) {
        visit.template many<1>([=](int) { return chunk * kElements + k; });
      }
    }
  }
};

// Loads the elements at place(0), place(1), …, all of them before the first is used, and adds up their words.
template <int kWidth>
struct LoadAndSum {
  using Type = typename Element<kWidth>::Type;
  const Type* data;
  std::uint64_t* sum;

  template <int kMany, class Place>
  __device__ void many(Place place) const {
    Type values[kMany];
#pragma unroll
    for (int k = 0; k < kMany; ++k) {
      values[k] = data[place(k)];
    }
#pragma unroll
    for (int k = 0; k < kMany; ++k) {
      *sum += word_sum(values[k]);
    }
  }
};

// Stores the pattern to the elements at place(0), place(1), ….
template <int kWidth>
struct StorePattern {
  using Type = typename Element<kWidth>::Type;
  Type* data;

  template <int kMany, class Place>
  __device__ void many(Place place) const {
#pragma unroll
    for (int k = 0; k < kMany; ++k) {
      data[place(k)] = pattern_element<kWidth>(place(k));
    }
  }
};

__device__ void note_multiprocessor(WalkOutcome* outcome) {
  if (threadIdx.x == 0) {
    unsigned number = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    atomicOr(&outcome->multiprocessors[number / 32 % (kMostMultiprocessors / 32)], 1U << (number % 32));
  }
}

template <class Pattern, int kWidth>
__global__ void read_walk(const std::byte* first, std::uint64_t elements, Pieces pieces,
                          WalkOutcome* outcome) {
  std::uint64_t sum = 0;
  using Visit = LoadAndSum<kWidth>;
  Pattern::template walk<kWidth>(elements, pieces,
                                 Visit{reinterpret_cast<const typename Visit::Type*>(first), &sum});
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    sum += __shfl_down_sync(~0U, sum, lanes);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&outcome->sum, sum);
  }
  note_multiprocessor(outcome);
}

template <class Pattern, int kWidth>
__global__ void write_walk(std::byte* first, std::uint64_t elements, Pieces pieces, WalkOutcome* outcome) {
  using Visit = StorePattern<kWidth>;
  Pattern::template walk<kWidth>(elements, pieces, Visit{reinterpret_cast<typename Visit::Type*>(first)});
  note_multiprocessor(outcome);
}

// A warp adds up what is in its stage.
__device__ std::uint64_t sum_of_chunk(const std::byte* chunk, unsigned bytes) {
  std::uint64_t sum = 0;
  for (unsigned at = static_cast<unsigned>(cuda::lane_of_warp()) * sizeof(uint4); at < bytes;
       at += cuda::kLanesOfWarp * sizeof(uint4)) {
    sum += word_sum(*reinterpret_cast<const uint4*>(chunk + at));
  }
  return sum;
}

// By bulk copies: each warp has a chunk loaded into its stage and adds it up.
__global__ void __launch_bounds__(kMostStages* cuda::kLanesOfWarp)
    read_chunks(const std::byte* first, std::uint64_t bytes, unsigned chunk_bytes, WalkOutcome* outcome) {
  cuda::BulkStage stage(chunk_bytes);
  const std::uint64_t stride = cuda::stages_of_grid() * chunk_bytes;
  std::uint64_t sum = 0;
  for (std::uint64_t at = cuda::stage_of_grid() * chunk_bytes; at < bytes; at += stride) {
    const auto size = static_cast<unsigned>(min(std::uint64_t{chunk_bytes}, bytes - at));
    if (cuda::lane_of_warp() == 0) {
      stage.expect(size);
      stage.load(0, first + at, size);
    }
    stage.wait();
    sum += sum_of_chunk(stage.chunk(), size);
    cuda::bulk_fence();
    __syncwarp();
  }
  sum = cuda::sum_of_warp(sum);
  if (cuda::lane_of_warp() == 0) {
    atomicAdd(&outcome->sum, sum);
  }
  note_multiprocessor(outcome);
}

// And each warp writes the pattern into its stage and has it stored.
__global__ void __launch_bounds__(kMostStages* cuda::kLanesOfWarp)
    write_chunks(std::byte* first, std::uint64_t bytes, unsigned chunk_bytes, WalkOutcome* outcome) {
  const cuda::BulkStage stage(chunk_bytes);
  const std::uint64_t stride = cuda::stages_of_grid() * chunk_bytes;
  for (std::uint64_t at = cuda::stage_of_grid() * chunk_bytes; at < bytes; at += stride) {
    const auto size = static_cast<unsigned>(min(std::uint64_t{chunk_bytes}, bytes - at));
    for (unsigned i = static_cast<unsigned>(cuda::lane_of_warp()) * sizeof(uint4); i < size;
         i += cuda::kLanesOfWarp * sizeof(uint4)) {
      *reinterpret_cast<uint4*>(stage.chunk() + i) = pattern_element<sizeof(uint4)>((at + i) / sizeof(uint4));
    }
    cuda::bulk_fence();
    __syncwarp();
    if (cuda::lane_of_warp() == 0) {
      cuda::bulk_store(first + at, stage.chunk(), size);
      cuda::bulk_commit();
      cuda::bulk_wait_read<0>();
    }
    __syncwarp();
  }
  if (cuda::lane_of_warp() == 0) {
    cuda::bulk_wait_stored();
  }
  note_multiprocessor(outcome);
}

using ReadKernel = void (*)(const std::byte*, std::uint64_t, Pieces, WalkOutcome*);
using WriteKernel = void (*)(std::byte*, std::uint64_t, Pieces, WalkOutcome*);

// The one place that turns a walk's values into template arguments.
template <template <class, int> class Pick, int kWidth>
auto pick_pattern(Walk::Pattern pattern) {
  switch (pattern) {
    case Walk::Pattern::strided:
      return Pick<Strided, kWidth>::kernel;
    case Walk::Pattern::merged:
      return Pick<Merged, kWidth>::kernel;
    case Walk::Pattern::scattered:
      return Pick<Scattered, kWidth>::kernel;
  }
  throw UsageError("a walk has a pattern that does not exist");
}
template <template <class, int> class Pick>
auto pick_kernel(const Walk& walk) {
  switch (walk.width_bytes) {
    case 4:
      return pick_pattern<Pick, 4>(walk.pattern);
    case 8:
      return pick_pattern<Pick, 8>(walk.pattern);
    case 16:
      return pick_pattern<Pick, 16>(walk.pattern);
    default:
      throw UsageError("an access is 4, 8 or 16 bytes wide, not " + std::to_string(walk.width_bytes));
  }
}
template <class Pattern, int kWidth>
struct PickRead {
  static constexpr ReadKernel kernel = read_walk<Pattern, kWidth>;
};
template <class Pattern, int kWidth>
struct PickWrite {
  static constexpr WriteKernel kernel = write_walk<Pattern, kWidth>;
};

Pieces pieces_of(const Walk& walk, std::uint64_t bytes) {
  if (walk.pattern != Walk::Pattern::scattered) {
    return {};
  }
  return {std::countr_zero(walk.piece_bytes / static_cast<std::uint64_t>(walk.width_bytes)),
          std::countr_zero(bytes / walk.piece_bytes)};
}

std::uint64_t shared_bytes(const Walk& walk) {
  return cuda::BulkStage::shared_bytes(walk.chunk_bytes, walk.stages);
}

// Launches read_chunks or write_chunks.
template <class Kernel, class Byte>
void launch_chunks(Kernel kernel, const char* name, const Walk& walk, unsigned blocks, Byte* first,
                   std::uint64_t bytes, WalkOutcome* outcome, cudaStream_t stream) {
  kernel<<<blocks, static_cast<unsigned>(walk.stages * cuda::kLanesOfWarp),
           static_cast<unsigned>(shared_bytes(walk)), stream>>>(
      first, bytes, static_cast<unsigned>(walk.chunk_bytes), outcome);
  cuda::check_launch(name);
}

// Loads the kernel of a walk for `gpu`, which is current.
void load_walk_kernel(const Walk& walk, bool reads, int gpu) {
  if (walk.load == Load::bulk && reads) {
    return cuda::load_bulk_kernel(read_chunks, shared_bytes(walk), gpu);
  }
  if (walk.load == Load::bulk) {
    return cuda::load_bulk_kernel(write_chunks, shared_bytes(walk), gpu);
  }
  const void* kernel = reads ? reinterpret_cast<const void*>(pick_kernel<PickRead>(walk))
                             : reinterpret_cast<const void*>(pick_kernel<PickWrite>(walk));
  cuda::load_kernel(kernel, "load the kernel of a walk");
}

// Reads `bytes` from `first`, and adds every word's value to the outcome's sum.
void launch_read_walk(const Walk& walk, unsigned blocks, const std::byte* first, std::uint64_t bytes,
                      WalkOutcome* outcome, cudaStream_t stream) {
  if (walk.load == Load::bulk) {
    return launch_chunks(read_chunks, "read_chunks", walk, blocks, first, bytes, outcome, stream);
  }
  const auto kernel = pick_kernel<PickRead>(walk);
  kernel<<<blocks, static_cast<unsigned>(walk.threads), 0, stream>>>(
      first, bytes / static_cast<std::uint64_t>(walk.width_bytes), pieces_of(walk, bytes), outcome);
  cuda::check_launch("read_walk");
}

// Writes the payload's pattern to `bytes` from `first`.
void launch_write_walk(const Walk& walk, unsigned blocks, std::byte* first, std::uint64_t bytes,
                       WalkOutcome* outcome, cudaStream_t stream) {
  if (walk.load == Load::bulk) {
    return launch_chunks(write_chunks, "write_chunks", walk, blocks, first, bytes, outcome, stream);
  }
  const auto kernel = pick_kernel<PickWrite>(walk);
  kernel<<<blocks, static_cast<unsigned>(walk.threads), 0, stream>>>(
      first, bytes / static_cast<std::uint64_t>(walk.width_bytes), pieces_of(walk, bytes), outcome);
  cuda::check_launch("write_walk");
}

// The end that is memory, by any of the ways to make it, with room for the walk's offset.
class WalkedMemory {
 public:
  WalkedMemory(const Transfer& transfer, const Endpoint& end, const Surroundings& surroundings)
      : words_(transfer.bytes / sizeof(std::uint32_t)) {
    const int offset = transfer.walk.offset_bytes;
    if (end.on_host() && transfer.allocation == Allocation::accessed_by) {
      const std::uint64_t bytes = transfer.bytes + static_cast<std::uint64_t>(offset);
      managed_.emplace(*surroundings.managed, transfer.gpu(), bytes);
      cuda::check(cuda::advise(managed_->data(), bytes, cudaMemAdviseSetAccessedBy,
                               cuda::Location::gpu(transfer.gpu())),
                  "map managed memory for GPU " + std::to_string(transfer.gpu()));
      device_ = static_cast<std::byte*>(managed_->data()) + offset;
      return;
    }
    Endpoint place = end;
    if (end.on_host() && transfer.allocation == Allocation::registered) {
      place.placement = Placement::registered;
    } else if (end.on_host() && transfer.allocation == Allocation::managed_host) {
      place.placement = Placement::managed_host;
    }
    buffer_.emplace(place, transfer.bytes, surroundings, offset);
    device_ = buffer_->device_data();
  }

  // As the kernel addresses it.
  [[nodiscard]] std::byte* device() const { return device_; }

  void fill(std::uint32_t seed) const {
    if (buffer_) {
      buffer_->fill(seed);
    } else {
      grainscope::fill_pattern(managed_words(), words_, seed);
    }
  }
  void expect_payload() const {
    if (buffer_) {
      buffer_->expect_payload();
    } else {
      transfer::expect_payload(grainscope::find_mismatch(managed_words(), words_, kPayload), "on the host");
    }
  }
  void flush() const {
    if (buffer_) {
      buffer_->flush();
    }
  }
  void expect_on_host() const {
    if (buffer_) {
      buffer_->expect_on_host();
    }
  }

 private:
  [[nodiscard]] std::uint32_t* managed_words() const { return reinterpret_cast<std::uint32_t*>(device_); }

  std::uint64_t words_;
  std::optional<EndMemory> buffer_;
  std::optional<cuda::ManagedBuffer> managed_;
  std::byte* device_ = nullptr;
};

class WalkLane final : public Lane {
 public:
  WalkLane(const Transfer& transfer, const Surroundings& surroundings)
      : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
        transfer_(transfer),
        reads_(transfer.destination.placement == Placement::registers),
        reach_(transfer),
        memory_(transfer, reads_ ? transfer.source : transfer.destination, surroundings),
        // The running outcome lives on the GPU: on the host it would be written over the link that is
        // measured.
        outcome_(transfer.gpu(), sizeof(WalkOutcome)) {
    load_walk_kernel(transfer.walk, reads_, transfer.gpu());
    memory_.fill(reads_ ? kPayload : kPoison);
    cuda::check(cudaMemset(outcome_.data(), 0, sizeof(WalkOutcome)), "clear a sum on the GPU");
  }

  void prepare() override {
    if (transfer_.flush) {
      memory_.flush();
    }
    memory_.expect_on_host();
  }
  void check_sample() override { memory_.expect_on_host(); }

  void issue(const cuda::Stream& stream) override {
    ++launches_;
    auto* outcome = static_cast<WalkOutcome*>(outcome_.data());
    if (reads_) {
      launch_read_walk(transfer_.walk, blocks(), memory_.device(), bytes(), outcome, stream.get());
    } else {
      launch_write_walk(transfer_.walk, blocks(), memory_.device(), bytes(), outcome, stream.get());
    }
  }

  std::string verify() override {
    if (!reads_) {
      memory_.expect_payload();
      return "every word in the memory written, which held other data before";
    }
    const std::uint64_t once = pattern_sum(0, bytes() / sizeof(std::uint32_t), kPayload);
    if (launches_ == 0 || outcome().sum != once * launches_) {
      throw FailedError("wrong result: the words read do not add up to what was written there");
    }
    return "the sum of every word that every sample read";
  }

  [[nodiscard]] std::string action() const override { return "one kernel"; }

  void describe(Measurement& measurement) const override {
    // Into how many requests a bulk copy is divided, the model does not know.
    if (transfer_.walk.load != Load::bulk) {
      measurement.traffic = walk_traffic(transfer_.walk, bytes(), false);
      const Traffic without_cache = walk_traffic(transfer_.walk, bytes(), true);
      measurement.counters["requests_without_cache"] = static_cast<double>(without_cache.requests);
      measurement.counters["amplification_without_cache"] = without_cache.amplification;
    }
    measurement.counters["blocks"] = blocks();
    int multiprocessors = 0;
    for (const std::uint32_t bits : outcome().multiprocessors) {
      multiprocessors += std::popcount(bits);
    }
    measurement.counters["multiprocessors"] = multiprocessors;
  }

 private:
  [[nodiscard]] WalkOutcome outcome() const {
    WalkOutcome outcome{};
    cuda::check(cudaMemcpy(&outcome, outcome_.data(), sizeof(outcome), cudaMemcpyDeviceToHost),
                "read what a walk left");
    return outcome;
  }

  // As many blocks as asked for, or two a multiprocessor, which kernels that run at once share; but none
  // without work.
  [[nodiscard]] unsigned blocks() const {
    const Walk& walk = transfer_.walk;
    if (walk.load == Load::bulk) {
      return bulk_blocks(walk, bytes(), gpu());
    }
    if (walk.blocks > 0) {
      return static_cast<unsigned>(walk.blocks);
    }
    const std::uint64_t per_thread =
        walk.pattern == Walk::Pattern::strided ? kChunkBytes : static_cast<std::uint64_t>(walk.width_bytes);
    const auto threads = static_cast<std::uint64_t>(walk.threads);
    const std::uint64_t useful = (bytes() / per_thread + threads - 1) / threads;
    const auto full = static_cast<std::uint64_t>(std::max(1, 2 * cuda::sm_count(gpu()) / walk.kernels));
    return static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, full));
  }

  Transfer transfer_;
  bool reads_;
  PeerReach reach_;
  WalkedMemory memory_;
  cuda::DeviceBuffer outcome_;
  std::uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<Lane> make_walk_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<WalkLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
