// Every case of the families over graphs, as the suite would run it on a small graph.

#include <memory>
#include <vector>

#include "family_fixture.hpp"
#include "gnn/case.hpp"
#include "grainscope/core/error.hpp"
#include "traversal/lean_runs.hpp"
#include "traversal/loaded_graph.hpp"

namespace grainscope::harness {
namespace {

class GraphFamilies : public FamilyTest {
 protected:
  // Of the preset `full` on this graph; how many could run.
  std::size_t measure_all_on(const char* graph, const Family& family) {
    return measure_all(listed_on(graph, family, Preset::full),
                       [](const Measurement& measurement) { EXPECT_NE(measurement.verification, ""); });
  }
};

TEST_F(GraphFamilies, every_traversal_is_measured) {
  EXPECT_GE(measure_all_on("kron:12", traversal()), 10U);
  EXPECT_GE(measure_all_on("web:12", traversal()), 5U);
}

TEST_F(GraphFamilies, every_lean_traversal_is_measured) {
  EXPECT_GE(measure_all_on("kron:12", lean_traversal()), 20U);
  EXPECT_GE(measure_all_on("web:12", lean_traversal()), 15U);
}

TEST_F(GraphFamilies, every_sampler_is_measured) {
  EXPECT_GE(measure_all_on("kron:12", sampling_neighbours(std::make_shared<GnnGraphCache>())), 2U);
}

// A row fails where a run read what its model does not.
TEST_F(GraphFamilies, lean_reads_that_are_not_the_model_s_are_told) {
  for (const graph::Algorithm algorithm :
       {graph::Algorithm::bfs, graph::Algorithm::cc, graph::Algorithm::pr, graph::Algorithm::sssp}) {
    LeanPoint point;
    point.spec = graph::parse_graph_spec("kron:12");
    point.graph = {point.spec.name(), graph::Order::degree};
    point.algorithm = algorithm;
    const LoadedGraph graph(point.spec, point.graph.order, "");
    const LeanLayout layout(point, graph);
    const auto lists = lean::place_lean(layout.placement());
    const LeanRun run = make_lean_run(point, graph, *lists, layout);
    const graph::Vertex source = graph.sources(1).front();
    static_cast<void>(run.traversal->run(source));
    const std::vector<lean::LinkReads> reads = run.traversal->count(source);
    EXPECT_NO_THROW(static_cast<void>(run.model(source, reads))) << name(algorithm);
    std::vector<lean::LinkReads> more = reads;
    more.front().sectors += 1;
    more.front().elements += 3000 + graph.csr().edges();
    EXPECT_THROW(static_cast<void>(run.model(source, more)), FailedError) << name(algorithm);
  }
}

}  // namespace
}  // namespace grainscope::harness
