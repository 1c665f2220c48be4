#ifndef GRAINSCOPE_BENCHMARKS_SPAN_CACHE_HPP
#define GRAINSCOPE_BENCHMARKS_SPAN_CACHE_HPP

// One memory for all cases that read the same kind of it, of whichever family: locking tens of GiB takes
// seconds, and a case milliseconds. It grows with the spans that are asked for, and nobody writes to it, so
// that each finds the pattern in it that it verifies.

#include "claim_cache.hpp"
#include "grainscope/reach/span_memory.hpp"

namespace grainscope::harness {

// What tells one memory from another.
struct SpanKey {
  reach::SpanKind kind = reach::SpanKind::host_alloc;
  int gpu = 0;
  int home = 0;
  friend bool operator==(const SpanKey&, const SpanKey&) = default;
};

using SpanCache = ClaimCache<SpanKey, reach::SpanMemory>;

// The memory of a claim, as large as that asks for, for as long as one session lasts.
class [[nodiscard]] SpanLease {
 public:
  // Throws as SpanMemory::grow; the session counts all the same.
  SpanLease(SpanCache& cache, SpanCache::Claim& claim, const Topology& topology);
  [[nodiscard]] const reach::SpanMemory& memory() const { return *lease_; }

 private:
  SpanCache::Lease lease_;
};

}  // namespace grainscope::harness

#endif
