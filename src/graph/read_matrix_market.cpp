// MatrixMarket coordinate files (https://math.nist.gov/MatrixMarket/formats.html): an entry is an edge from
// its row to its column.

#include <algorithm>
#include <cctype>

#include "edge_lines.hpp"
#include "readers.hpp"

namespace grainscope::graph {
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
  std::string word(take_word(cursor, what).substr(0, 64));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
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

bool matrix_market_has_weights(const Text& text) {
  return !header_of(text).pattern;
}

}  // namespace grainscope::graph
