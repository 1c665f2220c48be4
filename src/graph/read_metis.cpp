// METIS .graph files (METIS 5 manual, 4.1.1): "vertices edges [fmt [ncon]]", then a line of neighbours for
// each vertex, counted from 1; comments begin with '%'.

#include <algorithm>
#include <utility>

#include "grainscope/core/error.hpp"
#include "readers.hpp"
#include "text.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kMostCount = std::uint64_t{1} << 58;

struct Header {
  const char* line = nullptr;
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint64_t leading = 0;  // words before a line's first neighbour: the vertex's size and weights
  bool weighted = false;      // a weight behind each neighbour
  std::string_view body;
};

// Lines of some vertices.
struct Chunk {
  std::string_view text;
  std::uint64_t lines = 0;    // that are no comments
  std::uint64_t first = 0;    // vertex of the first
  std::uint64_t entries = 0;  // neighbours, if every line is as it should be
  std::uint64_t entry = 0;    // the first one's position
};

// "011": three digits that say what a line holds beside neighbours; missing ones are 0.
void take_format(Cursor& cursor, Header& header) {
  skip_blanks(cursor);
  if (cursor.at_line_end()) {
    return;
  }
  const char* const start = cursor.at;
  const std::string_view word = take_word(cursor, "format");
  if (word.size() > 3 || word.find_first_not_of("01") != std::string_view::npos) {
    throw TextFault{start, quoted(start, cursor.end) + ": the format is up to three digits, each 0 or 1"};
  }
  const std::string digits = std::string(3 - word.size(), '0') + std::string(word);
  skip_blanks(cursor);
  const std::uint64_t given = cursor.at_line_end() ? 1 : take_number(cursor, "count of weights", kMostCount);
  header.weighted = digits[2] == '1';
  header.leading = (digits[0] == '1' ? 1 : 0) + (digits[1] == '1' ? given : 0);
}

Header parse_header(const Text& text) {
  Cursor cursor(text.bytes);
  while (!cursor.at_end() && *cursor.at == '%') {
    next_line(cursor);
  }
  if (cursor.at_end()) {
    throw TextFault{text.bytes.data(),
                    text.bytes.empty() ? "the file is empty" : "there is nothing in it but comments"};
  }
  Header header;
  header.line = cursor.at;
  skip_blanks(cursor);
  header.vertices = take_number(cursor, "count of vertices", kMostCount);
  skip_blanks(cursor);
  header.edges = take_number(cursor, "count of edges", kMostCount);
  take_format(cursor, header);
  take_line_end(cursor, "'vertices edges format weights'");
  header.body = {cursor.at, static_cast<std::size_t>(cursor.end - cursor.at)};
  // Each vertex takes a line, each of the two entries of an edge a digit and what ends it.
  if (header.vertices == 0 || header.vertices > std::min<std::uint64_t>(header.body.size(), UINT32_MAX) ||
      header.edges > header.body.size() / 4 + 1) {
    throw TextFault{header.line, std::to_string(header.vertices) + " vertices and " +
                                     std::to_string(header.edges) + " edges do not fit into the " +
                                     std::to_string(header.body.size()) + " bytes that follow"};
  }
  return header;
}

Header header_of(const Text& text) {
  try {
    return parse_header(text);
  } catch (const TextFault& fault) {
    refuse(text, fault.at, fault.what);
  }
}

std::uint64_t count_words(const char* begin, const char* end) {
  std::uint64_t words = 0;
  bool in_word = false;
  for (const char* at = begin; at != end; ++at) {
    const bool blank = is_blank(*at) || *at == '\n';
    words += !blank && !in_word ? 1 : 0;
    in_word = !blank;
  }
  return words;
}

void count_chunk(Chunk& chunk, const Header& header) {
  std::uint64_t words = 0;
  for (Cursor cursor(chunk.text); !cursor.at_end();) {
    const char* const start = cursor.at;
    next_line(cursor);
    if (*start != '%') {
      ++chunk.lines;
      words += count_words(start, cursor.at);
    }
  }
  const std::uint64_t leading =
      header.leading > words ? words : std::min(words, chunk.lines * header.leading);
  chunk.entries = (words - leading) / (header.weighted ? 2 : 1);
}

std::vector<Chunk> chunks_of(const Header& header) {
  std::vector<Chunk> chunks;
  for (const std::string_view text : cut_at_lines(header.body)) {
    chunks.push_back({text});
  }
  for_each_index(chunks.size(), [&](std::uint64_t i) { count_chunk(chunks[i], header); });
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    chunks[i].first = chunks[i - 1].first + chunks[i - 1].lines;
    chunks[i].entry = chunks[i - 1].entry + chunks[i - 1].entries;
  }
  return chunks;
}

Vertex take_neighbour(Cursor& cursor, const Header& header) {
  const char* const start = cursor.at;
  const std::uint64_t number = take_number(cursor, "vertex", header.vertices);
  if (number == 0) {
    throw TextFault{start, "vertex 0: this format counts vertices from 1"};
  }
  return static_cast<Vertex>(number - 1);
}

