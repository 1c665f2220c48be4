#ifndef GRAINSCOPE_LEAN_TURNING_HPP
#define GRAINSCOPE_LEAN_TURNING_HPP

// Which way a level of a direction-optimising search goes: whichever should take less of the link. Kernels
// and the model decide by the same numbers.
//
// Beamer, Asanović and Patterson (SC 2012, section 4) compare edges of the frontier with a fixed share of
// those not yet explored. Over a link that is wrong where neighbours are random: a frontier with a fourteenth
// of the edges answers a pull seldom, and most lists are then read to their end. LeanBfsModel in the tests
// has both rules beside the cheapest way.

#include <cstdint>

namespace grainscope::lean {

// Before a level.
struct LevelAhead {
  std::uint64_t active = 0;      // vertices of the frontier
  std::uint64_t edges = 0;       // in their lists
  std::uint64_t unreached = 0;   // vertices not yet reached that have a list to pull from
  std::uint64_t unexplored = 0;  // edges in the lists of vertices not yet reached
  std::uint64_t listed = 0;      // vertices that have a list to pull from
  std::uint64_t all_edges = 0;

  // Before the first, from a source with so many out-edges, and a list to pull from or none.
  [[nodiscard]] static constexpr LevelAhead of_source(std::uint64_t degree, bool source_listed,
                                                      std::uint64_t listed, std::uint64_t all_edges) {
    return {1, degree, listed - (source_listed ? 1 : 0), all_edges - degree, listed, all_edges};
  }
  // What a level found is the next one's frontier.
  constexpr void advance(std::uint64_t found, std::uint64_t edges_of_found) {
    active = found;
    edges = edges_of_found;
    unreached -= found;
    unexplored -= edges_of_found;
  }
};

// Costs in words of four bytes that cross the link in whole lines.
struct Turning {
  double push = 1;  // of an edge that is pushed; 0: never pull, infinity: pull whenever there is a choice
  double hot = 0;   // share of lists whose beginning is hot
  double told = 0;  // neighbours that such a beginning tells
  bool firsts =
      false;         // first neighbours of the other lists lie side by side, and are looked at before these
  double first = 1;  // of one of them

  // Of a list's beginning over the link: a sector of eight words, at little more than half the rate.
  static constexpr double kLook = 15;
  static constexpr double kLooked = 8;  // neighbours that it tells
  static constexpr double kHotLook = 0.25;
  // What follows a beginning is never less than a sector.
  static constexpr double kRest = 8;
  // Lists have their hubs first: where the frontier's lists are longer than most, what is looked at first is
  // that much likelier to lie in it, by no more than this.
  static constexpr double kMostBias = 16;

  [[nodiscard]] constexpr bool pulls(const LevelAhead& ahead) const {
    if (ahead.edges == 0) {
      return false;
    }
    if (ahead.unreached == 0) {
      return push > 0;  // nobody asks
    }
    const auto all = static_cast<double>(ahead.all_edges);
    const auto edges = static_cast<double>(ahead.edges);
    const auto unreached = static_cast<double>(ahead.unreached);
    const double share = edges / all;  // of neighbours that lie in the frontier
    const double longer =
        edges / static_cast<double>(ahead.active) / (all / static_cast<double>(ahead.listed));
    const double bias = longer < 1 ? 1 : longer > kMostBias ? kMostBias : longer;
    // Of a list that `looked` neighbours are told of: what is read after these.
    const auto rest = [&](double looked) {
      const double left = static_cast<double>(ahead.unexplored) / unreached - looked;
      const double until = 1 / share > kRest ? 1 / share : kRest;
      return power(1 - share, static_cast<std::uint32_t>(looked * bias)) * (left < 0       ? 0
                                                                            : left < until ? left
                                                                                           : until);
    };
    double cold = kLook + rest(kLooked);
    if (firsts) {
      const double of_first = bias < 2 ? 1 : bias / 2;  // found by LeanBfsModel.turns_where_it_pays
      cold = first_look(ahead) + power(1 - share, static_cast<std::uint32_t>(of_first)) * cold;
    }
    const double pull = hot * (kHotLook + rest(told)) + (1 - hot) * cold;
    return push * edges > unreached * pull;
  }

 private:
  // Of a vertex that asks: the fewer do, the fewer share a sector.
  [[nodiscard]] constexpr double first_look(const LevelAhead& ahead) const {
    const double alone = first * static_cast<double>(ahead.listed) / static_cast<double>(ahead.unreached);
    return alone < kRest ? alone : kRest;
  }
  // By multiplications alone. No product here is joined with a sum (src/lean/CMakeLists.txt), so that a GPU
  // and a CPU round alike.
  static constexpr double power(double base, std::uint32_t exponent) {
    double result = 1;
    for (; exponent != 0; exponent >>= 1) {
      result *= (exponent & 1) != 0 ? base : 1;
      base *= base;
    }
    return result;
  }
};

}  // namespace grainscope::lean

#endif
