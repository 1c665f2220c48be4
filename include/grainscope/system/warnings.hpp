#ifndef GRAINSCOPE_SYSTEM_WARNINGS_HPP
#define GRAINSCOPE_SYSTEM_WARNINGS_HPP

// What in an environment can spoil a number, and the command that would change it. The suite itself never
// changes anything.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grainscope/system/environment.hpp"

namespace grainscope {

enum class Severity { info, warning, severe };
[[nodiscard]] std::string_view severity_name(Severity severity) noexcept;  // `info`, `warning`, `severe`

struct Warning {
  std::string id;  // stable, e.g. `cpu.governor`, `gpu.link_width`
  Severity severity = Severity::info;
  std::string finding;  // what is so
  std::string effect;   // what that does to numbers
  std::string remedy;   // the command, or the words `nothing to do here`
};

// Every finding, the severe ones first.
[[nodiscard]] std::vector<Warning> find_warnings(const Environment& environment);

// The parts, each in the order of its checks.
[[nodiscard]] std::vector<Warning> find_cpu_warnings(const Environment& environment);
[[nodiscard]] std::vector<Warning> find_memory_warnings(const Environment& environment);
[[nodiscard]] std::vector<Warning> find_platform_warnings(const Environment& environment);
[[nodiscard]] std::vector<Warning> find_gpu_warnings(const Environment& environment);

// Judges a link that was read while a transfer ran over it, when it must have trained up: both a narrow and
// a slow link are severe then. Empty: the link is as good as GPU and slot allow, or nothing tells that.
[[nodiscard]] std::vector<Warning> judge_link_under_load(const GpuReport& gpu,
                                                         const NvmlLinkState& under_load);

// Judges how the program was compiled: without optimisation, or with checks of memory or threads. Part of
// `find_warnings`, for this program.
[[nodiscard]] std::vector<Warning> judge_build(bool optimised, bool sanitized);

// The bandwidth of a PCI Express link in one direction, in decimal GB/s, after line coding and before
// packet headers; absent for a generation that is not 1 to 6.
[[nodiscard]] std::optional<double> pcie_link_gb_s(int generation, int width) noexcept;

// The environment report for a reader: `grainscope --env`.

// The warnings first, then the machine by topics; lines of at most 100 columns, each ended by a newline.
// What the machine does not tell reads `unknown`, with why.
[[nodiscard]] std::string environment_text(const Environment& environment,
                                           const std::vector<Warning>& warnings);

// What matters most of it, within a screen of 40 lines; the last says what shows the rest.
[[nodiscard]] std::string environment_screen(const Environment& environment,
                                             const std::vector<Warning>& warnings);

// The environment report for a program: `context.environment` of the result file.

// An object as docs/result.schema.json describes it; what the machine does not tell is null.
[[nodiscard]] nlohmann::json environment_json(const Environment& environment,
                                              const std::vector<Warning>& warnings);

// The warnings in it, from process to process and back. Reading throws json::exception for what is none.
[[nodiscard]] nlohmann::json warnings_json(const std::vector<Warning>& warnings);
[[nodiscard]] std::vector<Warning> warnings_from_json(const nlohmann::json& rows);

}  // namespace grainscope

#endif
