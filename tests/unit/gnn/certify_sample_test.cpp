#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

class CertifySample : public testing::Test {
 protected:
  CertifySample() : graph_(graph::make_graph(graph::parse_graph_spec("kron:9"), false)) {
    for (Vertex v = 0; v < graph_.vertices() && seeds_.size() < 20; ++v) {
      if (graph_.degree(v) > 5) {
        seeds_.push_back(v);
      }
    }
    right_ = serial_sample(graph_, {fanouts_, 1}, seeds_, 0);
  }
  // Whether a mini-batch in which something was changed is found out.
  [[nodiscard]] bool refused(const std::function<void(MiniBatch&)>& change) const {
    MiniBatch wrong = right_;
    change(wrong);
    try {
      certify_sample(graph_, fanouts_, seeds_, wrong);
      return false;
    } catch (const FailedError&) {
      return true;
    }
  }

  Csr graph_;
  std::vector<int> fanouts_{4, 3};
  std::vector<Vertex> seeds_;
  MiniBatch right_;
};

TEST_F(CertifySample, accepts_what_was_sampled) {
  EXPECT_FALSE(refused([](MiniBatch&) {}));
}

TEST_F(CertifySample, refuses_a_source_that_is_no_neighbour_or_is_repeated) {
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers[1].sources[7] = 0; }));
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers[0].sources[1] = batch.layers[0].sources[0]; }));
  EXPECT_TRUE(refused(
      [](MiniBatch& batch) { batch.layers[0].sources[1] = static_cast<std::uint32_t>(batch.nodes.size()); }));
}

TEST_F(CertifySample, refuses_a_source_too_many_or_too_few) {
  EXPECT_TRUE(refused([](MiniBatch& batch) { ++batch.layers[1].offsets[3]; }));
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers[1].sources.pop_back(); }));
  EXPECT_TRUE(refused([](MiniBatch& batch) {
    batch.layers[1].sources.pop_back();
    --batch.layers[1].offsets.back();
    --batch.sampled_edges;
  }));
  EXPECT_TRUE(refused([](MiniBatch& batch) { ++batch.sampled_edges; }));
}

TEST_F(CertifySample, refuses_nodes_in_another_order_repeated_or_unreached) {
  const std::uint32_t first = right_.nodes_upto[1];
  EXPECT_TRUE(refused([&](MiniBatch& batch) { std::swap(batch.nodes[first], batch.nodes[first + 1]); }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) { std::swap(batch.nodes[0], batch.nodes[1]); }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) { batch.nodes.back() = batch.nodes[batch.nodes.size() - 2]; }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) {
    batch.nodes.push_back(graph_.vertices() - 1);
    ++batch.nodes_upto.back();
  }));
  EXPECT_TRUE(refused([&](MiniBatch& batch) { ++batch.nodes_upto[1]; }));
}

TEST_F(CertifySample, refuses_a_missing_hop) {
  EXPECT_TRUE(refused([](MiniBatch& batch) { batch.layers.pop_back(); }));
}

}  // namespace
}  // namespace grainscope::gnn
