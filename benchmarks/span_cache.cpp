#include "span_cache.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {

Spans new_spans() {
  return std::make_shared<SpanCache>();
}

SpanLease::SpanLease(SpanCache& cache, SpanCache::Claim& claim, const Topology& topology)
    : lease_(cache, claim, [&](const SpanKey& key) {
        // Chunks no larger than any case needs: a run of small spans locks no GiB. Of more than a GiB only
        // where there would be too many of them.
        const std::uint64_t most = std::max(claim.bytes, cache.most_bytes(key));
        reach::SpanRequest request{key.kind, key.gpu, key.home};
        request.chunk_bytes = std::bit_ceil(
            std::max(std::clamp(most, 4 * kKiB, kGiB), (most + reach::kMostChunks - 1) / reach::kMostChunks));
        return std::make_unique<reach::SpanMemory>(topology, std::move(request));
      }) {
  lease_->grow(claim.bytes);
}

}  // namespace grainscope::harness
