// Stand-ins of a build without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_bfs.hpp"

namespace grainscope::lean {

std::unique_ptr<LeanLists> place_lean(const LeanPlacement& /*placement*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<LeanBfs> make_lean_bfs(const LeanLists& /*lists*/, const Turning& /*turning*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::lean
