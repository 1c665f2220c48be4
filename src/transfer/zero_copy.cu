// Zero-copy transfers: a kernel loads from, or stores to, host memory over the link. The toy of EMOGI
// (section 3.3, figures 3 and 4) and of Comm|Scope (section 3.3), with every load's result used.

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <optional>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/pattern.hpp"
#include "host_buffer.hpp"
#include "movers.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kChunkBytes = 128;
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

// Element numbers that a thread visits: consecutive lanes take consecutive elements.
struct Merged {
  template <int kWidth, class Visit>
  static __device__ void walk(std::uint64_t elements, Visit visit) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (; i + (kInFlight - 1) * stride < elements; i += kInFlight * stride) {
      visit.template many<kInFlight>(i, stride);
    }
    for (; i < elements; i += stride) {
      visit.template many<1>(i, stride);
    }
  }
};

// A thread takes a chunk of 128 bytes and visits its elements one after another.
struct Strided {
  template <int kWidth, class Visit>
  static __device__ void walk(std::uint64_t elements, Visit visit) {
    constexpr std::uint64_t kElements = kChunkBytes / kWidth;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    const std::uint64_t chunks = elements / kElements;
    for (std::uint64_t chunk = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; chunk < chunks;
         chunk += stride) {
      for (std::uint64_t k = 0; k < kElements; ++k) {
        visit.template many<1>(chunk * kElements + k, 0);
      }
    }
  }
};

// Loads elements i, i + stride, …, all of them before the first is used, and adds up their words.
template <int kWidth>
struct LoadAndSum {
  using Type = typename Element<kWidth>::Type;
  const Type* data;
  std::uint64_t* sum;

  template <int kMany>
  __device__ void many(std::uint64_t i, std::uint64_t stride) const {
    Type values[kMany];
#pragma unroll
    for (int k = 0; k < kMany; ++k) {
      values[k] = data[i + k * stride];
    }
#pragma unroll
    for (int k = 0; k < kMany; ++k) {
      *sum += word_sum(values[k]);
    }
  }
};

// Stores the pattern to elements i, i + stride, ….
template <int kWidth>
struct StorePattern {
  using Type = typename Element<kWidth>::Type;
  Type* data;

  template <int kMany>
  __device__ void many(std::uint64_t i, std::uint64_t stride) const {
#pragma unroll
    for (int k = 0; k < kMany; ++k) {
      data[i + k * stride] = pattern_element<kWidth>(i + k * stride);
    }
  }
};

template <class Pattern, int kWidth>
__global__ void read_walk(const std::byte* first, std::uint64_t elements, unsigned long long* total) {
  std::uint64_t sum = 0;
  using Visit = LoadAndSum<kWidth>;
  Pattern::template walk<kWidth>(elements, Visit{reinterpret_cast<const typename Visit::Type*>(first), &sum});
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    sum += __shfl_down_sync(~0U, sum, lanes);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(total, sum);
  }
}

template <class Pattern, int kWidth>
__global__ void write_walk(std::byte* first, std::uint64_t elements) {
  using Visit = StorePattern<kWidth>;
  Pattern::template walk<kWidth>(elements, Visit{reinterpret_cast<typename Visit::Type*>(first)});
}

using ReadKernel = void (*)(const std::byte*, std::uint64_t, unsigned long long*);
using WriteKernel = void (*)(std::byte*, std::uint64_t);

