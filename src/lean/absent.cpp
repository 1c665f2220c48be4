// Stand-ins of a build without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::lean {

std::unique_ptr<LeanLists> place_lean(const LeanPlacement& /*placement*/,
                                      const cuda::Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_bfs(const LeanLists& /*lists*/, const Turning& /*turning*/,
                                                bool /*parents*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<CallersAnswer> with_callers_numbers(std::unique_ptr<graph::Traversal> /*traversal*/,
                                                    int /*gpu*/, const CallersNumbers& /*numbers*/,
                                                    bool /*parents*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_sssp(const LeanLists& /*lists*/, std::uint32_t /*delta*/) {
  throw SkipError("built without CUDA");
}

SegmentRates measure_segment_rates(const LeanLists& /*lists*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_hybrid_sssp(const LeanLists& /*lists*/, std::uint32_t /*delta*/,
                                                   const LinkCosts& /*costs*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_cc(const LeanLists& /*lists*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_pr(const LeanLists& /*lists*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_hybrid_pr(const LeanLists& /*lists*/, const LinkCosts& /*costs*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_bfs(LeanTeam /*team*/, const Turning& /*turning*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_cc(LeanTeam /*team*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_sssp(LeanTeam /*team*/, std::uint32_t /*delta*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<graph::Traversal> make_lean_pr(LeanTeam /*team*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::lean
