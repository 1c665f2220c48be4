#include "grainscope/graph/generate.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "grainscope/core/error.hpp"
#include "sha256.hpp"

namespace grainscope::graph {
namespace {

Csr graph_of(const std::string& text) {
  return make_graph(parse_graph_spec(text), false);
}

std::string hash_of(const EdgeList& edges) {
  return sha256(std::as_bytes(edges.from.span())) + sha256(std::as_bytes(edges.to.span())) +
         sha256(std::as_bytes(edges.weights.span()));
}

Edge largest_degree(const Csr& graph) {
  Edge largest = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    largest = std::max(largest, graph.degree(v));
  }
  return largest;
}

// The share of entries (v, u) for which `holds`.
template <class Holds>
double share_of_entries(const Csr& graph, const Holds& holds) {
  std::uint64_t count = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    for (const Vertex u : graph.neighbours(v)) {
      count += holds(v, u) ? 1 : 0;
    }
  }
  return static_cast<double>(count) / static_cast<double>(graph.edges());
}

double mean_degree(const Csr& graph) {
  return static_cast<double>(graph.edges()) / graph.vertices();
}

class Generate : public testing::TestWithParam<const char*> {};

TEST_P(Generate, draws_as_many_edges_as_asked_between_vertices_that_exist) {
  for (const char* const size : {":1", ":2", ":5:1", ":6:3", ":7:200", ":12", ":13:5"}) {
    const GraphSpec spec = parse_graph_spec(GetParam() + std::string(size));
    SCOPED_TRACE(spec.name());
    const EdgeList edges = generate_edges(spec, true);
    EXPECT_EQ(edges.from.size(), static_cast<std::uint64_t>(spec.degree) << spec.scale);
    EXPECT_EQ(edges.to.size(), edges.from.size());
    EXPECT_EQ(edges.weights.size(), edges.from.size());
    EXPECT_LE(edges.vertices, spec.vertices());
    EXPECT_LT(*std::max_element(edges.from.begin(), edges.from.end()), edges.vertices);
    EXPECT_LT(*std::max_element(edges.to.begin(), edges.to.end()), edges.vertices);
    EXPECT_GE(*std::min_element(edges.weights.begin(), edges.weights.end()), 1);
    EXPECT_LE(*std::max_element(edges.weights.begin(), edges.weights.end()), 255);
    const Csr graph = make_graph(spec, true);
    check_csr(graph);
    EXPECT_EQ(graph.directed, spec.directed());
    EXPECT_LE(graph.edges(), spec.most_entries());
  }
}

TEST_P(Generate, does_not_depend_on_the_number_of_threads) {
  const GraphSpec spec = parse_graph_spec(GetParam() + std::string(":15"));
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::string one = hash_of(generate_edges(spec, true));
  omp_set_num_threads(3);
  EXPECT_EQ(hash_of(generate_edges(spec, true)), one);
  omp_set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Generate, testing::Values("kron", "urand", "dense", "web", "pareto"),
                         [](const auto& each) { return std::string(each.param); });

TEST(GenerateDense, has_long_lists_and_no_hubs) {
  for (const char* const text : {"dense:10", "dense:13", "dense:15"}) {
    const Csr graph = graph_of(text);
    SCOPED_TRACE(graph.name);
    EXPECT_GT(mean_degree(graph), 220);
    EXPECT_LT(mean_degree(graph), 256);
    EXPECT_LT(static_cast<double>(largest_degree(graph)), 1.6 * mean_degree(graph));
    EXPECT_LT(share_of_entries(graph, [&](Vertex v, Vertex) { return graph.degree(v) < 128; }), 0.001);
  }
}

TEST(GenerateWeb, is_directed_and_local_with_a_few_far_hubs) {
  const Csr graph = graph_of("web:16");
  const Csr turned = transpose(graph);
  EXPECT_TRUE(graph.directed);
  EXPECT_GT(mean_degree(graph), 10);
  EXPECT_LT(mean_degree(graph), 14);
  const auto apart = [](Vertex v, Vertex u) { return v > u ? v - u : u - v; };
  EXPECT_GT(share_of_entries(graph, [&](Vertex v, Vertex u) { return apart(v, u) < 4096; }), 0.7);
  EXPECT_GT(share_of_entries(graph, [&](Vertex v, Vertex u) { return apart(v, u) < 64; }), 0.4);
  const auto answered = [&](Vertex v, Vertex u) {
    return std::ranges::binary_search(graph.neighbours(u), v);
  };
  EXPECT_LT(share_of_entries(graph, answered), 0.1);
  EXPECT_LT(largest_degree(graph), 64);
  EXPECT_GT(largest_degree(turned), graph.vertices() / 10);
  const auto to_hub = [&](Vertex, Vertex u) { return turned.degree(u) > 1000; };
  const double to_hubs = share_of_entries(graph, to_hub);
  EXPECT_GT(to_hubs, 0.05);
  EXPECT_LT(to_hubs, 0.2);
}

