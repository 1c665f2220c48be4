// .sg, .wsg and .bel; their layouts are described where they are read.

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include <unistd.h>

#include "grainscope/core/error.hpp"
#include "new_file.hpp"
#include "paths.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kMostSigned = std::uint64_t{1} << 31;  // what an i32 can number

void write_one_way(NewFile& file, const Csr& graph, bool wide) {
  file.write_array(graph.offsets);
  if (!wide) {
    file.write_array(graph.targets);
    return;
  }
  file.write_elements(graph.edges(), [&](std::uint64_t i) {
    return std::array<std::uint32_t, 2>{graph.targets[i], graph.weights[i]};
  });
}

void require_signed_weights(const Csr& graph, const std::string& path) {
  for (const Weight& weight : graph.weights) {
    if (weight >= kMostSigned) {
      throw UsageError("could not write " + path + ": the weight " + std::to_string(weight) +
                       " is above 2147483647, the most that .wsg holds; write .bel");
    }
  }
}

void write_serialised(const Csr& graph, const std::string& path, bool wide) {
  if (graph.vertices() > kMostSigned) {
    throw UsageError("could not write " + path + ": " + std::to_string(graph.vertices()) +
                     " vertices are more than .sg and .wsg can number, 2147483648; write .bel");
  }
  if (wide) {
    require_signed_weights(graph, path);
  }
  const std::uint64_t way = graph.offsets.bytes() + graph.edges() * (wide ? 8 : 4);
  NewFile file(path, 17 + way * (graph.directed ? 2 : 1));
  file.write_value(static_cast<std::uint8_t>(graph.directed ? 1 : 0));
  file.write_value(static_cast<std::int64_t>(graph.edges()));
  file.write_value(static_cast<std::int64_t>(graph.vertices()));
  write_one_way(file, graph, wide);
  if (graph.directed) {
    write_one_way(file, transpose(graph), wide);
  }
  file.finish();
  file.put_in_place();
}

std::unique_ptr<NewFile> begin_bel(const std::string& path, std::uint64_t count, std::uint64_t bytes) {
  auto file = std::make_unique<NewFile>(path, 16 + count * bytes);
  file->write_value(count);
  file->write_value(std::uint64_t{0});
  return file;
}

void write_bel(const Csr& graph, const std::string& stem) {
  const auto offsets = begin_bel(stem + ".col", graph.offsets.size(), 8);
  offsets->write_array(graph.offsets);
  const auto targets = begin_bel(stem + ".dst", graph.edges(), 8);
  targets->write_elements(graph.edges(), [&](std::uint64_t i) { return std::uint64_t{graph.targets[i]}; });
  std::unique_ptr<NewFile> weights;
  if (graph.weighted() || graph.edges() == 0) {  // without edges no weight is missing
    weights = begin_bel(stem + ".val", graph.edges(), 4);
    weights->write_array(graph.weights);
  }
  offsets->finish();
  targets->finish();
  if (weights) {
    weights->finish();
  }
  // Weights of another graph must not stay beside this one's edges.
  const std::string old_weights = stem + ".val";
  if (::unlink(old_weights.c_str()) != 0 && errno != ENOENT) {
    throw EnvironmentError("could not replace " + old_weights + ": " + std::system_category().message(errno));
  }
  offsets->put_in_place();
  targets->put_in_place();
  if (weights) {
    weights->put_in_place();
  }
}

}  // namespace

void write_graph(const Csr& graph, const std::string& path) {
  const Format format = format_of(path);
  if (graph.vertices() == 0) {
    throw UsageError("could not write " + path + ": the graph has no vertices");
  }
  switch (format) {
    case Format::sg:
      write_serialised(graph, path, false);
      return;
    case Format::wsg:
      if (!graph.weighted() && graph.edges() != 0) {
        throw UsageError("could not write " + path + ": the graph has no weights; write .sg, or draw them");
      }
      write_serialised(graph, path, true);
      return;
    case Format::bel:
      write_bel(graph, bel_stem(path));
      return;
    default:
      throw UsageError("could not write " + path + ": graphs are written as .sg, .wsg and .bel");
  }
}

}  // namespace grainscope::graph
