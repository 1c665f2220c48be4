// The links of one GPU: PCI Express, NVLink, chip to chip, and the CPUs near it.

#include <array>

#include "nvml_state.hpp"
#include "nvml_values.hpp"

namespace grainscope::nvml {

namespace {

constexpr std::array<const char*, 9> kNvlinkVersions = {"",    "1.0", "2.0", "2.2", "3.0",
                                                        "3.1", "4.0", "5.0", "6.0"};
constexpr std::array<const char*, 3> kNvlinkRemotes = {"gpu", "cpu", "switch"};

std::optional<std::uint64_t> number_of(const FieldValue& field) {
  switch (field.type) {
    case 1:
      return field.value.as_unsigned;
    case 2:
      return field.value.as_unsigned_long;
    case 3:
      return field.value.as_unsigned_long_long;
    case 4:
      return field.value.as_long_long < 0 ? std::nullopt
                                          : std::optional<std::uint64_t>(field.value.as_long_long);
    case 5:
      return field.value.as_int < 0 ? std::nullopt : std::optional<std::uint64_t>(field.value.as_int);
    case 6:
      return field.value.as_unsigned_short;
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> field_of(const Api& api, Device device, unsigned field, unsigned scope) {
  FieldValue value{};
  value.field = field;
  value.scope = scope;
  if (api.field_values == nullptr || api.field_values(device, 1, &value) != kSuccess ||
      value.status != kSuccess) {
    return std::nullopt;
  }
  return number_of(value);
}

NvmlNvlink read_nvlink(const Api& api, Device device, unsigned link, bool active) {
  NvmlNvlink found;
  found.link = static_cast<int>(link);
  found.active = active;
  if (!active) {
    return found;
  }
  found.version = word(ask<unsigned>(api.nvlink_version, device, link), kNvlinkVersions).value_or("");
  found.speed_mb_s = field_of(api, device, kFieldNvlinkSpeed, link);
  const auto remote = ask<int>(api.nvlink_remote_type, device, link);
  if (remote && *remote >= 0) {
    found.remote_type = word(static_cast<unsigned>(*remote), kNvlinkRemotes).value_or("");
  }
  if (const auto pci = ask<PciInfo>(api.nvlink_remote_pci, device, link)) {
    found.remote_pci_bus_id = bus_id_of(*pci);
  }
  return found;
}

// A GPU without NVLink refuses every link as not supported or as no valid link; any other refusal means that
// nothing is known.
std::optional<std::vector<NvmlNvlink>> nvlinks_of(const Api& api, Device device) {
  if (api.nvlink_state == nullptr) {
    return std::nullopt;
  }
  std::vector<NvmlNvlink> links;
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    unsigned active = 0;
    const int status = api.nvlink_state(device, link, &active);
    if (status == kSuccess) {
      links.push_back(read_nvlink(api, device, link, active != 0));
    } else if (status != kNotSupported && status != kInvalidArgument) {
      return std::nullopt;
    }
  }
  return links;
}

std::optional<std::vector<int>> local_cpus_of(const Api& api, Device device) {
  constexpr unsigned kWords = 64;
  constexpr unsigned kBits = sizeof(unsigned long) * 8;
  std::array<unsigned long, kWords> words{};
  if (api.cpu_affinity == nullptr || api.cpu_affinity(device, kWords, words.data()) != kSuccess) {
    return std::nullopt;
  }
  std::vector<int> cpus;
  for (unsigned bit = 0; bit < kWords * kBits; ++bit) {
    if ((words[bit / kBits] >> (bit % kBits) & 1) != 0) {
      cpus.push_back(static_cast<int>(bit));
    }
  }
  return cpus;
}

}  // namespace

void read_links(const Api& api, Device device, NvmlDevice& found) {
  found.link_generation = as_int(ask<unsigned>(api.link_generation, device));
  found.link_width = as_int(ask<unsigned>(api.link_width, device));
  found.link_generation_max = as_int(ask<unsigned>(api.link_generation_max, device));
  found.link_width_max = as_int(ask<unsigned>(api.link_width_max, device));
  found.gpu_link_generation_max = as_int(ask<unsigned>(api.gpu_link_generation_max, device));
  found.pcie_replays = ask<unsigned>(api.pcie_replays, device);
  found.nvlinks = nvlinks_of(api, device);
  if (const auto c2c = field_of(api, device, kFieldC2cLinkCount, 0); c2c && *c2c < 1024) {
    found.c2c_links = static_cast<int>(*c2c);
  }
  found.local_cpus = local_cpus_of(api, device);
}

}  // namespace grainscope::nvml
