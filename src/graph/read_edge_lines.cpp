// .el, .wel and SNAP's lists.

#include "edge_lines.hpp"
#include "grainscope/core/error.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

LineRule rule_of(Format format, bool weights) {
  LineRule rule;
  rule.last = UINT32_MAX - 1;
  if (format == Format::el) {
    return rule;
  }
  rule.a_line_is = format == Format::wel ? "'from to weight'" : "'from to', and perhaps a weight";
  rule.third = weights                 ? LineRule::Third::weight
               : format == Format::wel ? LineRule::Third::ignored
                                       : LineRule::Third::perhaps_ignored;
  return rule;
}

}  // namespace

Csr read_edge_lines(const Text& text, Format format, const ReadOptions& options) {
  if (options.weights && format != Format::wel && (format == Format::el || !snap_has_weights(text))) {
    throw_no_weights(text.name);
  }
  const LineRule rule = rule_of(format, options.weights);
  EdgeList edges = parse_edge_lines(text, text.bytes, rule);
  if (edges.vertices == 0) {
    refuse(
        text, text.bytes.data(),
        text.bytes.empty() ? "the file is empty" : "there is no edge in it, only comments and empty lines");
  }
  const std::uint64_t most = most_vertices(text.bytes.size());
  if (edges.vertices > most) {
    refuse(text, line_of_vertex(text.bytes, rule, edges.vertices - 1),
           "vertex " + std::to_string(edges.vertices - 1) + ": a file of " +
               std::to_string(text.bytes.size()) + " bytes may number vertices up to " +
               std::to_string(most - 1) + "; number them without large gaps");
  }
  return build_csr(std::move(edges), {.symmetrise = !options.directed});
}

bool snap_has_weights(const Text& text) {
  for (Cursor cursor(text.bytes); !cursor.at_end(); next_line(cursor)) {
    if (!holds_nothing(cursor)) {
      int words = 0;
      for (; !cursor.at_line_end() && words < 3; skip_blanks(cursor)) {
        static_cast<void>(take_word(cursor, "word"));
        ++words;
      }
      return words == 3;
    }
  }
  return false;
}

}  // namespace grainscope::graph