// The neighbours of `vertex`, from entry `next` on; `end` is where the chunk's entries end.
std::uint64_t take_list(Cursor& cursor, const Header& header, std::uint64_t vertex, const EdgeList& edges,
                        std::uint64_t next, std::uint64_t end) {
  for (std::uint64_t i = 0; i < header.leading; ++i) {
    skip_blanks(cursor);
    static_cast<void>(take_number(cursor, "weight of the vertex", kMostCount));
  }
  for (skip_blanks(cursor); !cursor.at_line_end(); skip_blanks(cursor)) {
    const char* const start = cursor.at;
    const Vertex neighbour = take_neighbour(cursor, header);
    if (neighbour == vertex) {
      throw TextFault{start, "vertex " + std::to_string(vertex + 1) +
                                 " is its own neighbour, which this format does not know"};
    }
    Weight weight = 0;
    if (header.weighted) {
      skip_blanks(cursor);
      weight = static_cast<Weight>(take_number(cursor, "weight", UINT32_MAX));
    }
    if (next == end) {
      throw TextFault{start, "there are more neighbours here than words"};  // only behind another fault
    }
    edges.from[next] = static_cast<Vertex>(vertex);
    edges.to[next] = neighbour;
    if (!edges.weights.empty()) {
      edges.weights[next] = weight;
    }
    ++next;
  }
  return next;
}

void parse_chunk(const Chunk& chunk, const Header& header, const EdgeList& edges) {
  std::uint64_t vertex = chunk.first;
  std::uint64_t next = chunk.entry;
  for (Cursor cursor(chunk.text); !cursor.at_end(); next_line(cursor)) {
    if (*cursor.at == '%') {
      continue;
    }
    if (vertex < header.vertices) {
      next = take_list(cursor, header, vertex, edges, next, chunk.entry + chunk.entries);
    } else if (skip_blanks(cursor); !cursor.at_line_end()) {
      throw TextFault{cursor.at, "more lines than the " + std::to_string(header.vertices) +
                                     " vertices that are declared"};
    }
    ++vertex;
  }
}

// The first line of a vertex, counted from 0, that suits; the header's where none does.
template <class Suits>
std::pair<std::uint64_t, const char*> first_line(const Header& header, const Suits& suits) {
  std::uint64_t vertex = 0;
  for (Cursor cursor(header.body); !cursor.at_end();) {
    const char* const line = cursor.at;
    next_line(cursor);
    if (*line != '%' && suits(vertex++, line, cursor.at)) {
      return {vertex - 1, line};
    }
  }
  return {vertex, header.line};
}

// Of repeats `build_csr` keeps one.
void require_no_repeats(const Text& text, const Header& header, std::uint64_t entries, const Csr& graph) {
  if (graph.edges() == entries) {
    return;
  }
  const auto [vertex, line] = first_line(header, [&](std::uint64_t v, const char* begin, const char* end) {
    return v < header.vertices && (count_words(begin, end) - header.leading) / (header.weighted ? 2 : 1) !=
                                      graph.degree(static_cast<Vertex>(v));
  });
  refuse(text, line, "vertex " + std::to_string(vertex + 1) + " has a neighbour twice");
}

// An edge stands in the lists of both its ends.
void require_both_ways(const Text& text, const Header& header, const Csr& graph) {
  const auto fault = first_unpaired(graph);
  if (!fault) {
    return;
  }
  const std::string from = std::to_string(fault->vertex + std::uint64_t{1});
  const std::string to = std::to_string(graph.targets[fault->entry] + std::uint64_t{1});
  const char* const line =
      first_line(header, [&](std::uint64_t v, auto, auto) { return v == fault->vertex; }).second;
  refuse(text, line,
         "vertex " + from + " has the neighbour " + to + ", but vertex " + to +
             (fault->other_weight ? " has another weight for it" : " has no neighbour " + from) +
             ": edges of this format run both ways");
}

}  // namespace

Csr read_metis(const Text& text, const ReadOptions& options) {
  const Header header = header_of(text);
  if (options.weights && !header.weighted) {
    throw_no_weights(text.name);
  }
  const std::vector<Chunk> chunks = chunks_of(header);
  const std::uint64_t lines = chunks.back().first + chunks.back().lines;
  const std::uint64_t entries = chunks.back().entry + chunks.back().entries;
  if (lines < header.vertices) {
    refuse(text, header.line,
           std::to_string(header.vertices) + " vertices are declared, " + std::to_string(lines) +
               " lines follow");
  }
  EdgeList edges{header.vertices, HostArray<Vertex>(entries), HostArray<Vertex>(entries),
                 HostArray<Weight>(options.weights ? entries : 0)};
  for_chunks(text, chunks.size(), [&](std::uint64_t i) { parse_chunk(chunks[i], header, edges); });
  if (entries != 2 * header.edges) {
    refuse(text, header.line,
           std::to_string(header.edges) + " edges are declared, the lists hold " + std::to_string(entries) +
               " neighbours, not twice as many");
  }
  Csr graph = build_csr(std::move(edges), {.symmetrise = false});
  graph.directed = false;
  require_no_repeats(text, header, entries, graph);
  require_both_ways(text, header, graph);
  return graph;
}

std::uint64_t metis_vertices(const Text& text) {
  return header_of(text).vertices;
}

bool metis_has_weights(const Text& text) {
  return header_of(text).weighted;
}

}  // namespace grainscope::graph
