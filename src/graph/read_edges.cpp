// Text formats of one edge a line: .el, .wel, SNAP's lists and MatrixMarket.

#include <algorithm>
#include <cctype>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/csr.hpp"
#include "readers.hpp"
#include "text.hpp"

namespace grainscope::graph {
namespace {

// Lines of the form "from to" or "from to weight": what these formats have in common.
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
std::uint64_t count_lines(std::string_view text) {
  std::uint64_t lines = 0;
  for (Cursor cursor(text); !cursor.at_end(); next_line(cursor)) {
    lines += holds_nothing(cursor) ? 0 : 1;
  }
  return lines;
}

struct Chunk {
  std::string_view text;
  std::uint64_t first = 0;  // the edge of its first line
  std::uint64_t count = 0;
  std::uint64_t vertices = 0;  // one above the highest of this chunk
};

struct EdgeLine {
  Vertex from = 0;
  Vertex to = 0;
  Weight weight = 0;
};

std::vector<Chunk> chunks_of(std::string_view body) {
  std::vector<Chunk> chunks;
  for (const std::string_view text : cut_at_lines(body)) {
    chunks.push_back({text});
  }
  for_each_index(chunks.size(), [&](std::uint64_t i) { chunks[i].count = count_lines(chunks[i].text); });
  std::uint64_t edges = 0;
  for (Chunk& chunk : chunks) {
    chunk.first = edges;
    edges += chunk.count;
  }
  return chunks;
}

Vertex take_vertex(Cursor& cursor, const LineRule& rule) {
  skip_blanks(cursor);
  const char* const start = cursor.at;
  const std::uint64_t number = take_number(cursor, "vertex", rule.last);
  if (number < rule.first) {
    throw TextFault{start, "vertex " + std::to_string(number) + ": this format counts vertices from " +
                               std::to_string(rule.first)};
  }
  return static_cast<Vertex>(number - rule.first);
}

Weight take_third(Cursor& cursor, const LineRule& rule) {
  skip_blanks(cursor);
  switch (rule.third) {
    case LineRule::Third::weight:
      return static_cast<Weight>(take_number(cursor, "weight", UINT32_MAX));
    case LineRule::Third::real_weight:
      return static_cast<Weight>(take_whole_real(cursor, "weight", UINT32_MAX));
    case LineRule::Third::ignored:
      static_cast<void>(take_word(cursor, "weight"));
      return 0;
    case LineRule::Third::perhaps_ignored:
      if (!cursor.at_line_end()) {
        static_cast<void>(take_word(cursor, "weight"));
      }
      return 0;
    case LineRule::Third::nothing:
      return 0;
  }
  return 0;
}

EdgeLine take_edge(Cursor& cursor, const LineRule& rule) {
  EdgeLine edge;
  edge.from = take_vertex(cursor, rule);
  edge.to = take_vertex(cursor, rule);
  edge.weight = take_third(cursor, rule);
  take_line_end(cursor, rule.a_line_is);
  return edge;
}

void parse_chunk(Chunk& chunk, const LineRule& rule, const EdgeList& edges) {
  Cursor cursor(chunk.text);
  std::uint64_t highest = 0;
  for (std::uint64_t i = chunk.first; i < chunk.first + chunk.count;) {
    if (holds_nothing(cursor)) {
      next_line(cursor);
      continue;
    }
    const EdgeLine edge = take_edge(cursor, rule);
    edges.from[i] = edge.from;
    edges.to[i] = edge.to;
    if (rule.weighted()) {
      edges.weights[i] = edge.weight;
    }
    highest = std::max<std::uint64_t>(highest, std::max(edge.from, edge.to));
    ++i;
  }
  chunk.vertices = chunk.count == 0 ? 0 : highest + 1;
}

// The edges of `body`, a part of `text` that begins with a line, in the order of their lines; vertices are
// numbered from 0, `vertices` is one above the highest. All threads. Throws UsageError with the line.
EdgeList parse_edge_lines(const Text& text, std::string_view body, const LineRule& rule) {
  std::vector<Chunk> chunks = chunks_of(body);
  const std::uint64_t count = chunks.empty() ? 0 : chunks.back().first + chunks.back().count;
  EdgeList edges;
  edges.from = HostArray<Vertex>(count);
  edges.to = HostArray<Vertex>(count);
  edges.weights = HostArray<Weight>(rule.weighted() ? count : 0);
  for_chunks(text, chunks.size(), [&](std::uint64_t i) { parse_chunk(chunks[i], rule, edges); });
  for (const Chunk& chunk : chunks) {
    edges.vertices = std::max(edges.vertices, chunk.vertices);
  }
  return edges;
}

// Where the first line that names `vertex` (as in the file) begins; for messages.
const char* line_of_vertex(std::string_view body, const LineRule& rule, std::uint64_t vertex) {
  Cursor cursor(body);
  while (!cursor.at_end()) {
    const char* const start = cursor.at;
    if (!holds_nothing(cursor)) {
      const EdgeLine edge = take_edge(cursor, rule);
      if (edge.from + rule.first == vertex || edge.to + rule.first == vertex) {
        return start;
      }
    } else {
      next_line(cursor);
    }
  }
  return body.data();
}

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

// MatrixMarket coordinate files (https://math.nist.gov/MatrixMarket/formats.html): an entry is an edge from
// its row to its column.
namespace {

constexpr std::uint64_t kMostCount = std::uint64_t{1} << 58;

struct Header {
  bool pattern = false;
  bool real = false;
  bool symmetric = false;
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;
  const char* sizes = nullptr;  // the line of sizes
  std::string_view body;        // what follows it
};

std::string lower_word(Cursor& cursor, const char* what) {
  skip_blanks(cursor);
  return lower(std::string(take_word(cursor, what).substr(0, 64)));
}

// One of the banner's words, which must be among those that a graph can be read from.
std::string word_among(Cursor& cursor, const char* what, std::initializer_list<const char*> allowed) {
  skip_blanks(cursor);
  const char* const start = cursor.at;
  std::string word = lower_word(cursor, what);
  std::string list;
  for (const char* one : allowed) {
    if (word == one) {
      return word;
    }
    list += (list.empty() ? "" : ", ") + std::string(one);
  }
  throw TextFault{start, std::string("the ") + what + " " + quoted(start, cursor.end) +
                             " cannot be read as a graph; what can: " + list};
}

void take_banner(Cursor& cursor, Header& header) {
  const char* const start = cursor.at;
  if (cursor.at_line_end() || lower_word(cursor, "banner") != "%%matrixmarket") {
    throw TextFault{start, "a MatrixMarket file begins with '%%MatrixMarket matrix coordinate …'"};
  }
  static_cast<void>(word_among(cursor, "object", {"matrix"}));
  static_cast<void>(word_among(cursor, "layout", {"coordinate"}));
  const std::string field = word_among(cursor, "field", {"pattern", "integer", "real"});
  const std::string symmetry = word_among(cursor, "symmetry", {"general", "symmetric"});
  take_line_end(cursor, "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'");
  header.pattern = field == "pattern";
  header.real = field == "real";
  header.symmetric = symmetry == "symmetric";
}

void take_sizes(Cursor& cursor, Header& header, std::uint64_t bytes) {
  header.sizes = cursor.at;
  const std::uint64_t rows = take_number(cursor, "count of rows", kMostCount);
  skip_blanks(cursor);
  const std::uint64_t columns = take_number(cursor, "count of columns", kMostCount);
  skip_blanks(cursor);
  header.entries = take_number(cursor, "count of entries", kMostCount);
  take_line_end(cursor, "'rows columns entries'");
  if (rows != columns) {
    throw TextFault{header.sizes, std::to_string(rows) + " rows and " + std::to_string(columns) +
                                      " columns: a graph's matrix is square"};
  }
  if (rows == 0 || rows > most_vertices(bytes)) {
    throw TextFault{header.sizes, std::to_string(rows) + " vertices: a file of " + std::to_string(bytes) +
                                      " bytes may have 1 to " + std::to_string(most_vertices(bytes))};
  }
  header.vertices = rows;
}

Header parse_header(const Text& text) {
  Header header;
  Cursor cursor(text.bytes);
  take_banner(cursor, header);
  while (!cursor.at_end() && holds_nothing(cursor)) {
    next_line(cursor);
  }
  if (cursor.at_end()) {
    throw TextFault{cursor.at, "the file ends before its line 'rows columns entries'"};
  }
  take_sizes(cursor, header, text.bytes.size());
  header.body = {cursor.at, static_cast<std::size_t>(cursor.end - cursor.at)};
  return header;
}

Header header_of(const Text& text) {
  try {
    return parse_header(text);
  } catch (const TextFault& fault) {
    refuse(text, fault.at, fault.what);
  }
}

LineRule rule_of(const Header& header, bool weights) {
  LineRule rule;
  rule.first = 1;
  rule.last = header.vertices;
  if (!header.pattern) {
    rule.a_line_is = "'row column value'";
    rule.third = !weights      ? LineRule::Third::ignored
                 : header.real ? LineRule::Third::real_weight
                               : LineRule::Third::weight;
  } else {
    rule.a_line_is = "'row column'";
  }
  return rule;
}

}  // namespace

Csr read_matrix_market(const Text& text, const ReadOptions& options) {
  const Header header = header_of(text);
  if (options.weights && header.pattern) {
    throw_no_weights(text.name);
  }
  EdgeList edges = parse_edge_lines(text, header.body, rule_of(header, options.weights));
  if (edges.from.size() != header.entries) {
    refuse(text, header.sizes,
           std::to_string(header.entries) + " entries are declared, " + std::to_string(edges.from.size()) +
               " follow");
  }
  edges.vertices = header.vertices;
  return build_csr(std::move(edges), {.symmetrise = header.symmetric || !options.directed});
}

std::uint64_t matrix_market_vertices(const Text& text) {
  return header_of(text).vertices;
}

bool matrix_market_has_weights(const Text& text) {
  return !header_of(text).pattern;
}

}  // namespace grainscope::graph
