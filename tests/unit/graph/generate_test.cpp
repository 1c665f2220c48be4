// From a name to a graph: what names say, what is generated, that kron and urand are GAP's, and what is
// cached.

#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <random>
#include <vector>

#include "../../testing/golden.hpp"
#include "../../testing/oracles.hpp"
#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/io.hpp"
#include "random.hpp"

namespace grainscope::graph {
namespace {

using SpecKind = GraphSpec::Kind;

TEST(GraphSpec, reads_kinds_scales_and_degrees) {
  const GraphSpec kron = parse_graph_spec("kron:24");
  EXPECT_EQ(kron.kind, SpecKind::kron);
  EXPECT_EQ(kron.scale, 24);
  EXPECT_EQ(kron.degree, 16);
  EXPECT_EQ(parse_graph_spec("urand:20:4").degree, 4);
  EXPECT_EQ(parse_graph_spec("dense:17").degree, 128);
  EXPECT_EQ(parse_graph_spec("web:31").scale, 31);
  EXPECT_EQ(parse_graph_spec("pareto:20:8").kind, SpecKind::pareto);
  EXPECT_FALSE(parse_graph_spec("pareto:20").directed());
  EXPECT_TRUE(parse_graph_spec("web:20").directed());
  EXPECT_FALSE(parse_graph_spec("dense:17").directed());
  EXPECT_TRUE(parse_graph_spec("citation:20").directed());
  EXPECT_FALSE(parse_graph_spec("papers:20").directed());
  EXPECT_EQ(parse_graph_spec("file:a:b/c.sg").path, "a:b/c.sg");
  EXPECT_EQ(parse_graph_spec("power").kind, SpecKind::builtin);
}

TEST(GraphSpec, names_a_degree_only_where_it_is_not_the_kinds_own) {
  EXPECT_EQ(parse_graph_spec("kron:24").name(), "kron24");
  EXPECT_EQ(parse_graph_spec("kron:24:16").name(), "kron24");
  EXPECT_EQ(parse_graph_spec("urand:20:4").name(), "urand20_4");
  EXPECT_EQ(parse_graph_spec("dense:17:16").name(), "dense17_16");
  EXPECT_EQ(parse_graph_spec("pgp").name(), "pgp");
  EXPECT_EQ(parse_graph_spec("file:/some/where/road.net.mtx").name(), "road.net");
  EXPECT_EQ(parse_graph_spec("file:GAP-kron.bel.dst").name(), "GAP-kron");
}

TEST(GraphSpec, tells_what_a_graph_will_have_at_most) {
  EXPECT_EQ(parse_graph_spec("kron:24").vertices(), 16777216);
  EXPECT_EQ(parse_graph_spec("kron:24").most_entries(), 536870912);
  EXPECT_EQ(parse_graph_spec("web:20").most_entries(), 16777216);
  EXPECT_EQ(parse_graph_spec("urand:31:4096").most_entries(), std::uint64_t{1} << 44);
  EXPECT_EQ(parse_graph_spec("file:x.sg").vertices(), std::nullopt);
  EXPECT_EQ(parse_graph_spec("file:x.sg").most_entries(), std::nullopt);
}

TEST(GraphSpec, knows_the_size_of_the_graphs_inside) {
  for (const char* const name : {"power", "pgp"}) {
    const GraphSpec spec = parse_graph_spec(name);
    const Csr graph = make_graph(spec, false);
    EXPECT_EQ(graph.vertices(), spec.vertices()) << name;
    EXPECT_EQ(graph.edges(), spec.most_entries()) << name;
  }
}

TEST(GraphSpec, refuses_other_texts_and_lists_what_there_is) {
  for (const char* const text : {"",
                                 "kron",
                                 "kron:",
                                 "kron:0",
                                 "kron:32",
                                 "kron:-3",
                                 "kron:24:",
                                 "kron:24:0",
                                 "kron:24:5000",
                                 "kron:2x",
                                 "kron:24:16:1",
                                 "kron: 24",
                                 "kron:99999999999999999999",
                                 "Kron:24",
                                 "road",
                                 "road:20:3",
                                 "file:",
                                 "file",
                                 ":24",
                                 "builtin:power",
                                 "power:3"}) {
    try {
      (void)parse_graph_spec(text);
      FAIL() << text;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("'" + std::string(text) + "'"), std::string::npos) << message;
      for (const char* const kind : {"kron:SCALE", "urand", "dense", "web", "pareto", "citation", "papers",
                                     "road", "power", "pgp", "file:PATH"}) {
        EXPECT_NE(message.find(kind), std::string::npos) << message;
      }
    }
  }
}

}  // namespace
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
  std::vector<std::string> sizes{":1", ":2", ":12"};
  if (GetParam() != std::string("road")) {
    sizes.insert(sizes.end(), {":5:1", ":6:3", ":7:200", ":13:5"});
  }
  for (const std::string& size : sizes) {
    const GraphSpec spec = parse_graph_spec(GetParam() + size);
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

INSTANTIATE_TEST_SUITE_P(Kinds, Generate,
                         testing::Values("kron", "urand", "dense", "web", "pareto", "citation", "papers",
                                         "road"),
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

TEST(GenerateRoad, is_connected_of_low_degree_and_large_diameter) {
  for (const int scale : {1, 2, 7, 12, 17}) {
    const Csr graph = graph_of("road:" + std::to_string(scale));
    SCOPED_TRACE(graph.name);
    ASSERT_EQ(graph.vertices(), Vertex{1} << scale);
    EXPECT_FALSE(graph.directed);
    EXPECT_LE(largest_degree(graph), 4U);
    // From the upper left every place is reached, by as many roads as it is rows and columns away.
    const std::vector<std::uint32_t> depths = serial_bfs(graph, 0);
    EXPECT_EQ(std::count(depths.begin(), depths.end(), kUnreached), 0);
    const std::uint32_t columns = 1U << (scale + 1) / 2;
    const std::uint32_t rows = 1U << scale / 2;
    EXPECT_EQ(*std::max_element(depths.begin(), depths.end()), columns + rows - 2);
    if (scale > 10) {
      EXPECT_NEAR(mean_degree(graph), 2.44, 0.03);
    }
  }
  // Near in number is near on the grid.
  const Csr graph = graph_of("road:16");
  EXPECT_GT(share_of_entries(graph, [](Vertex v, Vertex u) { return (v > u ? v - u : u - v) < 64; }), 0.8);
}

TEST(GenerateCitation, has_edges_to_earlier_papers_alone) {
  for (const char* const text : {"citation:1", "citation:5", "citation:11", "citation:16"}) {
    const Csr graph = graph_of(text);
    SCOPED_TRACE(graph.name);
    EXPECT_TRUE(graph.directed);
    EXPECT_EQ(share_of_entries(graph, [](Vertex v, Vertex u) { return u >= v; }), 0);
  }
}

TEST(GenerateCitation, cites_few_papers_often_and_mostly_the_own_field) {
  const GraphSpec spec = parse_graph_spec("citation:17");
  const Csr graph = make_graph(spec, false);
  EXPECT_GT(mean_degree(graph), 11);  // the more papers, the fewer repeats
  EXPECT_LT(mean_degree(graph), 16);
  EXPECT_LE(largest_degree(graph), 48);
  const Csr citing = transpose(graph);
  std::vector<Edge> cited(graph.vertices());
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    cited[v] = citing.degree(v);
  }
  std::sort(cited.rbegin(), cited.rend());
  const auto share_of = [&](double share) {
    const auto count = static_cast<std::ptrdiff_t>(share * graph.vertices());
    return static_cast<double>(std::accumulate(cited.begin(), cited.begin() + count, Edge{0})) /
           static_cast<double>(graph.edges());
  };
  EXPECT_GT(share_of(0.01), 0.1);  // 0.32 with 2^22 papers: repeats cost the often cited most
  EXPECT_GT(share_of(0.1), 0.5);
  EXPECT_LT(share_of(0.1), 0.7);
  // Labels are topics, one in eight is drawn; a field is every 16th topic.
  const std::vector<std::uint16_t> label = topic_labels(spec);
  ASSERT_EQ(label.size(), graph.vertices());
  EXPECT_LT(*std::max_element(label.begin(), label.end()), 256);
  const double within = share_of_entries(graph, [&](Vertex v, Vertex u) { return label[v] == label[u]; });
  EXPECT_NEAR(within, 0.6, 0.06);
  const double of_field =
      share_of_entries(graph, [&](Vertex v, Vertex u) { return label[v] % 16 == label[u] % 16; });
  EXPECT_NEAR(of_field, 0.75, 0.06);
  // Recent papers are cited more than by chance, in which an eighth would lie in the last eighth before.
  const double recent =
      share_of_entries(graph, [&](Vertex v, Vertex u) { return v - u < graph.vertices() / 8; });
  EXPECT_GT(recent, 0.5);
}

TEST(GenerateCitation, is_cited_both_ways_as_papers) {
  const Csr both = graph_of("papers:12");
  EXPECT_FALSE(both.directed);
  const Csr graph = graph_of("citation:12");
  EXPECT_EQ(both.edges(), 2 * graph.edges());
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    for (const Vertex u : graph.neighbours(v)) {
      ASSERT_TRUE(std::ranges::binary_search(both.neighbours(v), u));
    }
  }
}

