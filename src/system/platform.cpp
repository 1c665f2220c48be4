// Is this a virtual machine, what is it called, how much memory has it?

#include "platform.hpp"

#include <algorithm>

#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

// Names that firmware of virtual machines gives itself. Cloud names alone do not tell: bare-metal instances
// carry them too.
constexpr std::string_view kVirtualProducts[] = {"KVM",
                                                 "QEMU",
                                                 "VMware",
                                                 "VirtualBox",
                                                 "Bochs",
                                                 "OpenStack",
                                                 "Virtual Machine",
                                                 "HVM domU",
                                                 "Firecracker",
                                                 "Google Compute Engine"};

}  // namespace

std::optional<std::string> product_name(const Roots& roots) {
  const auto dmi = roots.filesystem / "sys/class/dmi/id";
  std::string name;
  for (const char* file : {"sys_vendor", "product_name"}) {
    const auto part = sysfs::read_text(dmi / file);
    if (part && !part->empty()) {
      name += (name.empty() ? "" : " ") + *part;
    }
  }
  if (name.empty()) {
    // AArch64 and POWER boards name themselves in the device tree, ended by a NUL.
    name = sysfs::read_text(roots.filesystem / "proc/device-tree/model").value_or("");
    name.erase(std::remove(name.begin(), name.end(), '\0'), name.end());
  }
  return name.empty() ? std::nullopt : std::optional<std::string>(name);
}

std::optional<bool> is_virtual_machine(const Roots& roots) {
  const auto cpuinfo = sysfs::read_text(roots.filesystem / "proc/cpuinfo");
  if (cpuinfo) {
    if (const auto flags = sysfs::value_of(*cpuinfo, "flags")) {
      // x86: the hypervisor shows itself in CPUID, and only a hypervisor sets the bit.
      const auto words = sysfs::split_words(*flags);
      return std::find(words.begin(), words.end(), "hypervisor") != words.end();
    }
  }
  std::error_code error;
  if (std::filesystem::exists(roots.filesystem / "proc/device-tree/hypervisor", error)) {
    return true;
  }
  const auto product = product_name(roots);
  if (!product) {
    return std::nullopt;
  }
  return std::any_of(std::begin(kVirtualProducts), std::end(kVirtualProducts),
                     [&](std::string_view name) { return product->find(name) != std::string::npos; });
}

std::optional<std::uint64_t> meminfo_bytes(const Roots& roots, const std::string& key) {
  const auto text = sysfs::read_text(roots.filesystem / "proc/meminfo");
  const auto value = text ? sysfs::value_of(*text, key) : std::nullopt;
  return value ? sysfs::parse_size(*value) : std::nullopt;
}

std::optional<std::uint64_t> total_memory_bytes(const Roots& roots) {
  return meminfo_bytes(roots, "MemTotal");
}

}  // namespace grainscope
