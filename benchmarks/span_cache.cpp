#include "span_cache.hpp"

#include <algorithm>
#include <bit>

#include "grainscope/core/units.hpp"

namespace grainscope::harness {

std::shared_ptr<SpanClaims::Claim> SpanClaims::add(const SpanKey& key, std::uint64_t bytes, int sessions) {
  auto claim = std::make_shared<Claim>(Claim{key, bytes, sessions});
  claims_.push_back(claim);
  return claim;
}

std::uint64_t SpanClaims::most_bytes(const SpanKey& key) const {
  std::uint64_t most = 0;
  for (const std::weak_ptr<Claim>& each : claims_) {
    const auto claim = each.lock();
    if (claim != nullptr && claim->key == key && claim->sessions_left > 0) {
      most = std::max(most, claim->bytes);
    }
  }
  return most;
}

SpanCache::Lease::Lease(SpanCache& cache, Claim& claim, const Topology& topology) : end_{cache, claim} {
  cache.provide(claim, topology);
}

SpanCache::Lease::SessionEnd::~SessionEnd() {
  claim.sessions_left = std::max(0, claim.sessions_left - 1);
  if (!cache.claims_.open(claim.key)) {
    cache.memory_.reset();
  }
}

void SpanCache::provide(const Claim& claim, const Topology& topology) {
  if (memory_ != nullptr && !(key_ == claim.key)) {
    memory_.reset();
  }
  if (memory_ == nullptr) {
    // Chunks no larger than any case needs: a run of small spans locks no GiB.
    const std::uint64_t most = std::max(claim.bytes, claims_.most_bytes(claim.key));
    reach::SpanRequest request{claim.key.kind, claim.key.gpu, claim.key.home};
    request.chunk_bytes = std::bit_ceil(std::clamp(most, 4 * kKiB, kGiB));
    memory_ = std::make_unique<reach::SpanMemory>(topology, std::move(request));
    key_ = claim.key;
  }
  memory_->grow(claim.bytes);
}

}  // namespace grainscope::harness
