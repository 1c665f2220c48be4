// .sg, .wsg and .bel that are not as they should be: what is said, and of which byte.

#include <cstdint>

#include "graph_files.hpp"

namespace grainscope::graph {
namespace {

class BadBinary : public GraphFiles {
 protected:
  void expect_complaint(const std::string& name, const Bytes& content, const std::string& says,
                        const ReadOptions& options = {}) const {
    const std::string said = complaint(name, content.text(), options);
    EXPECT_EQ(said.find(says), 0U) << "says: " << said << "\nnot:  " << says;
  }
};

using I8 = std::uint8_t;
using I32 = std::int32_t;
using I64 = std::int64_t;
using U64 = std::uint64_t;

// 0 - 1 - 2, undirected.
Bytes header(I8 directed = 0, I64 entries = 4, I64 vertices = 3) {
  return Bytes() << directed << entries << vertices;
}
Bytes path_of_three(const std::array<I64, 4>& offsets = {0, 1, 3, 4},
                    const std::array<I32, 4>& targets = {1, 0, 2, 1}) {
  Bytes bytes = header();
  for (const I64 offset : offsets) {
    bytes << offset;
  }
  for (const I32 target : targets) {
    bytes << target;
  }
  return bytes;
}
Bytes weighted_path(const std::array<I32, 4>& weights) {
  constexpr std::array<I32, 4> kTargets{1, 0, 2, 1};
  Bytes bytes = header();
  bytes << I64{0} << I64{1} << I64{3} << I64{4};
  for (std::size_t i = 0; i < 4; ++i) {
    bytes << kTargets[i] << weights[i];
  }
  return bytes;
}

TEST_F(BadBinary, the_files_that_these_tests_damage_are_good) {
  EXPECT_EQ(entries(read("g.sg", path_of_three().text())),
            (std::vector<Entry>{{0, 1, 0}, {1, 0, 0}, {1, 2, 0}, {2, 1, 0}}));
  EXPECT_EQ(entries(read("g.wsg", weighted_path({7, 7, 9, 9}).text(), kWeights)),
            (std::vector<Entry>{{0, 1, 7}, {1, 0, 7}, {1, 2, 9}, {2, 1, 9}}));
  EXPECT_FALSE(read("g.wsg", weighted_path({7, 7, 9, 9}).text()).weighted());
}

TEST_F(BadBinary, a_serialised_graph_must_be_as_long_as_its_header_says) {
  constexpr I64 kMost = INT64_MAX;
  expect_complaint("g.sg", Bytes(), "g.sg: byte 0: the file is empty");
  expect_complaint("g.sg", Bytes() << I8{0} << I32{1}, "g.sg: byte 5: the file ends here, 4 bytes too early");
  expect_complaint("g.sg", header(2), "g.sg: byte 0: its first byte is 2");
  expect_complaint("g.sg", header(), "g.sg: byte 1: 3 vertices and 4 entries are declared; the file has 17");
  expect_complaint("g.sg", header(0, 4, -1), "g.sg: byte 1: -1 vertices");
  expect_complaint("g.sg", header(0, -4), "g.sg: byte 1: 3 vertices and -4 entries");
  expect_complaint("g.sg", header(0, 0, 0), "g.sg: byte 1: 0 vertices");
  expect_complaint("g.sg", header(0, 4, kMost), "g.sg: byte 1: 9223372036854775807 vertices");
  expect_complaint("g.sg", header(0, kMost), "g.sg: byte 1: 3 vertices and 9223372036854775807 entries");
  expect_complaint(
      "g.sg", path_of_three() << I8{0},
      "g.sg: byte 1: 3 vertices and 4 entries are declared, which take 65 bytes; the file has 66");
  expect_complaint("g.wsg", path_of_three(),
                   "g.wsg: byte 1: 3 vertices and 4 entries are declared, which take 81");
  expect_complaint("g.sg", path_of_three(), "the graph g.sg has no weights", kWeights);
  Bytes directed = header(1);
  for (const I64 offset : {0, 1, 3, 4}) {
    directed << offset;
  }
  directed << I32{1} << I32{0} << I32{2} << I32{1};
  expect_complaint("g.sg", directed,
                   "g.sg: byte 1: 3 vertices and 4 entries are declared, which take 113 bytes");
}

TEST_F(BadBinary, offsets_must_ascend_from_0_to_the_entries) {
  expect_complaint("g.sg", path_of_three({1, 1, 3, 4}), "g.sg: byte 17: the first offset is 1, not 0");
  expect_complaint("g.sg", path_of_three({0, 3, 1, 4}), "g.sg: byte 33: the offset 1 stands behind 3");
  expect_complaint("g.sg", path_of_three({0, -1, 3, 4}), "g.sg: byte 25: the offset -1 stands behind 0");
  expect_complaint("g.sg", path_of_three({0, 1, 5, 4}),
                   "g.sg: byte 33: the offset 5 stands behind 1, with 4");
  expect_complaint("g.sg", path_of_three({0, 1, 3, 3}),
                   "g.sg: byte 41: the last offset is 3, with 4 entries");
}

TEST_F(BadBinary, lists_must_ascend_and_name_vertices) {
  const std::array<I64, 4> offsets{0, 1, 3, 4};
  const auto expect = [&](const std::array<I32, 4>& targets, const std::string& says) {
    expect_complaint("g.sg", path_of_three(offsets, targets), says);
  };
  expect({1, 0, 3, 1}, "g.sg: byte 57: in the list of vertex 1: neighbour 3 is no vertex");
  expect({-1, 0, 2, 1}, "g.sg: byte 49: in the list of vertex 0: neighbour 4294967295 is no vertex");
  expect({1, 2, 0, 1}, "g.sg: byte 57: in the list of vertex 1: neighbour 0 stands behind 2");
  expect({1, 2, 2, 1}, "g.sg: byte 57: in the list of vertex 1: neighbour 2 is repeated");
  expect({1, 0, 1, 1}, "g.sg: byte 57: in the list of vertex 1: it is its own neighbour");
}

TEST_F(BadBinary, undirected_graphs_must_have_every_edge_both_ways) {
  expect_complaint("g.sg", path_of_three({0, 1, 3, 4}, {1, 0, 2, 0}),
                   "g.sg: byte 57: the edge from 1 to 2 is not there the other way round");
  expect_complaint("g.wsg", weighted_path({7, 7, 9, 8}),
                   "g.wsg: byte 65: the edge from 1 to 2 has another weight the other way round", kWeights);
  expect_complaint("g.wsg", weighted_path({7, 7, -9, -9}), "g.wsg: byte 69: the weight -9 is negative",
                   kWeights);
}

class BadBel : public BadBinary {
 protected:
  void put_all(const std::vector<U64>& offsets, const std::vector<U64>& targets) const {
    put_u64("g.bel.col", offsets.size(), offsets);
    put_u64("g.bel.dst", targets.size(), targets);
  }
  void put_u64(const std::string& name, U64 declared, const std::vector<U64>& elements) const {
    Bytes bytes;
    bytes << declared << U64{0};
    for (const U64 element : elements) {
      bytes << element;
    }
    put(name, bytes.text());
  }
  void expect_said(const std::string& says, const ReadOptions& options = {}) const {
    const std::string said = complaint_of(path("g.bel"), options);
    EXPECT_EQ(said.find(says), 0U) << "says: " << said << "\nnot:  " << says;
  }
};

TEST_F(BadBel, lists_in_any_order_are_cleaned) {
  put_all({0, 2, 4, 4}, {2, 1, 1, 0});
  for (const char* name : {"g.bel", "g.bel.col", "g.bel.dst", "g.bel.val"}) {
    const Csr graph = read_graph(path(name));
    EXPECT_EQ(graph.name, "g");
    EXPECT_EQ(entries(graph), (std::vector<Entry>{{0, 1, 0}, {0, 2, 0}, {1, 0, 0}, {2, 0, 0}}));
  }
  const Csr directed = read_graph(path("g.bel"), {.directed = true});
  EXPECT_EQ(entries(directed), (std::vector<Entry>{{0, 1, 0}, {0, 2, 0}, {1, 0, 0}}));
}

TEST_F(BadBel, weights_of_both_ways_become_the_lowest) {
  put_all({0, 1, 2}, {1, 0});
  put("g.bel.val", (Bytes() << U64{2} << U64{0} << I32{8} << I32{5}).text());
  EXPECT_EQ(entries(read_graph(path("g.bel"), kWeights)), (std::vector<Entry>{{0, 1, 5}, {1, 0, 5}}));
  EXPECT_TRUE(holds_weights(path("g.bel")));
}

TEST_F(BadBel, each_file_must_hold_what_its_header_says) {
  expect_said("could not open the graph g.bel.col: No such file");
  put_all({0, 1, 2}, {1, 0});
  EXPECT_FALSE(holds_weights(path("g.bel")));
  expect_said("the graph g.bel has no weights", kWeights);
  put("g.bel.val", (Bytes() << U64{3} << U64{0} << I32{8} << I32{5} << I32{5}).text());
  expect_said("g.bel.val: byte 0: 3 weights for 2 neighbours", kWeights);
  put_u64("g.bel.col", UINT64_MAX, {0, 1, 2});
  expect_said("g.bel.col: byte 0: 18446744073709551615 elements of 8 bytes are declared; the file has 40");
  put_u64("g.bel.col", 1, {0});
  expect_said("g.bel.col: byte 0: 1 offsets, one more than vertices");
  put("g.bel.col", "short");
  expect_said("g.bel.col: byte 0: the file has 5 bytes, its header alone takes 16");
  put("g.bel.col", (Bytes() << U64{1} << U64{0} << U64{0} << I8{1}).text());
  expect_said("g.bel.col: byte 0: 1 elements of 8 bytes are declared; the file has 25");
}

TEST_F(BadBel, offsets_and_neighbours_must_agree) {
  put_all({1, 1, 2}, {1, 0});
  expect_said("g.bel.col: byte 16: the first offset is 1, not 0");
  put_all({0, 3, 2}, {1, 0});
  expect_said("g.bel.col: byte 32: the offset 2 stands behind 3");
  put_all({0, 1, 3}, {1, 0});
  expect_said("g.bel.col: byte 32: the last offset is 3; g.bel.dst holds 2 neighbours");
  put_all({0, 1, 2}, {1, 2});
  expect_said("g.bel.dst: byte 24: neighbour 2 is no vertex; there are 2");
  put_all({0, 1, 2}, {UINT64_C(1) << 32, 0});
  expect_said("g.bel.dst: byte 16: neighbour 4294967296 is no vertex");
}

}  // namespace
}  // namespace grainscope::graph