TEST(GenerateWeb, pages_of_a_host_share_links) {
  // Were links drawn independently, two pages in a row would hardly ever have a far link in common other than
  // to a hub.
  const Csr graph = graph_of("web:16");
  std::uint64_t shared = 0;
  for (Vertex v = 1; v < graph.vertices(); ++v) {
    for (const Vertex u : graph.neighbours(v)) {
      const bool far = (u > v ? u - v : v - u) > 8192;
      shared += far && u % 32 != 0 && std::ranges::binary_search(graph.neighbours(v - 1), u) ? 1 : 0;
    }
  }
  EXPECT_GT(shared, 100);
}

TEST(GeneratePareto, has_degrees_that_fall_by_the_law_and_hubs_anywhere) {
  const Csr graph = graph_of("pareto:16");
  EXPECT_FALSE(graph.directed);
  std::vector<Edge> degrees(graph.vertices());
  Vertex largest = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    degrees[v] = graph.degree(v);
    largest = degrees[v] > degrees[largest] ? v : largest;
  }
  EXPECT_GT(largest, 16U);
  std::sort(degrees.rbegin(), degrees.rend());
  // Ranks whose edges hardly repeat: degree 8 (r / n)^(-3/4), so 7.6 times less for 15 times the rank.
  const auto at = [&](double share) {
    return static_cast<double>(degrees[static_cast<std::size_t>(share * graph.vertices())]);
  };
  EXPECT_NEAR(at(0.05) / at(0.75), 7.6, 1.5);
  EXPECT_NEAR(at(0.05), 8 * 9.46, 12);
  const auto share_of = [&](double share) {
    const auto count = static_cast<std::ptrdiff_t>(share * graph.vertices());
    return static_cast<double>(std::accumulate(degrees.begin(), degrees.begin() + count, Edge{0})) /
           static_cast<double>(graph.edges());
  };
  EXPECT_NEAR(share_of(0.01), 0.25, 0.03);  // 0.316 before repeats go, most of them the hubs'
  EXPECT_NEAR(share_of(0.25), 0.68, 0.03);  // 0.707
}

// What is written down here must not change without a new name: results are compared by name.
TEST(Generate, dense_web_and_pareto_are_what_they_were) {
  EXPECT_EQ(sha256(std::as_bytes(graph_of("pareto:12").targets.span())),
            "92450ef6bf2bacfb71c2cc01f86f3f1817212eab1623f9588cf62682e2f1cd4e");
  EXPECT_EQ(sha256(std::as_bytes(graph_of("dense:12").targets.span())),
            "096cffb8a4581871f85fbecb19c51cf7b23241e8e28882bbe1ad5e2210c731d8");
  EXPECT_EQ(sha256(std::as_bytes(graph_of("web:14").targets.span())),
            "282268f6b3ce9ca8299a81070c5678df280da397e0ab6acb21268bf862193a84");
}

TEST(Generate, refuses_what_is_read) {
  EXPECT_THROW((void)generate_edges(parse_graph_spec("file:x.sg"), false), UsageError);
  EXPECT_THROW((void)generate_edges(parse_graph_spec("power"), false), UsageError);
}

TEST(Generate, says_how_much_memory_it_lacks) {
  try {
    (void)generate_edges(parse_graph_spec("urand:31:4096"), false);
    FAIL() << "generated";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("70368744177664 bytes (64 TiB)"), std::string::npos)
        << error.what();
  }
}

TEST(GapSources, are_vertices_with_edges_and_need_one) {
  const Csr graph = graph_of("kron:12:2");
  const std::vector<Vertex> sources = gap_sources(graph, 64);
  ASSERT_EQ(sources.size(), 64);
  for (const Vertex source : sources) {
    ASSERT_LT(source, graph.vertices());
    EXPECT_GT(graph.degree(source), 0);
  }
  EXPECT_TRUE(gap_sources(graph, 0).empty());
  EdgeList loop{2, HostArray<Vertex>(1), HostArray<Vertex>(1), {}};
  EXPECT_THROW((void)gap_sources(build_csr(std::move(loop), {}), 1), UsageError);
  EXPECT_THROW((void)gap_sources(Csr{}, 1), UsageError);
}

}  // namespace
}  // namespace grainscope::graph
