// Files that are not as they should be: what is said, and of which line or byte.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "grainscope/core/sampler.hpp"
#include "graph_files.hpp"

namespace grainscope::graph {
namespace {

class BadText : public GraphFiles {
 protected:
  struct Case {
    const char* name;
    std::string content;
    const char* says;
    ReadOptions options{};
  };
  void expect_complaints(const std::vector<Case>& cases) const {
    for (const Case& each : cases) {
      const std::string said = complaint(each.name, each.content, each.options);
      EXPECT_EQ(said.find(each.says), 0U)
          << each.content.substr(0, 80) << "\n  says: " << said << "\n  not:  " << each.says;
    }
  }
};

TEST_F(BadText, an_edge_list_names_the_line) {
  expect_complaints({
      {"g.el", "", "g.el:1: the file is empty"},
      {"g.el", "\n\n  \n", "g.el:1: there is no edge in it"},
      {"g.txt", "# comments\n# only\n", "g.txt:1: there is no edge in it, only comments"},
      {"g.el", "0 1\n2\n", "g.el:2: the line ends where a vertex should stand"},
      {"g.el", "0 1\r\n2 \r\n", "g.el:2: the line ends where a vertex should stand"},
      {"g.el", "0 1\n1 2 3\n", "g.el:2: '3' is one word too many: a line is 'from to'"},
      {"g.txt", "0 1 2 3\n", "g.txt:1: '3' is one word too many"},
      {"g.el", "# c\n0 1\n\n-1 2\n", "g.el:4: '-1': a vertex is a whole number from 0 to 4294967294"},
      {"g.el", "0 1\n1 +2", "g.el:2: '+2': a vertex"},
      {"g.el", "0,1\n", "g.el:1: '0,1': a vertex"},
      {"g.el", "0 1.5\n", "g.el:1: '1.5': a vertex"},
      {"g.el", "0 1x\n", "g.el:1: '1x': a vertex"},
      {"g.el", "0 4294967295\n", "g.el:1: '4294967295': a vertex"},
      {"g.el", "0 99999999999999999999999999999999999999\n",
       "g.el:1: '999999999999999999999999…': a vertex is a whole number from 0 to 4294967294"},
      {"g.el", std::string("0 1\n0 \0\n", 8), "g.el:2: '\\x00': a vertex"},
      {"g.el", "\xff\xfe\x30\n", "g.el:1: '\\xff\\xfe0': a vertex"},
      {"g.el", "0 1\r2 3\r", "g.el:1: '2' is one word too many"},
  });
}

TEST_F(BadText, a_weight_that_is_missing_negative_or_fractional_is_refused) {
  expect_complaints({
      {"g.wel", "0 1 1\n0 2\n", "g.wel:2: the line ends where a weight should stand", kWeights},
      {"g.wel", "0 1 1\n0 2\n", "g.wel:2: the line ends where a weight should stand"},
      {"g.wel", "0 1 -1\n", "g.wel:1: '-1': a weight is a whole number from 0 to 4294967295", kWeights},
      {"g.wel", "0 1 0.5\n", "g.wel:1: '0.5': a weight is a whole number", kWeights},
      {"g.wel", "0 1 4294967296\n", "g.wel:1: '4294967296': a weight", kWeights},
      {"g.wel", "0 1 2 3\n", "g.wel:1: '3' is one word too many: a line is 'from to weight'", kWeights},
      {"g.el", "0 1\n", "the graph g.el has no weights", kWeights},
      {"g.txt", "0 1\n1 2 3\n", "the graph g.txt has no weights", kWeights},
      {"g.txt", "0 1 3\n1 2\n", "g.txt:2: the line ends where a weight should stand", kWeights},
  });
}

TEST_F(BadText, one_high_number_does_not_ask_for_gigabytes) {
  expect_complaints({
      {"g.el", "0 1\n# c\n4294967294 0\n",
       "g.el:3: vertex 4294967294: a file of 21 bytes may number vertices up to 1048575"},
      {"g.mtx", "%%MatrixMarket matrix coordinate pattern general\n4000000000 4000000000 1\n1 2\n",
       "g.mtx:2: 4000000000 vertices: a file of"},
      {"g.graph", "4000000000 1\n2\n1\n", "g.graph:1: 4000000000 vertices and 1 edges do not fit"},
      {"g.graph", "2 4000000000\n2\n1\n", "g.graph:1: 2 vertices and 4000000000 edges do not fit"},
  });
  EXPECT_EQ(read("g.el", "0 1048575\n").vertices(), 1048576);
}

TEST_F(BadText, a_matrix_market_file_names_the_line) {
  const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  expect_complaints({
      {"m.mtx", "", "m.mtx:1: a MatrixMarket file begins with '%%MatrixMarket"},
      {"m.mtx", "3 3 1\n1 2\n", "m.mtx:1: a MatrixMarket file begins with"},
      {"m.mtx", "%%MatrixMarket matrix array real general\n", "m.mtx:1: the layout 'array' cannot be read"},
      {"m.mtx", "%%MatrixMarket matrix coordinate complex general\n",
       "m.mtx:1: the field 'complex' cannot be read as a graph; what can: pattern, integer, real"},
      {"m.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n",
       "m.mtx:1: the symmetry 'skew-symmetric' cannot"},
      {"m.mtx", "%%MatrixMarket matrix coordinate\n", "m.mtx:1: the line ends where a field should stand"},
      {"m.mtx", pattern + "% c\n% d\n", "m.mtx:4: the file ends before its line 'rows columns entries'"},
      {"m.mtx", pattern + "3 4 1\n1 2\n", "m.mtx:2: 3 rows and 4 columns: a graph's matrix is square"},
      {"m.mtx", pattern + "0 0 0\n", "m.mtx:2: 0 vertices"},
      {"m.mtx", pattern + "-3 3 1\n1 2\n", "m.mtx:2: '-3': a count of rows is a whole number"},
      {"m.mtx", pattern + "3 3 99999999999999999999\n1 2\n", "m.mtx:2: '99999999999999999999': a count of"},
      {"m.mtx", pattern + "3 3\n1 2\n", "m.mtx:2: the line ends where a count of entries should stand"},
      {"m.mtx", pattern + "3 3 2\n1 2\n", "m.mtx:2: 2 entries are declared, 1 follow"},
      {"m.mtx", pattern + "3 3 1\n1 2\n2 3\n", "m.mtx:2: 1 entries are declared, 2 follow"},
      {"m.mtx", pattern + "3 3 2\n1 2\n0 1\n", "m.mtx:4: vertex 0: this format counts vertices from 1"},
      {"m.mtx", pattern + "3 3 2\n1 2\n4 1\n", "m.mtx:4: '4': a vertex is a whole number from 0 to 3"},
      {"m.mtx", pattern + "3 3 1\n1 2 1\n", "m.mtx:3: '1' is one word too many: a line is 'row column'"},
      {"m.mtx", real + "3 3 1\n1 2\n", "m.mtx:3: the line ends where a weight should stand"},
      {"m.mtx", real + "3 3 1\n1 2 0.5\n", "m.mtx:3: '0.5': a weight is a whole number", kWeights},
      {"m.mtx", real + "3 3 1\n1 2 -1\n", "m.mtx:3: '-1': a weight is a whole number", kWeights},
      {"m.mtx", real + "3 3 1\n1 2 nan\n", "m.mtx:3: 'nan': a weight is a whole number", kWeights},
      {"m.mtx", real + "3 3 1\n1 2 1e400\n", "m.mtx:3: '1e400': a weight is a whole number", kWeights},
      {"m.mtx", pattern + "3 3 1\n1 2\n", "the graph m.mtx has no weights", kWeights},
  });
}

TEST_F(BadText, a_metis_file_names_the_line) {
  expect_complaints({
      {"m.graph", "", "m.graph:1: the file is empty"},
      {"m.graph", "% only\n% comments\n", "m.graph:1: there is nothing in it but comments"},
      {"m.graph", "0 0\n\n", "m.graph:1: 0 vertices"},
      {"m.graph", "% c\n3\n", "m.graph:2: the line ends where a count of edges should stand"},
      {"m.graph", "-1 2\n", "m.graph:1: '-1': a count of vertices"},
      {"m.graph", "2 1 2\n2\n1\n", "m.graph:1: '2': the format is up to three digits, each 0 or 1"},
      {"m.graph", "2 1 0 1 1\n2\n1\n", "m.graph:1: '1' is one word too many"},
      {"m.graph", "2 1\n2\n", "m.graph:1: 2 vertices are declared, 1 lines follow"},
      {"m.graph", "2 1\n2\n1\n\n1\n", "m.graph:5: more lines than the 2 vertices that are declared"},
      {"m.graph", "2 1\n2\n0\n", "m.graph:3: vertex 0: this format counts vertices from 1"},
      {"m.graph", "3 3\n2 1\n1 3\n2 3\n", "m.graph:2: vertex 1 is its own neighbour"},
      {"m.graph", "% c\n3 3\n2\n% c\n1 3 1\n2 2\n", "m.graph:5: vertex 2 has a neighbour twice"},
      {"m.graph", "3 3 011 2\n1 1 2 5\n1 1 1 5 3 5 3 6\n1 1 2 5 2 6\n",
       "m.graph:3: vertex 2 has a neighbour twice", kWeights},
      {"m.graph", "2 1\n2\n3\n", "m.graph:3: '3': a vertex is a whole number from 0 to 2"},
      {"m.graph", "2 1\n2\n1 -1\n", "m.graph:3: '-1': a vertex"},
      {"m.graph", "3 2\n2\n1 3\n\n", "m.graph:1: 2 edges are declared, the lists hold 3 neighbours"},
      {"m.graph", "4 2\n% c\n2\n1\n2\n3\n",
       "m.graph:5: vertex 3 has the neighbour 2, but vertex 2 has no neighbour 3"},
      {"m.graph", "2 1 1\n2 5\n1 6\n",
       "m.graph:2: vertex 1 has the neighbour 2, but vertex 2 has another weight", kWeights},
      {"m.graph", "2 1 1\n2 5\n1\n", "m.graph:3: the line ends where a weight should stand"},
      {"m.graph", "2 1 1\n2 -5\n1 -5\n", "m.graph:2: '-5': a weight", kWeights},
      {"m.graph", "2 1 10\n\n1 1\n", "m.graph:2: the line ends where a weight of the vertex should stand"},
      {"m.graph", "2 1 10 99999999999\n2\n1\n", "m.graph:2: the line ends where a weight of the vertex"},
      {"m.graph", "2 1\n2\n1\n", "the graph m.graph has no weights", kWeights},
  });
}

TEST_F(BadText, the_first_fault_of_a_long_file_is_told_with_its_line_whatever_the_threads_do) {
  std::string content;
  for (int i = 0; i < 400000; ++i) {
    content += i == 123456 || i == 123457 || i == 390000 ? "1 x\n" : "1 2\n";
    content += i % 7 == 0 ? "# comment\n" : "";
  }
  const int line = 123456 + (123456 + 6) / 7 + 1;
  for (int attempt = 0; attempt < 5; ++attempt) {
    EXPECT_EQ(complaint("g.el", content).find("g.el:" + std::to_string(line) + ": 'x'"), 0U);
  }
}

TEST_F(BadText, enormous_lines_take_no_enormous_time) {
  const double start_s = steady_now_s();
  const std::string digits(20 << 20, '7');
  const std::string zeros(20 << 20, '0');
  const std::string blanks(20 << 20, ' ');
  EXPECT_EQ(complaint("g.el", "0 " + digits + "\n0 1\n").find("g.el:1: '777777777777777777777777…'"), 0U);
  EXPECT_EQ(complaint("g.el", "0 1\n0 1" + blanks + "2\n").find("g.el:2: '2' is one word too many"), 0U);
  EXPECT_EQ(read("g.el", "0 1\n0 " + zeros + "2\n").vertices(), 3);
  EXPECT_EQ(read("g.el", "#" + digits + "\n0 1").vertices(), 2);
  EXPECT_EQ(complaint("g.txt", digits).find("g.txt:1: '7777"), 0U);
  EXPECT_EQ(complaint("g.mtx", digits).find("g.mtx:1: a MatrixMarket file"), 0U);
  EXPECT_EQ(complaint("g.graph", "2 1\n2" + blanks + "\n" + digits + "\n").find("g.graph:3: '7777"), 0U);
  EXPECT_EQ(complaint("g.graph", digits).find("g.graph:1: '7777"), 0U);
  EXPECT_LT(steady_now_s() - start_s, 20.0);
}

// A file of more than a gigabyte without the disk for it: what is left out reads as zero bytes.
TEST_F(BadText, lines_of_a_gigabyte_are_told_of_or_passed_over) {
  const auto with_a_hole = [&](const std::string& name, const std::string& before, const std::string& after) {
    const std::string file = put(name, before);
    std::filesystem::resize_file(file, before.size() + (std::uintmax_t{1} << 30));
    std::ofstream(file, std::ios::app | std::ios::binary) << after;
    return file;
  };
  const std::string zeros = "'" + std::string("\\x00\\x00");
  EXPECT_EQ(complaint_of(with_a_hole("g.el", "0 1\n", "\n")).find("g.el:2: " + zeros), 0U);
  EXPECT_EQ(read_graph(with_a_hole("c.el", "0 1\n#", "\n1 2\n"), {}).edges(), 4U);
}

TEST_F(BadText, a_list_of_one_long_line_is_read) {
  constexpr int kLeaves = 200000;
  std::string content = std::to_string(kLeaves + 1) + " " + std::to_string(kLeaves) + "\n";
  for (int leaf = kLeaves; leaf > 0; --leaf) {
    content += std::to_string(leaf + 1) + " ";
  }
  for (int leaf = 0; leaf < kLeaves; ++leaf) {
    content += "\n1";
  }
  EXPECT_EQ(read("star.graph", content).degree(0), kLeaves);
}

TEST_F(BadText, what_is_no_file_is_refused) {
  EXPECT_TRUE(
      test::says(complaint_of(path("missing.el")), "could not open the graph missing.el: No such file"));
  std::filesystem::create_directory(path("folder.el"));
  EXPECT_TRUE(test::says(complaint_of(path("folder.el")), "the graph folder.el is no regular file"));
  EXPECT_TRUE(test::says(complaint_of(path("g.csv")), "does not tell a graph's format"));
}

}  // namespace

// .sg, .wsg and .bel that are not as they should be: what is said, and of which byte.
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
