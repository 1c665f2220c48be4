#ifndef GRAINSCOPE_BENCHMARKS_FAMILIES_HPP
#define GRAINSCOPE_BENCHMARKS_FAMILIES_HPP

// The one table of families. A new one is a file in this folder, a declaration here and a line in
// families.cpp.

#include <memory>
#include <string>
#include <vector>

#include "harness/benchmark.hpp"

namespace grainscope::harness {

class GnnGraph;
template <class Key, class Value>
class ClaimCache;
class ModelRuns;
}  // namespace grainscope::harness

namespace grainscope::reach {
class SpanMemory;
}

namespace grainscope::harness {

[[nodiscard]] Family contention();
// What the families that read tens of GiB of host memory share: that memory, since locking it takes seconds.
using Spans = std::shared_ptr<ClaimCache<cuda::MappedRequest, reach::SpanMemory>>;
[[nodiscard]] Spans new_spans();
[[nodiscard]] Family reach_gather(const Spans& spans = new_spans());
[[nodiscard]] Family gather(const Spans& spans = new_spans());
[[nodiscard]] Family gather_bag(const Spans& spans = new_spans());
[[nodiscard]] Family sm_share_gather(const Spans& spans = new_spans());
[[nodiscard]] Family sm_share_split(const Spans& spans = new_spans());
[[nodiscard]] Family grain_gpu_memory();
[[nodiscard]] Family grain_pieces();
[[nodiscard]] Family grain_saturation();
[[nodiscard]] Family call();
[[nodiscard]] Family host_first_touch();
[[nodiscard]] Family host_flush();
[[nodiscard]] Family host_latency();
[[nodiscard]] Family host_malloc();
[[nodiscard]] Family host_memcpy();
[[nodiscard]] Family model_gather();
// What the families of the model compute, they share.
[[nodiscard]] Family model_traversal(const std::shared_ptr<ModelRuns>& runs);
[[nodiscard]] Family model_uvm(const std::shared_ptr<ModelRuns>& runs);
// What the families of graph neural networks sample and number, they share: graphs by name.
using GnnGraphs = std::shared_ptr<ClaimCache<std::string, GnnGraph>>;
[[nodiscard]] Family pipeline_graphsage(const GnnGraphs& graphs);
[[nodiscard]] Family sampling_neighbours(const GnnGraphs& graphs);
[[nodiscard]] Family tiering_reorder(const GnnGraphs& graphs);
[[nodiscard]] Family tiering_score(const GnnGraphs& graphs);
[[nodiscard]] Family shape_pages();
[[nodiscard]] Family shape_copy();
// Of the processes of a launch; null: of this one alone.
struct Launch;
[[nodiscard]] Family collective_operations(const std::shared_ptr<Launch>& ranks = nullptr);
[[nodiscard]] Family transfer_collective();
[[nodiscard]] Family transfer_duplex();
[[nodiscard]] Family transfer_host_copy();
[[nodiscard]] Family transfer_kernel_copy();
[[nodiscard]] Family transfer_local();
[[nodiscard]] Family latency_chase();
[[nodiscard]] Family latency_flag();
[[nodiscard]] Family latency_managed_touch();
[[nodiscard]] Family transfer_managed();
[[nodiscard]] Family transfer_memcpy();
[[nodiscard]] Family transfer_peer();
[[nodiscard]] Family transfer_relay();
[[nodiscard]] Family transfer_written();
[[nodiscard]] Family transfer_zero_copy();
[[nodiscard]] Family traversal();
[[nodiscard]] Family lean_traversal();

// All of them, in the order in which they run: the host first, since every other figure rests on it.
[[nodiscard]] std::vector<Family> all_families();

}  // namespace grainscope::harness

#endif
