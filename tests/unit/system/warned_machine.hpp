#ifndef GRAINSCOPE_TESTS_WARNED_MACHINE_HPP
#define GRAINSCOPE_TESTS_WARNED_MACHINE_HPP

// A machine in order, of which a test spoils one thing and looks for the finding.

#include <gtest/gtest.h>

#include <algorithm>

#include "contains.hpp"
#include "grainscope/system/warnings.hpp"
#include "machine_tree.hpp"
#include "nvml_report.hpp"

namespace grainscope::test {

inline const Warning* find(const std::vector<Warning>& warnings, const std::string& id) {
  const auto found = std::find_if(warnings.begin(), warnings.end(),
                                  [&](const Warning& warning) { return warning.id == id; });
  return found == warnings.end() ? nullptr : &*found;
}

// Two sockets with one H100, all as it should be; a test spoils one thing.
class Warnings : public testing::Test {
 protected:
  Warnings() {
    write_two_sockets(tree_);
    cuda::DeviceProperties device;
    device.name = "NVIDIA H100 80GB HBM3";
    device.uuid = *nvml_.devices[0].uuid;
    device.pci_bus_id = "0000:81:00.0";
    runtime_.devices = {device};
  }
  [[nodiscard]] Environment environment() const {
    return read_environment(tree_.roots(), Topology::read(tree_.roots()), runtime_, nvml_);
  }
  [[nodiscard]] std::vector<Warning> warnings() const { return find_warnings(environment()); }
  // The finding with this id, which must be of this severity; an empty one when it is missing.
  Warning expect(const std::string& id, Severity severity) const {
    const auto all = warnings();
    const Warning* found = find(all, id);
    EXPECT_NE(found, nullptr) << id;
    if (found == nullptr) {
      return {};
    }
    EXPECT_EQ(found->severity, severity);
    return *found;
  }
  NvmlDevice& gpu() { return nvml_.devices[0]; }

  MachineTree tree_;
  NvmlReport nvml_ = h100();
  cuda::RuntimeReport runtime_;
};

}  // namespace grainscope::test

#endif
