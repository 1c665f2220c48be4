#include "golden.hpp"

#include <gtest/gtest.h>

#include <future>

#include "grainscope/graph/build.hpp"
#include "sha256.hpp"

namespace grainscope::graph {
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
}  // namespace grainscope::graph
