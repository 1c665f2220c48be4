// What a placement's pushes and pulls cost, by which a search turns.

#include <algorithm>

#include "grainscope/lean/list_phases.hpp"
#include "grainscope/model/lean_bfs.hpp"

namespace grainscope::model {

lean::Turning turning_for(const TieredLists& out, const TieredLists& in) {
  constexpr double kVisited = 0.4;  // an edge that comes faster than a plain one over the link
  constexpr double kMostTold = 32;
  lean::Turning turning;
  const std::uint64_t all_listed = lean::vertices_listed(*in.lists);
  if (out.lists->edges() == 0 || all_listed == 0) {
    return turning;
  }
  const auto listed = static_cast<double>(all_listed);
  const auto edges = static_cast<double>(out.lists->edges());
  const double hot = out.tier != nullptr ? static_cast<double>(out.tier->elements()) / edges : 0;
  turning.push =
      out.compressed != nullptr
          ? static_cast<double>(out.compressed->bytes_read()) / sizeof(graph::Vertex) / edges + kVisited
          : 1 - hot + hot * kVisited;
  const double begun = listed - static_cast<double>(lean::cold_lists(*in.lists, in.tier));
  if (begun > 0) {
    turning.hot = begun / listed;
    turning.told = std::min(static_cast<double>(in.tier->elements()) / begun, kMostTold);
  }
  if (in.firsts != nullptr) {
    turning.firsts = true;
    turning.first = in.firsts->packed()
                        ? static_cast<double>(in.firsts->words.size()) / static_cast<double>(in.firsts->lists)
                        : 1;
  }
  return turning;
}

}  // namespace grainscope::model
