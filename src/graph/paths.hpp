#ifndef GRAINSCOPE_SRC_GRAPH_PATHS_HPP
#define GRAINSCOPE_SRC_GRAPH_PATHS_HPP

#include <string>

#include "grainscope/graph/io.hpp"

namespace grainscope::graph {

// "folder/NAME.bel" of itself and of its three files.
[[nodiscard]] std::string bel_stem(const std::string& path);

}  // namespace grainscope::graph

#endif
