#include "generators.hpp"
namespace grainscope::graph {
EdgeList dense_edges(int scale, int degree) {
  return urand_edges(scale, degree);
}
}  // namespace grainscope::graph
