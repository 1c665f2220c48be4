#include "walk_kernels.hpp"

#include <bit>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

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

}  // namespace

void load_walk_kernel(const Walk& walk, bool reads) {
  const void* kernel = reads ? reinterpret_cast<const void*>(pick_kernel<PickRead>(walk))
                             : reinterpret_cast<const void*>(pick_kernel<PickWrite>(walk));
  cudaFuncAttributes attributes{};
  cuda::check(cudaFuncGetAttributes(&attributes, kernel), "load the kernel of a walk");
}

void launch_read_walk(const Walk& walk, unsigned blocks, const std::byte* first, std::uint64_t bytes,
                      WalkOutcome* outcome, cudaStream_t stream) {
  const auto kernel = pick_kernel<PickRead>(walk);
  kernel<<<blocks, static_cast<unsigned>(walk.threads), 0, stream>>>(
      first, bytes / static_cast<std::uint64_t>(walk.width_bytes), pieces_of(walk, bytes), outcome);
  cuda::check_launch("read_walk");
}

void launch_write_walk(const Walk& walk, unsigned blocks, std::byte* first, std::uint64_t bytes,
                       WalkOutcome* outcome, cudaStream_t stream) {
  const auto kernel = pick_kernel<PickWrite>(walk);
  kernel<<<blocks, static_cast<unsigned>(walk.threads), 0, stream>>>(
      first, bytes / static_cast<std::uint64_t>(walk.width_bytes), pieces_of(walk, bytes), outcome);
  cuda::check_launch("write_walk");
}

}  // namespace grainscope::transfer
