// A core replays at least 40 million edges a second, whatever the access: processor time, so that other
// programs on the machine do not count.

#include <gtest/gtest.h>
#include <omp.h>

#include <ctime>

#include "fastest.hpp"
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

constexpr double kLeast = 40;  // million edges a second

// Million edges a second of whole sweeps by one thread.
template <class Walk>
double million_edges_per_s(const graph::Csr& graph, Walk&& walk) {
  const auto all = all_vertices(graph);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const double million_edges = static_cast<double>(graph.edges()) / 1e6;
  const double seconds = test::fastest_s(processor_s, million_edges / kLeast, [&] { walk.level(all); });
  omp_set_num_threads(threads);
  return million_edges / seconds;
}

TEST(ReplaySpeed, is_at_least_40_million_edges_a_second_a_core) {
  if (!kOptimised) {
    GTEST_SKIP() << "not an optimised build";
  }
  const graph::Csr graph = random_graph(50000, 31);
  for (const bool weights : {false, true}) {
    const Layout layout{8, weights, 0, 0};
    for (const graph::Access access : graph::kAllAccess) {
      EXPECT_GT(million_edges_per_s(graph, Replayer(graph, access, layout)), kLeast) << name(access);
    }
    for (const std::uint64_t page : {4096U, 65536U}) {
      EXPECT_GT(million_edges_per_s(graph, Pager(graph, layout, {graph.edges() * 4, page, 12.3})), kLeast);
    }
  }
}

}  // namespace
}  // namespace grainscope::model
