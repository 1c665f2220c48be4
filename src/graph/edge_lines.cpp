#include "edge_lines.hpp"

#include <algorithm>

namespace grainscope::graph {
namespace {

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

}  // namespace

std::uint64_t count_lines(std::string_view text) {
  std::uint64_t lines = 0;
  for (Cursor cursor(text); !cursor.at_end(); next_line(cursor)) {
    lines += holds_nothing(cursor) ? 0 : 1;
  }
  return lines;
}

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

}  // namespace grainscope::graph
