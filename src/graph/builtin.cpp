// The graphs of benchmarks/graphs, which CMake compiles in.

#include "embedded/graphs.hpp"
#include "grainscope/core/error.hpp"
#include "readers.hpp"

namespace grainscope::graph {
namespace {

Text text_of(const std::string& name) {
  const std::string where = "graph '" + name + "' inside the program";
  if (name == "power") {
    return {where, embedded::graphs::power()};
  }
  if (name == "pgp") {
    return {where, embedded::graphs::pgp()};
  }
  throw UsageError("there is no graph '" + name + "' inside the program; there are power and pgp");
}

}  // namespace

Csr builtin_graph(const std::string& name) {
  Csr graph = read_metis(text_of(name), {});
  graph.name = name;
  return graph;
}

}  // namespace grainscope::graph
