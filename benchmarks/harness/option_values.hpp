#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_OPTION_VALUES_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_OPTION_VALUES_HPP

// What flags are given, understood. Each throws UsageError, with what to write instead.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/graph/generate.hpp"
#include "grainscope/transfer/written.hpp"

namespace grainscope::harness {

// The words between commas: at least one, which may be empty.
[[nodiscard]] std::vector<std::string> by_commas(const std::string& text);

// "i/n" with 1 <= i <= n.
[[nodiscard]] std::pair<int, int> parse_shard(const std::string& text);

// "90", "90s", "10m", "1h" to seconds.
[[nodiscard]] double parse_duration_s(const std::string& text);

// "0,2,1" to numbers in order, each once; "all" to none.
[[nodiscard]] std::vector<int> parse_ids(const std::string& text, const char* flag);

// "kron:24,urand:20:4" to graphs, each once.
[[nodiscard]] std::vector<graph::GraphSpec> parse_graphs(const std::string& text);

// "512MiB,2GiB" to bytes in order, each once and above 0.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const std::string& text, const char* flag);

// "bytes=4KiB,1MiB", one for each axis, to axes and their values.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_axes(
    const std::vector<std::string>& given);

// A line of transfers that start at once, for each of its sizes.
[[nodiscard]] std::vector<transfer::WrittenLanes> parse_transfers(const std::string& line);

void require_one_of(const std::string& value, std::initializer_list<const char*> allowed, const char* flag);

}  // namespace grainscope::harness

#endif