TEST(ArchivedPapers, are_late_ones_of_a_quarter_of_the_topics_as_long_as_these_suffice) {
  const GraphSpec spec = parse_graph_spec("citation:14");
  const std::vector<std::uint16_t> label = topic_labels(spec);
  const auto of_archive = [&](std::span<const Vertex> papers) {
    return static_cast<double>(std::ranges::count_if(papers, [&](Vertex v) { return label[v] % 4 == 1; })) /
           static_cast<double>(papers.size());
  };
  for (const std::uint64_t count : {1, 164, 1638}) {
    const std::vector<Vertex> papers = archived_papers(spec, count);
    ASSERT_EQ(papers.size(), count);
    EXPECT_TRUE(std::ranges::is_sorted(papers));
    EXPECT_EQ(std::ranges::adjacent_find(papers), papers.end());
    EXPECT_GE(papers.front(), 8192);
    // But for the labels that are drawn: three in four of an eighth are of other topics.
    if (count > 1) {
      EXPECT_NEAR(of_archive(papers), 1 - 0.75 / 8, 0.06);
    }
  }
  const std::vector<Vertex> third = archived_papers(spec, 5461);
  EXPECT_LT(third.front(), 8192);
  EXPECT_LT(of_archive(third), 0.75);
  EXPECT_EQ(archived_papers(spec, 16384).size(), 16384);
  EXPECT_TRUE(archived_papers(spec, 0).empty());
  EXPECT_THROW((void)archived_papers(spec, 16385), UsageError);
  EXPECT_EQ(archived_papers(parse_graph_spec("papers:14"), 164), archived_papers(spec, 164));
  EXPECT_THROW((void)archived_papers(parse_graph_spec("pareto:14"), 10), UsageError);
  EXPECT_THROW((void)topic_labels(parse_graph_spec("power")), UsageError);
}

