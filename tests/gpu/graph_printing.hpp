#ifndef GRAINSCOPE_TESTS_GPU_GRAPH_PRINTING_HPP
#define GRAINSCOPE_TESTS_GPU_GRAPH_PRINTING_HPP

// How GoogleTest writes what tests of traversals are of.

#include <ostream>

#include "grainscope/graph/access.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {

inline void PrintTo(Algorithm algorithm, std::ostream* out) {
  *out << name(algorithm);
}
inline void PrintTo(Access access, std::ostream* out) {
  *out << name(access);
}

}  // namespace grainscope::graph

#endif
