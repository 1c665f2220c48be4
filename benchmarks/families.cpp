#include "families.hpp"

#include "claim_cache.hpp"
#include "gnn/case.hpp"
#include "harness/table.hpp"
#include "model/runs.hpp"

namespace grainscope::harness {

std::vector<Family> all_families() {
  // One graph at a time: in full each family begins with that which the one before it ended with.
  const auto graphs = std::make_shared<GnnGraphCache>();
  const Spans spans = new_spans();
  const auto models = std::make_shared<ModelRuns>();
  return {
      host_memcpy(),
      host_latency(),
      host_first_touch(),
      host_malloc(),
      host_flush(),
      transfer_memcpy(),
      transfer_host_copy(),
      transfer_kernel_copy(),
      transfer_zero_copy(),
      transfer_managed(),
      transfer_duplex(),
      transfer_local(),
      transfer_peer(),
      transfer_relay(),
      transfer_collective(),
      collective_operations(),
      transfer_written(),
      latency_chase(),
      latency_managed_touch(),
      latency_flag(),
      call(),
      contention(),
      grain_pieces(),
      grain_gpu_memory(),
      grain_saturation(),
      reach_gather(spans),
      gather(spans),
      gather_bag(spans),
      sm_share_gather(spans),
      sm_share_split(spans),
      shape_copy(),
      shape_pages(),
      traversal(),
      lean_traversal(),
      sampling_neighbours(graphs),
      tiering_score(graphs),
      tiering_reorder(graphs),
      pipeline_graphsage(graphs),
      model_traversal(models),
      model_uvm(models),
      model_gather(),
  };
}

const std::vector<Headline>& headlines() {
  static const std::vector<Headline> all{
      {"pinned copy to the GPU", "transfer/memcpy", {{"path", "pinned_to_gpu"}, {"timed", "copy"}}},
      {"pinned copy from the GPU", "transfer/memcpy", {{"path", "gpu_to_pinned"}, {"timed", "copy"}}},
      {"copy from GPU to GPU", "transfer/peer", {{"method", "copy_engine"}}},
      {"kernel reads host memory in place", "transfer/zero_copy", {{"direction", "read"}}},
      {"GPU loads from host memory", "latency/chase", {{"to", "host_memory"}}},
      {"kernel launch", "call", {{"what", "launch"}}},
      {"CPUs copy memory", "host/memcpy", {{"flush", "on"}}, true},
      {"CPU loads, largest array", "host/latency", {}, true},
  };
  return all;
}

}  // namespace grainscope::harness
