#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_CONTEXT_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_CONTEXT_HPP

// What a result file says beside its rows: who measured, what, where, and how far the run came.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "link_peaks.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "scope.hpp"

namespace grainscope::harness {

// Of one run, kept across --resume.
struct RunIdentity {
  std::string id;
  std::string started;     // UTC, ISO 8601
  std::uint64_t seed = 0;  // of the order in which rounds come to cases
};
[[nodiscard]] RunIdentity new_identity();

[[nodiscard]] std::string utc_now();

// What a resumed run must find again: the machine and the version. Names no person.
[[nodiscard]] nlohmann::json fingerprint(const Machine& machine);

// The journal's first line.
[[nodiscard]] nlohmann::json journal_header(const RunIdentity& identity, const Options& options,
                                            const Machine& machine);
// Throws EnvironmentError where a journal was begun on another machine or by another version; this and the
// next two throw json::exception where the header is damaged.
void require_same_machine(const nlohmann::json& header, const Machine& machine);
// Throws EnvironmentError where a file of the run's graphs or features is another, or gone.
void require_same_files(const nlohmann::json& header);
[[nodiscard]] RunIdentity identity_of(const nlohmann::json& header);

[[nodiscard]] nlohmann::json link_json(const LinkPeak& peak);
[[nodiscard]] LinkPeak link_from_json(const nlohmann::json& link);

struct Outcome {
  bool complete = true;
  std::string why_incomplete;
  std::size_t ok = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
};

// `context` of the result file: Google Benchmark's own, with ours. `wall_s` is that of all parts.
[[nodiscard]] nlohmann::json result_context(const nlohmann::json& library_context,
                                            const RunIdentity& identity, const Options& options,
                                            const Scope& scope, const Machine& machine,
                                            const std::vector<LinkPeak>& links, const Outcome& outcome,
                                            double wall_s);

}  // namespace grainscope::harness

#endif
