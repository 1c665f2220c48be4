#ifndef GRAINSCOPE_TESTS_NVML_REPORT_HPP
#define GRAINSCOPE_TESTS_NVML_REPORT_HPP

// NVML's report as a JSON table: how tests give the suite other machines.

#include <string>
#include <string_view>

#include "grainscope/system/nvml.hpp"

namespace grainscope::test {

// A report from, and as, a JSON table whose keys are the fields' names. Absent fields and nulls are unknown.
// UsageError: the text is no such table; the message names the field.
[[nodiscard]] NvmlReport parse_nvml_report(std::string_view json_text);
[[nodiscard]] std::string nvml_report_text(const NvmlReport& report);

// What the management library told of an H100.
[[nodiscard]] NvmlReport h100();

}  // namespace grainscope::test

#endif
