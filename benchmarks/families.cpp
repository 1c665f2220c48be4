#include "families.hpp"

namespace grainscope::harness {

std::vector<Family> all_families() {
  return {
      host_memcpy(),
      host_latency(),
      host_first_touch(),
      host_flush(),
      transfer_memcpy(),
      transfer_zero_copy(),
      transfer_managed(),
      latency_chase(),
      latency_managed_touch(),
      latency_flag(),
      call(),
  };
}

}  // namespace grainscope::harness
