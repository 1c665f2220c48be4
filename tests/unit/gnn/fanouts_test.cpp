#include <gtest/gtest.h>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"

namespace grainscope::gnn {
namespace {

TEST(Fanouts, are_read_and_written) {
  EXPECT_EQ(parse_fanouts("10x25"), (std::vector{10, 25}));
  EXPECT_EQ(parse_fanouts("1024"), (std::vector{1024}));
  for (const char* const text : {"5", "10x25", "10x10x10x10x10"}) {
    EXPECT_EQ(fanout_text(parse_fanouts(text)), text);
  }
}

TEST(Fanouts, that_cannot_be_are_refused_by_name) {
  for (const char* const text : {"", "0", "10x0", "x", "10x", "x10", "10,25", "10x-1", "1025", "10 x 25",
                                 "1x1x1x1x1x1x1x1x1", "10x25y"}) {
    try {
      static_cast<void>(parse_fanouts(text));
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("fan-out"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(require_fanouts(std::vector<int>{}), UsageError);
  EXPECT_THROW(require_fanouts(std::vector{3, 0}), UsageError);
}

TEST(Seeds, that_cannot_be_are_refused_by_name) {
  const auto message = [](const std::vector<graph::Vertex>& seeds) -> std::string {
    try {
      require_seeds(seeds, 10);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message({3, 9, 0}), "");
  EXPECT_NE(message({}), "");
  EXPECT_NE(message({3, 10}).find("seed 1 of a mini-batch, 10,"), std::string::npos);
  EXPECT_NE(message({3, 9, 3}).find("vertex 3 is twice"), std::string::npos);
}

TEST(MostOf, bounds_a_mini_batch_by_fan_outs_and_by_the_graph) {
  const MostOf most = most_of(std::vector{2, 3}, 5, 40);
  EXPECT_EQ(most.nodes, (std::vector<std::uint64_t>{5, 15, 40}));
  EXPECT_EQ(most.edges, (std::vector<std::uint64_t>{10, 45}));
}

}  // namespace
}  // namespace grainscope::gnn
