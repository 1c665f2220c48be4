#ifndef GRAINSCOPE_SRC_SYSTEM_HOST_PAGES_HPP
#define GRAINSCOPE_SRC_SYSTEM_HOST_PAGES_HPP

// What is checked before host memory is mapped, so that a refusal comes as a sentence and not as a signal.

#include <cstddef>
#include <string>

#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope {

struct Node;  // system/topology.hpp

[[nodiscard]] constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// `allocating 4096 bytes of host memory in 4KiB pages on NUMA node 1`
[[nodiscard]] std::string describe(const HostMemoryRequest& request);

// The request's node, nullptr when it names none. EnvironmentError: it is absent, empty or forbidden.
[[nodiscard]] const Node* require_node(const Topology& topology, const HostMemoryRequest& request);

// EnvironmentError: the kernel gives no pages of the kind, or has too few. `page` is one page's bytes;
// `roots` says where the kernel's own numbers are read.
void require_pages(const HostMemoryRequest& request, std::size_t page, const Roots& roots = {});

}  // namespace grainscope

#endif