// The one place that turns a walk's values into template arguments.
template <template <class, int> class Pick>
auto pick_kernel(const Walk& walk) {
  const bool strided = walk.pattern == Walk::Pattern::strided;
  switch (walk.width_bytes) {
    case 4:
      return strided ? Pick<Strided, 4>::kernel : Pick<Merged, 4>::kernel;
    case 8:
      return strided ? Pick<Strided, 8>::kernel : Pick<Merged, 8>::kernel;
    case 16:
      return strided ? Pick<Strided, 16>::kernel : Pick<Merged, 16>::kernel;
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

// Mapped host memory by any of the three ways, with room for the offset.
class MappedMemory {
 public:
  MappedMemory(const Transfer& transfer, const Surroundings& surroundings) {
    const std::uint64_t bytes = transfer.bytes + kChunkBytes;
    const int gpu = transfer.gpu_end().id;
    if (transfer.allocation == Allocation::accessed_by) {
      managed_.emplace(*surroundings.managed, gpu, bytes);
      cuda::check(cuda::advise(managed_->data(), bytes, cudaMemAdviseSetAccessedBy, cuda::Location::gpu(gpu)),
                  "map managed memory for GPU " + std::to_string(gpu));
      host_ = device_ = static_cast<std::byte*>(managed_->data());
      return;
    }
    const Placement placement =
        transfer.allocation == Allocation::registered ? Placement::registered : Placement::pinned;
    buffer_.emplace(placement, bytes, transfer.host_end().id, *surroundings.topology);
    host_ = static_cast<std::byte*>(buffer_->data());
    device_ = static_cast<std::byte*>(buffer_->device_data());
  }

  [[nodiscard]] std::byte* host() const { return host_; }
  [[nodiscard]] std::byte* device() const { return device_; }
  void flush() const {
    if (buffer_) {
      buffer_->flush();
    }
  }

 private:
  std::optional<HostBuffer> buffer_;
  std::optional<cuda::ManagedBuffer> managed_;
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
};

class ZeroCopyMover final : public Mover {
 public:
  ZeroCopyMover(const Transfer& transfer, const Surroundings& surroundings)
      : transfer_(transfer),
        binding_(*surroundings.topology, transfer.host_end().id),
        guard_(transfer.gpu_end().id),
        memory_(transfer, surroundings),
        sum_(transfer.gpu_end().id, sizeof(unsigned long long)) {
    if (transfer.to_gpu()) {
      read_ = pick_kernel<PickRead>(transfer.walk);
      load(reinterpret_cast<const void*>(read_));
      expected_sum_ = pattern_sum(0, words(), kPayload);
    } else {
      write_ = pick_kernel<PickWrite>(transfer.walk);
      load(reinterpret_cast<const void*>(write_));
    }
    grainscope::fill_pattern(host_words(), words(), transfer.to_gpu() ? kPayload : kPoison);
    // The running total lives on the GPU: on the host it would be written over the link that is measured.
    cuda::check(cudaMemset(sum_.data(), 0, sizeof(unsigned long long)), "clear a sum on the GPU");
  }

  void prepare() override {
    if (transfer_.flush) {
      memory_.flush();
    }
  }

  double run() override {
    ++launches_;
    return stopwatch_.time_s(stream_, [this] { launch(); });
  }

  std::string verify() override {
    stream_.synchronize();
    if (!transfer_.to_gpu()) {
      expect_payload(grainscope::find_mismatch(host_words(), words(), kPayload), "on the host");
      return "every word in host memory, which held other data before";
    }
    if (launches_ == 0) {
      throw FailedError("wrong result: nothing was read");
    }
    unsigned long long sum = 0;
    cuda::check(cudaMemcpy(&sum, sum_.data(), sizeof(sum), cudaMemcpyDeviceToHost), "read a sum");
    if (sum != expected_sum_ * launches_) {
      throw FailedError("wrong result: the words read do not add up to what the host wrote");
    }
    return "the sum of every word that every sample read";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true, "one kernel between two events"};
  }

  void annotate(Measurement& measurement) const override {
    measurement.traffic = walk_traffic(transfer_.walk, transfer_.bytes, false);
    const Traffic without_cache = walk_traffic(transfer_.walk, transfer_.bytes, true);
    measurement.counters["requests_without_cache"] = static_cast<double>(without_cache.requests);
    measurement.counters["amplification_without_cache"] = without_cache.amplification;
    measurement.counters["blocks"] = blocks();
  }

 private:
  [[nodiscard]] std::uint64_t words() const { return transfer_.bytes / sizeof(std::uint32_t); }
  [[nodiscard]] std::uint32_t* host_words() const {
    return reinterpret_cast<std::uint32_t*>(memory_.host() + transfer_.walk.offset_bytes);
  }

  static void load(const void* kernel) {
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, kernel), "load a zero-copy kernel");
  }

  // As many blocks as asked for, or two a multiprocessor, but none without work.
  [[nodiscard]] unsigned blocks() const {
    const Walk& walk = transfer_.walk;
    if (walk.blocks > 0) {
      return static_cast<unsigned>(walk.blocks);
    }
    const std::uint64_t per_thread =
        walk.pattern == Walk::Pattern::strided ? kChunkBytes : static_cast<std::uint64_t>(walk.width_bytes);
    const std::uint64_t useful = (transfer_.bytes / per_thread + walk.threads - 1) / walk.threads;
    const auto full = static_cast<std::uint64_t>(2 * cuda::sm_count(transfer_.gpu_end().id));
    return static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, full));
  }

  void launch() const {
    std::byte* first = memory_.device() + transfer_.walk.offset_bytes;
    const std::uint64_t elements = transfer_.bytes / static_cast<std::uint64_t>(transfer_.walk.width_bytes);
    const auto threads = static_cast<unsigned>(transfer_.walk.threads);
    if (transfer_.to_gpu()) {
      read_<<<blocks(), threads, 0, stream_.get()>>>(first, elements,
                                                     static_cast<unsigned long long*>(sum_.data()));
    } else {
      write_<<<blocks(), threads, 0, stream_.get()>>>(first, elements);
    }
    cuda::check_launch("zero-copy walk");
  }

  Transfer transfer_;
  NodeBinding binding_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::GatedStopwatch stopwatch_;
  MappedMemory memory_;
  cuda::DeviceBuffer sum_;
  ReadKernel read_ = nullptr;
  WriteKernel write_ = nullptr;
  std::uint64_t expected_sum_ = 0;
  std::uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<Mover> make_zero_copy(const Transfer& transfer, const Surroundings& surroundings) {
  const Walk& walk = transfer.walk;
  if (walk.offset_bytes < 0 || walk.offset_bytes >= static_cast<int>(kChunkBytes) || walk.width_bytes <= 0 ||
      walk.offset_bytes % walk.width_bytes != 0 || transfer.bytes % kChunkBytes != 0) {
    throw UsageError(
        "a walk begins at a multiple of its width below 128 bytes and covers whole 128-byte "
        "chunks; not offset " +
        std::to_string(walk.offset_bytes) + ", width " + std::to_string(walk.width_bytes) + ", " +
        std::to_string(transfer.bytes) + " bytes");
  }
  return std::make_unique<ZeroCopyMover>(transfer, surroundings);
}

}  // namespace grainscope::transfer
