// A core replays at least 40 million edges a second, whatever the access: processor time, so that other
// programs on the machine do not count.

#include <gtest/gtest.h>
#include <omp.h>

#include <ctime>
#include <vector>

#include "grainscope/core/statistics.hpp"
#include "grainscope/model/paging.hpp"
#include "random_graph.hpp"

namespace grainscope::model {
namespace {

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif

double processor_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Million edges a second of whole sweeps by one thread, as many as take long enough for the clock: the median
// of them, because a guest is charged for what its host takes away, which makes a sweep slow and not each.
template <class Walk>
double million_edges_per_s(const graph::Csr& graph, Walk&& walk) {
  const auto all = all_vertices(graph);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  std::vector<double> sweeps_s;
  for (double spent_s = 0; spent_s < 0.05 || sweeps_s.size() < 11; spent_s += sweeps_s.back()) {
    const double begun = processor_s();
    walk.level(all);
    sweeps_s.push_back(processor_s() - begun);
  }
  omp_set_num_threads(threads);
  return static_cast<double>(graph.edges()) / 1e6 / summarize(sweeps_s).median;
}

TEST(ReplaySpeed, is_at_least_40_million_edges_a_second_a_core) {
  if (!kOptimised) {
    GTEST_SKIP() << "not an optimised build";
  }
  const graph::Csr graph = random_graph(50000, 31);
  for (const bool weights : {false, true}) {
    const Layout layout{8, weights, 0, 0};
    for (const graph::Access access : graph::kAllAccess) {
      EXPECT_GT(million_edges_per_s(graph, Replayer(graph, access, layout)), 40) << name(access);
    }
    for (const std::uint64_t page : {4096U, 65536U}) {
      EXPECT_GT(million_edges_per_s(graph, Pager(graph, layout, {graph.edges() * 4, page, 12.3})), 40);
    }
  }
}

}  // namespace
}  // namespace grainscope::model
