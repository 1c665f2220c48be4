#ifndef GRAINSCOPE_BENCHMARKS_SHARE_CONSUMER_HPP
#define GRAINSCOPE_BENCHMARKS_SHARE_CONSUMER_HPP

// What sm_share/split computes beside the gather: products of matrices, or real training steps.

#include <memory>

#include "claim_cache.hpp"
#include "grainscope/gnn/share_work.hpp"

namespace grainscope::harness {

enum class Consumer { products, graphsage };
inline constexpr Consumer kConsumers[] = {Consumer::products, Consumer::graphsage};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Consumer consumer) {
  return consumer == Consumer::products ? "products" : "graphsage";
}

// As sentences have it.
[[nodiscard]] constexpr const char* spoken(Consumer consumer) {
  return consumer == Consumer::products ? "products of matrices" : "training steps of GraphSAGE";
}

// The mini-batch on which steps are repeated, the same in every process; rows of a KiB, as the gather's.
[[nodiscard]] std::unique_ptr<gnn::FixedBatch> make_share_batch();
// Host memory that it takes, about, and of the GPU's.
inline constexpr std::uint64_t kShareBatchBytes = std::uint64_t{512} << 20;
// One for the cases that train.
using FixedBatchCache = ClaimCache<int, gnn::FixedBatch>;

// As many of them at most in a sample.
[[nodiscard]] int most_of(Consumer consumer);
// So many of them in a sample; `batch` of training steps.
[[nodiscard]] std::unique_ptr<gnn::ShareWork> make_consumer(Consumer consumer, int gpu, int count,
                                                            const gnn::FixedBatch* batch,
                                                            const cuda::SmPartition& part);

}  // namespace grainscope::harness

#endif
