#ifndef GRAINSCOPE_BENCHMARKS_GRAPH_COMMAND_HPP
#define GRAINSCOPE_BENCHMARKS_GRAPH_COMMAND_HPP

// `grainscope graph`: graphs described, converted and kept, without a benchmark.

#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::harness {

// What `grainscope graph describe` is given.
struct DescribeOptions {
  std::string graph;
  std::string labels;  // a file; empty: of a graph with topics its own, of others none
  bool directed = false;
  bool json = false;
};

struct ConvertOptions {
  std::string from;
  std::string to;
  bool weights = false;
  bool symmetrise = false;
  bool directed = false;
  std::string draw_weights;  // "8-72"
  std::string order = "original";
};

struct CacheOptions {
  std::vector<std::string> graphs;
  std::string dir;
  bool weights = false;
};

// Runs `grainscope graph` with the words that follow it; the text is for stdout. Throws UsageError for what
// cannot be honoured, HelpRequested for --help, and what reading, making and writing of graphs throws.
[[nodiscard]] std::string graph_command(const std::vector<std::string>& arguments);

[[nodiscard]] std::string describe_graph(const DescribeOptions& options);
[[nodiscard]] std::string convert_graph(const ConvertOptions& options);
[[nodiscard]] std::string cache_graphs(const CacheOptions& options);

// The graph that a word names, either as --graph does or as a file's path; with weights of its own where
// `weights`. `directed`: edges of a file that does not say run one way only; throws UsageError where what is
// named says itself that they run both ways.
[[nodiscard]] graph::Csr graph_named(const std::string& word, bool weights, bool directed);

// A line for the user where a graph was read from a text that counts from 0, and looks as if it counted from
// 1; else nothing. `name`: of the file, as messages are to name it.
[[nodiscard]] std::string numbering_note(const graph::Csr& graph, const std::string& name);

}  // namespace grainscope::harness

#endif
