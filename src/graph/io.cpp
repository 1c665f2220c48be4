// Which reader a file is for.

#include "grainscope/graph/io.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "binary_file.hpp"
#include "grainscope/core/error.hpp"
#include "paths.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

constexpr std::array<std::pair<const char*, Format>, 12> kEndings{{
    {".sg", Format::sg},
    {".wsg", Format::wsg},
    {".el", Format::el},
    {".wel", Format::wel},
    {".txt", Format::snap},
    {".snap", Format::snap},
    {".mtx", Format::matrix_market},
    {".graph", Format::metis},
    {".bel", Format::bel},
    {".bel.col", Format::bel},
    {".bel.dst", Format::bel},
    {".bel.val", Format::bel},
}};

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// A text file in memory.
class TextFile {
 public:
  explicit TextFile(const std::string& path) {
    const BinaryFile file(path);
    bytes_ = HostBytes::map_file(path, 0, file.bytes());
    text_ = {path, {reinterpret_cast<const char*>(bytes_.data()), bytes_.bytes()}};
  }
  [[nodiscard]] const Text& text() const { return text_; }

 private:
  HostBytes bytes_;
  Text text_;
};

Csr read_text(const Text& text, Format format, const ReadOptions& options) {
  switch (format) {
    case Format::matrix_market:
      return read_matrix_market(text, options);
    case Format::metis:
      return read_metis(text, options);
    default:
      return read_edge_lines(text, format, options);
  }
}

Csr read_any(const std::string& path, Format format, const ReadOptions& options) {
  switch (format) {
    case Format::sg:
    case Format::wsg:
      return read_serialised(path, format == Format::wsg, options);
    case Format::bel:
      return read_bel(bel_stem(path), options);
    default:
      return read_text(TextFile(path).text(), format, options);
  }
}

}  // namespace

void throw_no_weights(const std::string& path) {
  throw UsageError("the graph " + path + " has no weights; draw them, or read it without");
}

Format format_of(const std::string& path) {
  const std::string name = file_name(path);
  for (const auto& [ending, format] : kEndings) {
    if (name.size() > std::string_view(ending).size() && name.ends_with(ending)) {
      return format;
    }
  }
  throw UsageError(
      "the name " + path +
      " does not tell a graph's format; names end in .sg, .wsg, .el, .wel, .txt or .snap (SNAP), "
      ".mtx, .graph (METIS) or .bel (EMOGI)");
}

std::string graph_stem(const std::string& path) {
  const std::string name = file_name(path);
  std::size_t longest = 0;
  for (const auto& [ending, format] : kEndings) {
    if (name.ends_with(ending)) {
      longest = std::max(longest, std::string_view(ending).size());
    }
  }
  return name.substr(0, name.size() - longest);
}

std::string bel_stem(const std::string& path) {
  const std::size_t without = path.size() - 4;  // of ".col", ".dst" and ".val" as of ".bel"
  return path.ends_with(".bel") ? path : path.substr(0, without);
}

bool holds_weights(const std::string& path) {
  const Format format = format_of(path);
  switch (format) {
    case Format::sg:
    case Format::el:
      return false;
    case Format::wsg:
    case Format::wel:
      return true;
    case Format::bel:
      return std::filesystem::exists(bel_stem(path) + ".val");
    case Format::snap:
      return snap_has_weights(TextFile(path).text());
    case Format::matrix_market:
      return matrix_market_has_weights(TextFile(path).text());
    case Format::metis:
      return metis_has_weights(TextFile(path).text());
  }
  return false;
}

Csr read_graph(const std::string& path, const ReadOptions& options) {
  Csr graph = read_any(path, format_of(path), options);
  graph.name = graph_stem(path);
  return graph;
}

}  // namespace grainscope::graph
