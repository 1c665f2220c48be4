#include <gtest/gtest.h>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::graph {
namespace {

using Kind = GraphSpec::Kind;

TEST(GraphSpec, reads_kinds_scales_and_degrees) {
  const GraphSpec kron = parse_graph_spec("kron:24");
  EXPECT_EQ(kron.kind, Kind::kron);
  EXPECT_EQ(kron.scale, 24);
  EXPECT_EQ(kron.degree, 16);
  EXPECT_EQ(parse_graph_spec("urand:20:4").degree, 4);
  EXPECT_EQ(parse_graph_spec("dense:17").degree, 128);
  EXPECT_EQ(parse_graph_spec("web:31").scale, 31);
  EXPECT_EQ(parse_graph_spec("pareto:20:8").kind, Kind::pareto);
  EXPECT_FALSE(parse_graph_spec("pareto:20").directed());
  EXPECT_TRUE(parse_graph_spec("web:20").directed());
  EXPECT_FALSE(parse_graph_spec("dense:17").directed());
  EXPECT_EQ(parse_graph_spec("file:a:b/c.sg").path, "a:b/c.sg");
  EXPECT_EQ(parse_graph_spec("power").kind, Kind::builtin);
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
      for (const char* const kind :
           {"kron:SCALE", "urand", "dense", "web", "pareto", "power", "pgp", "file:PATH"}) {
        EXPECT_NE(message.find(kind), std::string::npos) << message;
      }
    }
  }
}

}  // namespace
}  // namespace grainscope::graph
