#include "traversal_fixture.hpp"

#include "grainscope/graph/generate.hpp"

namespace grainscope::graph {

BothWays star(Vertex leaves) {
  std::vector<Triple> edges;
  for (Vertex v = 0; v < leaves; ++v) {
    edges.push_back({leaves, v, 1 + v % 16});
  }
  Csr graph = weighted_graph(leaves + 1, edges, false);
  graph.name = "star" + std::to_string(leaves);
  return BothWays(std::move(graph));
}

std::vector<BothWays> larger_graphs() {
  std::vector<BothWays> graphs;
  for (const char* spec : {"kron:12", "urand:12", "web:10", "power"}) {
    graphs.emplace_back(make_graph(parse_graph_spec(spec), true));
  }
  return graphs;
}

std::unique_ptr<PlacedGraph> TraversalTest::place(const Csr& graph, EdgePlacement placement, int edge_bytes) {
  PlacementRequest request;
  request.placement = placement;
  request.edge_bytes = edge_bytes;
  request.weights = graph.weighted();
  return place_graph(graph, request, {nullptr, &budget_});
}

std::vector<std::unique_ptr<PlacedGraph>> TraversalTest::place_parts(const Csr& graph,
                                                                     EdgePlacement placement, int edge_bytes,
                                                                     const std::vector<int>& gpus,
                                                                     Division division) {
  std::vector<std::unique_ptr<PlacedGraph>> parts;
  for (const int gpu : gpus) {
    PlacementRequest request;
    request.placement = placement;
    request.edge_bytes = edge_bytes;
    request.weights = graph.weighted();
    request.gpu = gpu;
    if (placement == EdgePlacement::interleaved) {
      request.gpus = gpus;
    }
    request.part = static_cast<int>(parts.size());
    request.parts = static_cast<int>(gpus.size());
    request.division = division;
    parts.push_back(place_graph(graph, request, {nullptr, &budget_}));
  }
  return parts;
}

bool TraversalTest::applies(const Csr& graph, Algorithm algorithm) {
  return algorithm == Algorithm::cc ? !graph.directed : algorithm != Algorithm::sssp || graph.weighted();
}

Vertex TraversalTest::busiest(const Csr& graph) {
  Vertex best = 0;
  for (Vertex v = 1; v < graph.vertices(); ++v) {
    best = graph.degree(v) > graph.degree(best) ? v : best;
  }
  return best;
}

void TraversalTest::expect_right(const BothWays& both, Algorithm algorithm, Vertex source,
                                 const Traversal& traversal) {
  switch (algorithm) {
    case Algorithm::bfs:
      EXPECT_EQ(traversal.answer(), serial_bfs(both.graph, source));
      return;
    case Algorithm::sssp:
      EXPECT_EQ(traversal.answer(), serial_sssp(both.graph, source));
      return;
    case Algorithm::cc:
      EXPECT_EQ(traversal.answer(), serial_cc(both.graph));
      return;
    case Algorithm::pr:
      EXPECT_NO_THROW((void)certify_pr(both.graph, both.in_edges(), traversal.ranks()));
      return;
  }
}

void TraversalTest::expect_spoiled(Traversal& traversal, const BothWays& both, Algorithm algorithm,
                                   Vertex source) {
  ASSERT_GT(both.graph.degree(source), 0U);
  traversal.run(source);
  expect_right(both, algorithm, source, traversal);
  traversal.spoil();
  switch (algorithm) {
    case Algorithm::bfs:
      EXPECT_THROW((void)certify_bfs(both.graph, both.in_edges(), source, traversal.answer()), FailedError);
      break;
    case Algorithm::sssp:
      EXPECT_THROW((void)certify_sssp(both.graph, source, traversal.answer()), FailedError);
      break;
    case Algorithm::cc: {
      const std::vector<Vertex> labels = serial_cc(both.graph);
      std::uint64_t components = 0;
      for (Vertex v = 0; v < both.graph.vertices(); ++v) {
        components += labels[v] == v ? 1 : 0;
      }
      EXPECT_THROW((void)certify_cc(both.graph, components, traversal.answer()), FailedError);
      break;
    }
    case Algorithm::pr:
      EXPECT_THROW((void)certify_pr(both.graph, both.in_edges(), traversal.ranks()), FailedError);
      break;
  }
  traversal.run(source);
  expect_right(both, algorithm, source, traversal);
}

void TraversalTest::expect_right_from(const BothWays& both, EdgePlacement placement, int edge_bytes,
                                      Algorithm algorithm, Access access) {
  if (!applies(both.graph, algorithm)) {
    return;
  }
  SCOPED_TRACE(testing::Message() << both.graph.name << ", " << edge_bytes << " bytes, " << name(placement));
  const auto placed = place(both.graph, placement, edge_bytes);
  const auto traversal = make_traversal(*placed, algorithm, access);
  for (const Vertex source : {busiest(both.graph), Vertex{0}}) {
    EXPECT_GT(run_anew(*traversal, source), 0);
    expect_right(both, algorithm, source, *traversal);
  }
  if (both.graph.edges() > 0) {
    expect_spoiled(*traversal, both, algorithm, busiest(both.graph));
  }
}

void TraversalTest::expect_right_by(const std::vector<int>& gpus, const BothWays& both,
                                    EdgePlacement placement, int edge_bytes, Division division,
                                    Algorithm algorithm, Access access) {
  if (!applies(both.graph, algorithm)) {
    return;
  }
  SCOPED_TRACE(testing::Message() << both.graph.name << ", " << edge_bytes << " bytes, " << name(placement)
                                  << ", alike " << name(division) << ", parts " << gpus.size());
  const auto placed = place_parts(both.graph, placement, edge_bytes, gpus, division);
  std::vector<const PlacedGraph*> parts;
  for (const auto& part : placed) {
    parts.push_back(part.get());
  }
  const auto traversal = make_traversal(parts, algorithm, access);
  for (const Vertex source : {busiest(both.graph), Vertex{0}}) {
    EXPECT_GT(run_anew(*traversal, source), 0);
    expect_right(both, algorithm, source, *traversal);
  }
  if (both.graph.edges() > 0) {
    expect_spoiled(*traversal, both, algorithm, busiest(both.graph));
  }
}

}  // namespace grainscope::graph
