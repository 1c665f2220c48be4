#ifndef GRAINSCOPE_SRC_GRAPH_EDGE_LINES_HPP
#define GRAINSCOPE_SRC_GRAPH_EDGE_LINES_HPP

// Lines of the form "from to" or "from to weight": what four text formats have in common.

#include "fields.hpp"
#include "grainscope/graph/build.hpp"

namespace grainscope::graph {

struct LineRule {
  // What a line holds behind its two vertices.
  enum class Third { nothing, ignored, perhaps_ignored, weight, real_weight };

  std::uint64_t first = 0;  // the number of the first vertex in the file
  std::uint64_t last = 0;   // and of the last that is allowed
  Third third = Third::nothing;
  const char* a_line_is = "'from to'";

  [[nodiscard]] bool weighted() const { return third == Third::weight || third == Third::real_weight; }
};

// Lines of the text that are neither empty nor comments ('#', '%').
[[nodiscard]] std::uint64_t count_lines(std::string_view text);

// The edges of `body`, a part of `text` that begins with a line, in the order of their lines; vertices are
// numbered from 0, `vertices` is one above the highest. All threads. Throws UsageError with the line.
[[nodiscard]] EdgeList parse_edge_lines(const Text& text, std::string_view body, const LineRule& rule);

// Where the first line that names `vertex` (as in the file) begins; for messages.
[[nodiscard]] const char* line_of_vertex(std::string_view body, const LineRule& rule, std::uint64_t vertex);

}  // namespace grainscope::graph

#endif
