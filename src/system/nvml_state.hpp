#ifndef GRAINSCOPE_SRC_SYSTEM_NVML_STATE_HPP
#define GRAINSCOPE_SRC_SYSTEM_NVML_STATE_HPP

#include <map>
#include <string>

#include "grainscope/system/nvml.hpp"
#include "nvml_api.hpp"

namespace grainscope {

struct Nvml::State {
  void* library = nullptr;
  nvml::Api api{};
  bool initialised = false;
  std::map<std::string, nvml::Device> device_of_uuid;

  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] nvml::Device find(const std::string& uuid) const;
};

namespace nvml {

// Everything that one device tells.
[[nodiscard]] NvmlDevice read_device(const Api& api, Device device);

// Its parts: links and the CPUs near it; the processes on it other than this one.
void read_links(const Api& api, Device device, NvmlDevice& found);
[[nodiscard]] std::optional<std::vector<NvmlProcess>> processes_of(const Api& api, Device device);

[[nodiscard]] std::optional<std::string> device_uuid(const Api& api, Device device);
[[nodiscard]] std::optional<NvmlLinkState> link_now(const Api& api, Device device);
[[nodiscard]] std::optional<std::vector<std::string>> event_reasons(const Api& api, Device device);

}  // namespace nvml

}  // namespace grainscope

#endif
