#ifndef GRAINSCOPE_TESTS_SCHEMA_CHECK_HPP
#define GRAINSCOPE_TESTS_SCHEMA_CHECK_HPP

// The part of JSON Schema that docs/result.schema.json uses.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace grainscope::test {

[[nodiscard]] nlohmann::json result_schema();

// What is wrong with `value`, a line for each finding, by the schema or the part of it that `part` points to
// ("/$defs/row"). Throws std::logic_error for a keyword that is not known here.
[[nodiscard]] std::vector<std::string> schema_errors(const nlohmann::json& value,
                                                     const nlohmann::json& schema,
                                                     const std::string& part = "");

// The same as one text, empty where all is well.
[[nodiscard]] std::string result_errors(const nlohmann::json& result);
[[nodiscard]] std::string row_errors(const nlohmann::json& row);

}  // namespace grainscope::test

#endif
