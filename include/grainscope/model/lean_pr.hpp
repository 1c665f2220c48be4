#ifndef GRAINSCOPE_MODEL_LEAN_PR_HPP
#define GRAINSCOPE_MODEL_LEAN_PR_HPP

// What PageRank by pulling asks of the link: every sweep the same, all lists once; and how many sweeps it
// takes, by taking them. On a GPU warps come in no fixed order, so that it may take one more or less.

#include <cstdint>
#include <vector>

#include "grainscope/lean/lean_pr.hpp"
#include "grainscope/model/lean_bfs.hpp"

namespace grainscope::model {

struct LeanPr {
  std::vector<float> ranks;  // [V]
  std::uint32_t sweeps = 0;
  Requests sweep;               // over the link, of each
  std::uint64_t hot_reads = 0;  // elements from GPU memory, of each
};

// `in`: lists that are pulled from, `out`: degrees of what they name; of an undirected graph the same. All
// threads. Throws FailedError where it does not come to an end.
[[nodiscard]] LeanPr replay_pr(const TieredLists& in, const graph::Csr& out);

}  // namespace grainscope::model

#endif
