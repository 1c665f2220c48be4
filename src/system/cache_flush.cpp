// One architecture's way to evict cache lines from user space. Each section gives the same four functions:
//   available(): this CPU can;  name(): the instruction;  bytes(): what one instruction evicts;
//   evict(first, last): evicts the lines at first, first + bytes(), … below last, and orders that before
//   every later access of the calling thread. `first` is aligned to bytes().

#include "grainscope/system/cache_flush.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "grainscope/core/error.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

namespace grainscope::cache_line {

// CPUID leaf 7, EBX bit 23: clflushopt.
inline bool has_clflushopt() noexcept {
  // Asked once: under a hypervisor one CPUID costs more than flushing a thousand lines.
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx >> 23 & 1) != 0;
  }();
  return has;
}

inline bool available() noexcept {
  return true;
}  // clflush is part of x86-64's SSE2
inline const char* name() noexcept {
  return has_clflushopt() ? "clflushopt" : "clflush";
}

// CPUID leaf 1, EBX bits 15 to 8: the line in units of eight bytes.
inline std::size_t bytes() noexcept {
  static const std::size_t line = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    const bool known = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ebx >> 8 & 0xff) != 0;
    return known ? (ebx >> 8 & 0xff) * std::size_t{8} : std::size_t{64};
  }();
  return line;
}

// Not ordered among themselves, hence many in flight: tens of times faster than clflush.
__attribute__((target("clflushopt"))) inline void evict_unordered(const char* first, const char* last,
                                                                  std::size_t step) noexcept {
  for (const char* line = first; line < last; line += step) {
    _mm_clflushopt(const_cast<char*>(line));
  }
}

inline void evict_ordered(const char* first, const char* last, std::size_t step) noexcept {
  for (const char* line = first; line < last; line += step) {
    _mm_clflush(line);
  }
}

inline void evict(const char* first, const char* last) noexcept {
  const std::size_t step = bytes();
  _mm_mfence();  // stores on their way reach the cache before it is emptied
  if (has_clflushopt()) {
    evict_unordered(first, last, step);
  } else {
    evict_ordered(first, last, step);
  }
  _mm_sfence();  // clflushopt is ordered by sfence; later loads are held back by mfence
  _mm_mfence();
}

}  // namespace grainscope::cache_line

#elif defined(__aarch64__)

namespace grainscope::cache_line {

inline bool available() noexcept {
  return true;
}  // Linux lets user space clean and invalidate (SCTLR_EL1.UCI)
inline const char* name() noexcept {
  return "dc civac";
}

// CTR_EL0 bits 19 to 16, DminLine: log2 of the words in the smallest data cache line.
inline std::size_t bytes() noexcept {
  std::uint64_t type = 0;
  asm volatile("mrs %0, ctr_el0" : "=r"(type));
  return std::size_t{4} << (type >> 16 & 0xf);
}

inline void evict(const char* first, const char* last) noexcept {
  const std::size_t step = bytes();
  asm volatile("dsb ish" ::: "memory");
  for (const char* line = first; line < last; line += step) {
    asm volatile("dc civac, %0" ::"r"(line) : "memory");
  }
  asm volatile("dsb sy" ::: "memory");
}

}  // namespace grainscope::cache_line

#elif defined(__powerpc64__)

namespace grainscope::cache_line {

inline bool available() noexcept {
  return true;
}
inline const char* name() noexcept {
  return "dcbf";
}
inline std::size_t bytes() noexcept {
  return 128;
}

inline void evict(const char* first, const char* last) noexcept {
  asm volatile("sync" ::: "memory");
  for (const char* line = first; line < last; line += bytes()) {
    asm volatile("dcbf 0, %0" ::"r"(line) : "memory");
  }
  asm volatile("sync" ::: "memory");
}

}  // namespace grainscope::cache_line

#else

namespace grainscope::cache_line {

inline bool available() noexcept {
  return false;
}
inline const char* name() noexcept {
  return "none";
}
inline std::size_t bytes() noexcept {
  return 64;
}
inline void evict(const char*, const char*) noexcept {}

}  // namespace grainscope::cache_line

#endif

namespace grainscope {

// Evicting a buffer from the caches, by one thread or several.

bool can_flush() noexcept {
  return cache_line::available();
}

std::string flush_instruction() {
  return cache_line::name();
}

std::size_t cache_line_bytes() noexcept {
  return cache_line::bytes();
}

void flush_cache(const void* data, std::size_t bytes, int threads) {
  if (!can_flush()) {
    throw EnvironmentError(
        "flushing " + std::to_string(bytes) +
        " bytes from the caches: this CPU architecture has no instruction for it in user space; "
        "choose cases without a flush");
  }
  if (threads < 1) {
    throw UsageError("flushing the caches with " + std::to_string(threads) +
                     " threads: at least 1 is needed");
  }
  if (bytes == 0) {
    return;
  }
  const std::size_t line = cache_line_bytes();
  const char* const begin = static_cast<const char*>(data);
  const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % line;
  const char* const first = begin - before;
  const char* const last = begin + bytes;
  const std::size_t lines = (before + bytes + line - 1) / line;
  const std::size_t shares = std::min<std::size_t>(static_cast<std::size_t>(threads), lines);
  const auto share_begin = [&](std::size_t share) { return first + lines * share / shares * line; };
  std::vector<std::jthread> workers;
  for (std::size_t share = 1; share < shares; ++share) {
    workers.emplace_back(
        [=] { cache_line::evict(share_begin(share), std::min(share_begin(share + 1), last)); });
  }
  cache_line::evict(first, std::min(share_begin(1), last));
}

}  // namespace grainscope
