#ifndef GRAINSCOPE_SRC_SYSTEM_PLATFORM_HPP
#define GRAINSCOPE_SRC_SYSTEM_PLATFORM_HPP

// Small facts about the platform that several readers need.

#include <cstdint>
#include <optional>
#include <string>

#include "grainscope/system/roots.hpp"

namespace grainscope {

// Whether the kernel runs under a hypervisor; absent where nothing tells.
[[nodiscard]] std::optional<bool> is_virtual_machine(const Roots& roots);

// What the firmware calls the machine (`Standard PC (Q35 + ICH9, 2009)`), never a serial number.
[[nodiscard]] std::optional<std::string> product_name(const Roots& roots);

// MemTotal, in bytes.
[[nodiscard]] std::optional<std::uint64_t> total_memory_bytes(const Roots& roots);

// A `… kB` line of /proc/meminfo, in bytes.
[[nodiscard]] std::optional<std::uint64_t> meminfo_bytes(const Roots& roots, const std::string& key);

}  // namespace grainscope

#endif
