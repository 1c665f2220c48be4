#include "families.hpp"

namespace grainscope::harness {

std::vector<Family> all_families() {
  return {
      host_memcpy(),        host_latency(),     host_first_touch(), host_flush(),  transfer_memcpy(),
      transfer_zero_copy(), transfer_managed(), shape_copy(),       shape_batch(),
  };
}

}  // namespace grainscope::harness
