#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_DIGEST_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_DIGEST_HPP

// What a fleet needs to know of a run: its result file with fewer fields, in JSON lines.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace grainscope::harness {

// The first line is `{"context":…,"digest":1,"rows":N}`, and each of N further ones a row: no visits but
// their number, no samples. `grainscope-report` makes the same of the result file (fleet/sources.py).
[[nodiscard]] std::string digest_lines(const nlohmann::json& result);

// One gzip member that is equal for equal text.
[[nodiscard]] std::string gzip(std::string_view text);

}  // namespace grainscope::harness

#endif
