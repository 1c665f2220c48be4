#ifndef GRAINSCOPE_BENCHMARKS_SPAN_CACHE_HPP
#define GRAINSCOPE_BENCHMARKS_SPAN_CACHE_HPP

// One memory for all cases that read the same kind of it: locking tens of GiB takes seconds, and a case
// milliseconds. It grows with the spans that are asked for and goes when no case that will run needs it.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/reach/span_memory.hpp"

namespace grainscope::harness {

// What tells one memory from another.
struct SpanKey {
  reach::SpanKind kind = reach::SpanKind::host_alloc;
  int gpu = 0;
  int home = 0;
  friend bool operator==(const SpanKey&, const SpanKey&) = default;
};

// Who will still ask for memory. A case's body owns its claim: a case that a filter, a shard or a resumed run
// leaves out is destroyed, and its claim with it, so that what is left is what will run.
class SpanClaims {
 public:
  struct Claim {
    SpanKey key;
    std::uint64_t bytes = 0;
    int sessions_left = 0;
  };

  [[nodiscard]] std::shared_ptr<Claim> add(const SpanKey& key, std::uint64_t bytes, int sessions);
  // Whether some session of a case that lives is still to come.
  [[nodiscard]] bool open(const SpanKey& key) const { return most_bytes(key) > 0; }
  // The most that any of those will ask for; 0: there are none.
  [[nodiscard]] std::uint64_t most_bytes(const SpanKey& key) const;

 private:
  std::vector<std::weak_ptr<Claim>> claims_;
};

class SpanCache {
 public:
  using Claim = SpanClaims::Claim;

  // A case that will ask for `bytes` in each of its `sessions`.
  [[nodiscard]] std::shared_ptr<Claim> claim(const SpanKey& key, std::uint64_t bytes, int sessions) {
    return claims_.add(key, bytes, sessions);
  }

  [[nodiscard]] std::uint64_t held_bytes() const { return memory_ != nullptr ? memory_->bytes() : 0; }

  // The memory, for as long as one session lasts; afterwards it goes if it was the last that needs it.
  class [[nodiscard]] Lease {
   public:
    // Throws as SpanMemory::grow; the session counts all the same. Memory of another kind goes first.
    Lease(SpanCache& cache, Claim& claim, const Topology& topology);
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] const reach::SpanMemory& memory() const { return *end_.cache.memory_; }

   private:
    struct SessionEnd {
      SpanCache& cache;
      Claim& claim;
      ~SessionEnd();
    };
    SessionEnd end_;
  };

 private:
  // The memory of a claim, as large as that asks for.
  void provide(const Claim& claim, const Topology& topology);

  SpanClaims claims_;
  SpanKey key_;  // of the memory, where there is one
  std::unique_ptr<reach::SpanMemory> memory_;
};

}  // namespace grainscope::harness

#endif
