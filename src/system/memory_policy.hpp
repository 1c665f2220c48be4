#ifndef GRAINSCOPE_SRC_SYSTEM_MEMORY_POLICY_HPP
#define GRAINSCOPE_SRC_SYSTEM_MEMORY_POLICY_HPP

// Bit sets as the kernel's affinity and memory-policy calls take them.

#include <cstddef>
#include <string>
#include <vector>

namespace grainscope {

using BitWords = std::vector<unsigned long>;
inline constexpr std::size_t kWordBits = sizeof(unsigned long) * 8;
// More than any kernel is configured for (1024 nodes at most), less than what a call refuses (one page).
inline constexpr std::size_t kNodeBits = 4096;
inline constexpr std::size_t kLargestCpuBits = std::size_t{1} << 18;

[[nodiscard]] BitWords node_bits(int node);

// `EPERM (Operation not permitted)`
[[nodiscard]] std::string errno_text(int error);

// Sets the calling thread's CPUs; 0 or an errno.
int set_affinity(const std::vector<int>& cpus) noexcept;

}  // namespace grainscope

#endif
