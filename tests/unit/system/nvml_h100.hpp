#ifndef GRAINSCOPE_TESTS_NVML_H100_HPP
#define GRAINSCOPE_TESTS_NVML_H100_HPP

#include "grainscope/system/nvml.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope::test {

// What the management library told of an H100.
inline NvmlReport h100() {
  return parse_nvml_report(sysfs::read_text(GRAINSCOPE_FIXTURES "/nvml_h100.json").value());
}

}  // namespace grainscope::test

#endif
