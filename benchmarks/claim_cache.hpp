#ifndef GRAINSCOPE_BENCHMARKS_CLAIM_CACHE_HPP
#define GRAINSCOPE_BENCHMARKS_CLAIM_CACHE_HPP

// One large thing at a time that several cases share and that takes long to make: it is kept until no case
// that will run needs it, or another is asked for.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "grainscope/reach/span_memory.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

template <class Key, class Value>
class ClaimCache {
 public:
  // Held by a case's body: a case that a filter, a shard or a resumed run leaves out is destroyed, and its
  // claim with it, so that what is left is what will run.
  struct Claim {
    Key key;
    int sessions_left = 0;
    std::uint64_t bytes = 0;  // of a thing that grows: how much of it this case needs
  };

  // A case that will ask for the thing of `key` in each of its `sessions`.
  [[nodiscard]] std::shared_ptr<Claim> claim(Key key, int sessions, std::uint64_t bytes = 0) {
    auto claim = std::make_shared<Claim>(Claim{std::move(key), sessions, bytes});
    claims_.push_back(claim);
    return claim;
  }

  // The most bytes that any session still to come needs of the thing of `key`; 0 where there is none.
  [[nodiscard]] std::uint64_t most_bytes(const Key& key) const {
    std::uint64_t most = 0;
    for (const std::weak_ptr<Claim>& each : claims_) {
      if (const auto claim = each.lock(); wants(claim, key)) {
        most = std::max(most, claim->bytes);
      }
    }
    return most;
  }

  // The thing, for as long as one session lasts.
  class [[nodiscard]] Lease {
   public:
    // Where it is not there, `make` makes it, after another has gone. Throws what that throws; the session
    // counts all the same.
    Lease(ClaimCache& cache, Claim& claim, const std::function<std::unique_ptr<Value>(const Key&)>& make)
        : end_{cache, claim} {
      if (cache.value_ == nullptr || !(cache.key_ == claim.key)) {
        cache.value_.reset();
        cache.value_ = make(claim.key);
        cache.key_ = claim.key;
      }
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] Value& operator*() const { return *end_.cache.value_; }
    [[nodiscard]] Value* operator->() const { return end_.cache.value_.get(); }

   private:
    struct SessionEnd {
      ClaimCache& cache;
      Claim& claim;
      ~SessionEnd() {
        claim.sessions_left = std::max(0, claim.sessions_left - 1);
        if (!cache.open(claim.key)) {
          cache.value_.reset();
        }
      }
    };
    SessionEnd end_;
  };

  [[nodiscard]] bool holds() const { return value_ != nullptr; }
  // Whether some session of a case that lives is still to come.
  [[nodiscard]] bool open(const Key& key) const {
    return std::any_of(claims_.begin(), claims_.end(),
                       [&](const std::weak_ptr<Claim>& each) { return wants(each.lock(), key); });
  }

 private:
  [[nodiscard]] static bool wants(const std::shared_ptr<Claim>& claim, const Key& key) {
    return claim != nullptr && claim->key == key && claim->sessions_left > 0;
  }

  std::vector<std::weak_ptr<Claim>> claims_;
  std::optional<Key> key_;
  std::unique_ptr<Value> value_;
};

// One memory for all cases that read the same kind of it, of whichever family: locking tens of GiB takes
// seconds, and a case milliseconds. It grows with the spans that are asked for, and nobody writes to it, so
// that each finds the pattern in it that it verifies.

// What tells one memory from another.
using SpanKey = cuda::MappedRequest;

using SpanCache = ClaimCache<SpanKey, reach::SpanMemory>;

// The memory of a claim, as large as that asks for, for as long as one session lasts.
class [[nodiscard]] SpanLease {
 public:
  // Throws as SpanMemory::grow; the session counts all the same.
  SpanLease(SpanCache& cache, SpanCache::Claim& claim, const cuda::Surroundings& surroundings);
  [[nodiscard]] const reach::SpanMemory& memory() const { return *lease_; }

 private:
  SpanCache::Lease lease_;
};

// For MeasureOptions: that managed memory stays on the host. Null: there is no memory that could leave.
[[nodiscard]] inline std::function<void()> residency_of(const reach::SpanMemory* memory) {
  return memory == nullptr
             ? nullptr
             : residency_of(memory->request().memory.kind, [memory] { memory->expect_on_host(); });
}

inline SpanLease::SpanLease(SpanCache& cache, SpanCache::Claim& claim, const cuda::Surroundings& surroundings)
    : lease_(cache, claim, [&](const SpanKey& key) {
        // Chunks no larger than any case needs: a run of small spans locks no GiB. Of more than a GiB only
        // where there would be too many of them.
        const std::uint64_t most = std::max(claim.bytes, cache.most_bytes(key));
        reach::SpanRequest request{key};
        request.chunk_bytes = std::bit_ceil(
            std::max(std::clamp(most, 4 * kKiB, kGiB), (most + reach::kMostChunks - 1) / reach::kMostChunks));
        return std::make_unique<reach::SpanMemory>(surroundings, std::move(request));
      }) {
  lease_->grow(claim.bytes);
}

}  // namespace grainscope::harness

#endif
