#include <chrono>

#include "gather_probe.hpp"
#include "traversal_fixture.hpp"

namespace grainscope::graph {
namespace {

class Gathers : public TraversalTest {};

std::vector<std::uint32_t> in_degrees(const Csr& graph) {
  std::vector<std::uint32_t> degrees(graph.vertices());
  for (const Vertex target : graph.targets.span()) {
    ++degrees[target];
  }
  return degrees;
}

TEST_F(Gathers, hand_out_every_edge_exactly_once_as_every_walk_does) {
  std::vector<BothWays> graphs = all_sample_graphs();
  for (BothWays& both : larger_graphs()) {
    graphs.push_back(std::move(both));
  }
  graphs.push_back(star(300'000));
  for (const BothWays& both : graphs) {
    for (const int edge_bytes : {4, 8}) {
      const auto placed = place(both.graph, EdgePlacement::mapped, edge_bytes);
      for (const Access access : kAllAccess) {
        SCOPED_TRACE(testing::Message() << both.graph.name << ", " << name(access) << ", " << edge_bytes);
        const auto traversal = make_in_degrees(*placed, access);
        for (int run = 0; run < 3; ++run) {
          static_cast<void>(traversal->run(0));
          EXPECT_EQ(traversal->answer(), in_degrees(both.graph));
        }
      }
    }
  }
}

TEST_F(Gathers, leave_by_their_clock_and_say_so_where_a_list_never_gets_done) {
  using namespace std::chrono_literals;
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(gives_up_waiting(0.05));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
}

}  // namespace
}  // namespace grainscope::graph
