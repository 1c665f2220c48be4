#ifndef GRAINSCOPE_SYSTEM_ENVIRONMENT_JSON_HPP
#define GRAINSCOPE_SYSTEM_ENVIRONMENT_JSON_HPP

// The environment report for a program: `context.environment` of the result file.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "grainscope/system/environment.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope {

// An object as docs/result.schema.json describes it; what the machine does not tell is null.
[[nodiscard]] nlohmann::json environment_json(const Environment& environment,
                                              const std::vector<Warning>& warnings);

// The warnings in it, from process to process and back. Reading throws json::exception for what is none.
[[nodiscard]] nlohmann::json warnings_json(const std::vector<Warning>& warnings);
[[nodiscard]] std::vector<Warning> warnings_from_json(const nlohmann::json& rows);

}  // namespace grainscope

#endif