// What is written down here must not change without a new name: results are compared by name.
TEST(Generate, dense_web_pareto_citation_and_road_are_what_they_were) {
  EXPECT_EQ(sha256(std::as_bytes(graph_of("road:12").targets.span())),
            "f59ba560dfda1c6ed52bb6a72ffaccff9ffb6344f3abf19051ed3828ac775e3a");
  EXPECT_EQ(sha256(std::as_bytes(graph_of("citation:12").targets.span())),
            "7002eebc5a1f7f97389ee01814de09439fbee018d51ec54483652e06c9c98aba");
  const auto papers = archived_papers(parse_graph_spec("citation:12"), 41);
  EXPECT_EQ(sha256(std::as_bytes(std::span(papers))),
            "66b7f960d985085c806fa9592bf67532e8862083603cf78f552fcef6357eb171");
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
namespace {

constexpr int kOrdinaryScale = 16;

template <class T>
std::string hash_of(const HostArray<T>& array) {
  return sha256(std::as_bytes(array.span()));
}

void expect_golden(const GoldenGraph& golden) {
  SCOPED_TRACE(golden.spec.name());
  const Csr graph = make_graph(golden.spec, true);
  const nlohmann::json& values = golden.values;
  EXPECT_EQ(graph.name, golden.spec.name());
  EXPECT_FALSE(graph.directed);
  EXPECT_EQ(graph.vertices(), values.at("vertices"));
  EXPECT_EQ(graph.edges(), values.at("adjacency_entries"));
  auto targets = std::async(std::launch::async, [&] { return hash_of(graph.targets); });
  EXPECT_EQ(hash_of(graph.weights), values.at("weights_sha256").get<std::string>());
  EXPECT_EQ(hash_of(graph.offsets), values.at("offsets_sha256").get<std::string>());
  EXPECT_EQ(targets.get(), values.at("neighbours_sha256").get<std::string>());
  const std::vector<Vertex> sources = gap_sources(graph, static_cast<int>(values.at("sources").size()));
  EXPECT_EQ(nlohmann::json(sources), values.at("sources"));
}

TEST(Sha256, hashes_the_standard_examples) {
  const auto hash = [](const std::string& text) { return sha256(std::as_bytes(std::span(text))); };
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Golden, graphs_up_to_scale_16_are_gaps_bit_for_bit) {
  const std::vector<GoldenGraph> graphs = golden_graphs(kOrdinaryScale);
  ASSERT_EQ(graphs.size(), 6);
  for (const GoldenGraph& golden : graphs) {
    expect_golden(golden);
  }
}

TEST(Golden, graphs_of_scale_20_are_gaps_bit_for_bit) {
  int seen = 0;
  for (const GoldenGraph& golden : golden_graphs()) {
    if (golden.spec.scale > kOrdinaryScale) {
      expect_golden(golden);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST(Golden, graphs_without_weights_have_the_same_edges) {
  for (const GoldenGraph& golden : golden_graphs(14)) {
    const Csr graph = make_graph(golden.spec, false);
    EXPECT_FALSE(graph.weighted());
    EXPECT_EQ(hash_of(graph.offsets), golden.values.at("offsets_sha256").get<std::string>()) << graph.name;
    EXPECT_EQ(hash_of(graph.targets), golden.values.at("neighbours_sha256").get<std::string>()) << graph.name;
  }
}

}  // namespace
namespace {

TEST(Mersenne, draws_what_the_standard_engine_draws) {
  for (const std::uint32_t seed : {0U, 1U, 27491095U, UINT32_MAX}) {
    std::mt19937 standard(seed);
    Mersenne singly(seed);
    Mersenne by_batches(seed);
    for (int batch = 0; batch < 5; ++batch) {
      for (const std::uint32_t draw : by_batches.next_batch()) {
        const auto expected = static_cast<std::uint32_t>(standard());
        ASSERT_EQ(draw, expected);
        ASSERT_EQ(singly(), expected);
      }
    }
  }
}

// Hands out given numbers.
struct Given {
  std::vector<std::uint64_t> draws;
  std::size_t next = 0;
  std::uint64_t operator()() { return draws.at(next++); }
};

TEST(GapUniform, takes_every_draw_below_a_power_of_two) {
  Given given{{UINT32_MAX, 0, 1024}};
  const GapUniform uniform(UINT32_MAX, 1024);
  EXPECT_EQ(uniform(given), 1023);
  EXPECT_EQ(uniform(given), 0);
  EXPECT_EQ(uniform(given), 0);
}

TEST(GapUniform, draws_again_where_the_last_stretch_is_incomplete) {
  // (2^32 - 1) mod 255 is 0: of the weights' draws only the largest is drawn again.
  Given weights{{UINT32_MAX, UINT32_MAX - 1, 7}};
  EXPECT_EQ(GapUniform(UINT32_MAX, 255)(weights), (UINT32_MAX - 1) % 255);
  // (2^32 - 1) mod 1000 is 295.
  Given thousand{{UINT32_MAX - 295, UINT32_MAX - 296}};
  EXPECT_EQ(GapUniform(UINT32_MAX, 1000)(thousand), (UINT32_MAX - 296) % 1000);
}

TEST(GapUniform, narrows_a_wide_engine_as_gap_does) {
  // (2^64 - 1) mod 1000 is 615: draws are cut to 32 bits, and from 2^32 - 1 - 615 on drawn again.
  Given given{{(std::uint64_t{5} << 32) + UINT32_MAX - 615, (std::uint64_t{9} << 32) + UINT32_MAX - 616}};
  EXPECT_EQ(GapUniform(UINT64_MAX, 1000)(given), (UINT32_MAX - 616) % 1000);
}

TEST(Permutation, is_the_standard_librarys_shuffle) {
#if !defined(_GLIBCXX_RELEASE) || _GLIBCXX_RELEASE < 11
  GTEST_SKIP() << "the shuffle that GAP's graphs are known by is that of libstdc++ 11 and later";
#endif
  for (const std::uint32_t size : {1U, 2U, 3U, 4U, 1000U, 32768U, 65535U, 65536U, 65537U, 300001U}) {
    std::vector<Vertex> expected(size);
    std::iota(expected.begin(), expected.end(), 0);
    std::shuffle(expected.begin(), expected.end(), std::mt19937(27491095));
    const HostArray<Vertex> found = shuffled_identity(size, 27491095);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin(), found.end())) << size;
  }
}

}  // namespace
namespace {

namespace fs = std::filesystem;

class MakeGraph : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("grainscope-make-graph-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] Csr make(const std::string& text, bool weights) const {
    return make_graph(parse_graph_spec(text), weights, folder_.string());
  }

  fs::path folder_;
};

TEST_F(MakeGraph, keeps_generated_graphs_and_finds_them_again) {
  for (const char* const text : {"kron:10", "urand:9:3", "web:10", "dense:6"}) {
    for (const bool weights : {false, true}) {
      const GraphSpec spec = parse_graph_spec(text);
      const std::string file = path(spec.name() + (weights ? ".wsg" : ".sg"));
      const Csr plain = make_graph(spec, weights);
      EXPECT_FALSE(fs::exists(file));
      expect_same(make(text, weights), plain);
      ASSERT_TRUE(fs::exists(file));
      const auto written = fs::last_write_time(file);
      expect_same(make(text, weights), plain);
      EXPECT_EQ(fs::last_write_time(file), written) << file;
    }
  }
}

TEST_F(MakeGraph, refuses_a_directed_graph_whose_in_edges_are_damaged) {
  fs::create_directories(folder_);
  for (const bool weights : {false, true}) {
    const Csr web = make_graph(parse_graph_spec("web:8"), weights);
    ASSERT_TRUE(web.directed);
    const std::string file = path(weights ? "web8.wsg" : "web8.sg");
    write_graph(web, file);
    expect_same(read_graph(file, {.weights = weights}), web);
    const auto entry = static_cast<std::int64_t>(weights ? 8 : 4);
    const auto entries = static_cast<std::int64_t>(web.edges());
    const auto offsets = static_cast<std::int64_t>(8 * (web.vertices() + 1));
    const std::int64_t in_edges = 17 + offsets + entry * entries;
    // An offset, an entry that is none of the vertices, and one that is another vertex.
    for (const auto& [at, flip] : {std::pair(in_edges + 8, 0x01),
                                   {in_edges + offsets + 2, 0x01},
                                   {in_edges + offsets + entry * (entries / 2), 0x01}}) {
      std::fstream kept(file, std::ios::in | std::ios::out | std::ios::binary);
      kept.seekg(at);
      const int was = kept.get();
      kept.seekp(at);
      kept.put(static_cast<char>(was ^ flip));
      kept.close();
      EXPECT_THROW((void)read_graph(file), UsageError) << file << " byte " << at;
      std::fstream again(file, std::ios::in | std::ios::out | std::ios::binary);
      again.seekp(at);
      again.put(static_cast<char>(was));
    }
    EXPECT_NO_THROW((void)read_graph(file));
  }
}

TEST_F(MakeGraph, makes_again_what_is_another_graph_of_the_same_size) {
  const Csr right = make("kron:10", false);
  const Csr other = make("urand:10", false);
  fs::copy_file(path("urand10.sg"), path("kron10.sg"), fs::copy_options::overwrite_existing);
  expect_same(make("kron:10", false), right);
  // Also where its finger print came with it, or there is none.
  fs::copy_file(path("urand10.sg"), path("kron10.sg"), fs::copy_options::overwrite_existing);
  fs::copy_file(path("urand10.sg.made"), path("kron10.sg.made"), fs::copy_options::overwrite_existing);
  expect_same(make("kron:10", false), right);
  fs::copy_file(path("urand10.sg"), path("kron10.sg"), fs::copy_options::overwrite_existing);
  fs::remove(path("kron10.sg.made"));
  expect_same(make("kron:10", false), right);
  expect_same(make("urand:10", false), other);
}

TEST_F(MakeGraph, makes_again_what_has_one_weight_or_edge_changed) {
  const Csr right = make("kron:8", true);
  const auto file = path("kron8.wsg");
  for (const long back : {8, 4}) {
    std::fstream kept(file, std::ios::in | std::ios::out | std::ios::binary);
    kept.seekp(-back, std::ios::end);
    kept.put(static_cast<char>(kept.peek() ^ 1));
    kept.close();
    expect_same(make("kron:8", true), right);
  }
}

TEST_F(MakeGraph, gives_what_it_cannot_keep_and_says_why) {
  std::ofstream(folder_) << "a file";
  std::string why;
  expect_same(make_graph(parse_graph_spec("kron:8"), false, folder_.string(), why),
              make_graph(parse_graph_spec("kron:8"), false));
  EXPECT_NE(why.find(folder_.string()), std::string::npos) << why;
}

TEST_F(MakeGraph, makes_again_what_is_damaged_or_cannot_be_it) {
  fs::create_directories(folder_);
  const Csr right = make_graph(parse_graph_spec("kron:8"), true);
  std::ofstream(path("kron8.wsg")) << "no graph";
  expect_same(make("kron:8", true), right);
  expect_same(read_graph(path("kron8.wsg"), {.weights = true}), right);
  fs::resize_file(path("kron8.wsg"), fs::file_size(path("kron8.wsg")) - 1);
  expect_same(make("kron:8", true), right);
  for (const char* scale : {"kron:7", "kron:9"}) {
    write_graph(make_graph(parse_graph_spec(scale), true), path("kron8.wsg"));
    expect_same(make("kron:8", true), right);
  }
  write_graph(make_graph(parse_graph_spec("web:8"), true), path("kron8.wsg"));
  expect_same(make("kron:8", true), right);
}

TEST_F(MakeGraph, says_which_folder_it_cannot_make) {
  std::ofstream(folder_) << "a file";
  try {
    (void)make("kron:4", false);
    FAIL() << "kept";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find(folder_.string()), std::string::npos) << error.what();
  }
}

TEST_F(MakeGraph, draws_weights_for_graphs_that_have_none) {
  const Csr graph = make("pgp", true);
  check_csr(graph);
  const auto [lowest, highest] = std::minmax_element(graph.weights.begin(), graph.weights.end());
  EXPECT_EQ(*lowest, 1);
  EXPECT_EQ(*highest, 255);
  EXPECT_FALSE(make("pgp", false).weighted());
}

TEST_F(MakeGraph, takes_a_files_own_weights) {
  fs::create_directories(folder_);
  std::ofstream(path("own.wel")) << "0 1 7\n1 2 300\n";
  std::ofstream(path("none.el")) << "0 1\n1 2\n";
  const Csr own = make("file:" + path("own.wel"), true);
  EXPECT_EQ(own.name, "own");
  EXPECT_EQ(entries(own), (std::vector<Triple>{{0, 1, 7}, {1, 0, 7}, {1, 2, 300}, {2, 1, 300}}));
  EXPECT_FALSE(make("file:" + path("own.wel"), false).weighted());
  EXPECT_TRUE(make("file:" + path("none.el"), true).weighted());
  EXPECT_THROW((void)make("file:" + path("absent.el"), true), Error);
}

TEST(BuiltinGraphs, are_those_of_their_files_bit_for_bit) {
  struct Known {
    const char* name;
    const char* file;
    const char* targets;  // SHA-256
  };
  for (const auto& [name, file, targets] : {
           Known{"power", GRAINSCOPE_GRAPHS "/power.graph",
                 "de92c57f16a64c40b1ea417b6e0f68ad4c0891234f29caa17b29e68ef5fcd1ff"},
           Known{"pgp", GRAINSCOPE_GRAPHS "/PGPgiantcompo.graph",
                 "edbce33f1be47fc9a3ed04dcd8cf35e76e693050977226f2e9c06066c91194b0"},
       }) {
    const Csr packed = builtin_graph(name);
    const Csr read = read_graph(file, {});
    EXPECT_EQ(packed.name, name);
    EXPECT_FALSE(packed.directed);
    EXPECT_FALSE(packed.weighted());
    EXPECT_EQ(hash_of(packed.offsets), hash_of(read.offsets));
    EXPECT_EQ(hash_of(packed.targets), hash_of(read.targets));
    EXPECT_EQ(hash_of(packed.targets), targets);
  }
}

}  // namespace
}  // namespace grainscope::graph
