// WebGraph's compressed lists: a published example, all that a list may be made of, and files that are not as
// they should be.

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

#include "grainscope/graph/csr.hpp"
#include "graph_files.hpp"

namespace grainscope::graph {
namespace {

using Lists = std::vector<std::vector<Vertex>>;
using Properties = std::map<std::string, std::string>;

std::string text_of(const Properties& properties) {
  std::string text = "#BVGraph properties\n";
  for (const auto& [key, value] : properties) {
    text += key + "=" + value + "\n";
  }
  return text;
}

// What webgraph-rs makes of nine vertices (T. Fontana's notes, zom.wtf/posts/webgraph): copied lists, a run,
// gaps both ways.
const Properties kPublished{{"version", "0"},
                            {"graphclass", "it.unimi.dsi.webgraph.BVGraph"},
                            {"nodes", "9"},
                            {"arcs", "12"},
                            {"minintervallength", "3"},
                            {"maxrefcount", "3"},
                            {"windowsize", "7"},
                            {"zetak", "3"},
                            {"compressionflags", ""}};
const std::string kPublishedBits = "\x7d\xc5\xea\x64\xa7\x27\x72\x97\xa9\xe0";
const Lists kPublishedLists{{1, 2}, {3}, {3}, {4, 5, 6}, {5, 6, 8}, {7}, {7}, {}, {}};

// Writes lists by the published format, by other means than the reader's: bit by bit.
class Writer {
 public:
  Writer(Lists lists, Properties flags) : lists_(std::move(lists)), properties_(std::move(flags)) {
    std::uint64_t arcs = 0;
    for (std::size_t v = 0; v < lists_.size(); ++v) {
      arcs += lists_[v].size();
      write_list(v);
    }
    properties_["graphclass"] = "it.unimi.dsi.webgraph.BVGraph";
    properties_["nodes"] = std::to_string(lists_.size());
    properties_["arcs"] = std::to_string(arcs);
  }

  [[nodiscard]] std::string properties() const { return text_of(properties_); }
  [[nodiscard]] std::string bits() const {
    std::string bytes((bits_.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      bytes[i / 8] = static_cast<char>(bytes[i / 8] | (bits_[i] ? 0x80 >> (i % 8) : 0));
    }
    return bytes;
  }

 private:
  [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t otherwise) const {
    const auto place = properties_.find(key);
    return place == properties_.end() ? otherwise : std::stoull(place->second);
  }
  [[nodiscard]] std::string code_of(const std::string& part, const std::string& otherwise) const {
    const auto flags = properties_.find("compressionflags");
    const std::size_t at = flags == properties_.end() ? std::string::npos : flags->second.find(part);
    return at == std::string::npos ? otherwise : flags->second.substr(at + part.size(), 4);
  }
  void put(std::uint64_t value, std::uint64_t width) {
    while (width-- > 0) {
      bits_.push_back((value >> width & 1U) != 0);
    }
  }
  void put(const std::string& code, std::uint64_t value) {
    const std::uint64_t above = value + 1;
    const auto width = static_cast<std::uint64_t>(std::bit_width(above)) - 1;
    if (code == "UNAR") {
      put(1, value + 1);
    } else if (code == "GAMM") {
      put(1, width + 1);
      put(above, width);
    } else if (code == "DELT") {
      put(std::string("GAMM"), width);
      put(above, width);
    } else {
      const std::uint64_t k = number("zetak", 3);
      const std::uint64_t h = width / k;
      const std::uint64_t left = std::uint64_t{1} << (h * k);
      put(1, h + 1);
      const std::uint64_t rest = above - left;
      if (rest < left) {  // the short code words of a truncated binary number of [0, 2^k·left − left)
        put(rest, h * k + k - 1);
      } else {
        put(rest + left, h * k + k);
      }
    }
  }
  static std::uint64_t signed_code(std::uint64_t to, std::uint64_t from) {
    return to >= from ? 2 * (to - from) : 2 * (from - to) - 1;
  }

  void write_list(std::size_t v) {
    const std::vector<Vertex>& list = lists_[v];
    put(code_of("OUTDEGREES_", "GAMM"), list.size());
    if (list.empty()) {
      return;
    }
    std::set<Vertex> missing(list.begin(), list.end());
    const std::uint64_t window = number("windowsize", 7);
    if (window > 0) {
      // Every other list copies, from as far back as it may.
      const std::size_t reference = v % 2 == 0 ? 0 : std::min<std::size_t>(v, window);
      put(code_of("REFERENCES_", "UNAR"), reference);
      if (reference > 0) {
        write_blocks(lists_[v - reference], missing);
      }
    }
    if (!missing.empty() && number("minintervallength", 4) > 0) {
      write_runs(v, missing);
    }
    std::uint64_t last = 0;
    bool first = true;
    for (const Vertex u : missing) {
      put(code_of("RESIDUALS_", "ZETA"), first ? signed_code(u, v) : u - last - 1);
      last = u;
      first = false;
    }
  }
  void write_blocks(const std::vector<Vertex>& from, std::set<Vertex>& missing) {
    std::vector<std::uint64_t> blocks{0};
    bool copied = true;
    for (const Vertex u : from) {
      const bool wanted = missing.erase(u) > 0;
      if (wanted != copied) {
        blocks.push_back(0);
        copied = wanted;
      }
      ++blocks.back();
    }
    // The last block is not written: what is left is copied where an even number of blocks is.
    if (copied) {
      blocks.pop_back();
    }
    if (!copied && blocks.size() % 2 == 0) {
      blocks.pop_back();
    }
    put(code_of("BLOCK_COUNT_", "GAMM"), blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      put(code_of("BLOCKS_", "GAMM"), blocks[i] - (i == 0 ? 0 : 1));
    }
  }
  void write_runs(std::size_t v, std::set<Vertex>& missing) {
    const std::uint64_t least = number("minintervallength", 4);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
    for (auto at = missing.begin(); at != missing.end();) {
      auto end = at;
      std::uint64_t size = 0;
      while (end != missing.end() && *end == *at + size) {
        ++end;
        ++size;
      }
      if (size >= least) {
        runs.emplace_back(*at, size);
        at = missing.erase(at, end);
      } else {
        at = end;
      }
    }
    put(std::string("GAMM"), runs.size());
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      put(std::string("GAMM"), i == 0 ? signed_code(runs[i].first, v) : runs[i].first - end - 1);
      put(std::string("GAMM"), runs[i].second - least);
      end = runs[i].first + runs[i].second;
    }
  }

  Lists lists_;
  Properties properties_;
  std::vector<bool> bits_;
};

// Runs, gaps and lists much like those before.
Lists drawn_lists(std::uint32_t seed, Vertex vertices) {
  std::mt19937 random(seed);
  const auto below = [&](Vertex bound) { return static_cast<Vertex>(random() % bound); };
  Lists lists(vertices);
  for (Vertex v = 0; v < vertices; ++v) {
    std::set<Vertex> list;
    if (v > 6 && below(2) == 0) {
      for (const Vertex u : lists[v - below(7)]) {
        if (below(4) != 0) {
          list.insert(u);
        }
      }
    }
    for (Vertex runs = below(3); runs > 0; --runs) {
      const Vertex begin = below(vertices);
      for (Vertex u = begin; u < std::min(vertices, begin + 1 + below(9)); ++u) {
        list.insert(u);
      }
    }
    for (Vertex rest = below(5); rest > 0; --rest) {
      list.insert(below(vertices));
    }
    list.erase(v);
    lists[v].assign(list.begin(), list.end());
  }
  return lists;
}

class WebGraph : public GraphFiles {
 protected:
  std::string put_both(const std::string& properties, const std::string& bits) const {
    put("w.properties", properties);
    return put("w.graph", bits);
  }
  void expect_lists(const Csr& graph, const Lists& lists) const {
    ASSERT_EQ(graph.vertices(), lists.size());
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      const auto list = graph.neighbours(v);
      ASSERT_EQ(std::vector<Vertex>(list.begin(), list.end()), lists[v]) << v;
    }
  }
  // What is said with one property changed, or, where the value is empty, without it.
  [[nodiscard]] std::string complaint_with(const std::string& key, const std::string& value) const {
    Properties properties = kPublished;
    properties[key] = value;
    if (value.empty()) {
      properties.erase(key);
    }
    return complaint_of(put_both(text_of(properties), kPublishedBits));
  }
};

TEST_F(WebGraph, reads_the_published_example) {
  const std::string lists = put_both(text_of(kPublished), kPublishedBits);
  EXPECT_EQ(format_of(lists), Format::webgraph);
  for (const std::string& name : {lists, path("w.properties")}) {
    const Csr graph = read_graph(name);
    check_csr(graph);
    EXPECT_EQ(graph.name, "w");
    EXPECT_TRUE(graph.directed);
    expect_lists(graph, kPublishedLists);
    EXPECT_EQ(vertices_in(name), 9U);
    EXPECT_FALSE(holds_weights(name));
  }
}

TEST_F(WebGraph, a_graph_file_without_properties_is_of_metis) {
  EXPECT_EQ(format_of(put("m.graph", "2 1\n2\n1\n")), Format::metis);
}

TEST_F(WebGraph, reads_whatever_its_codes_window_and_runs) {
  const std::vector<Properties> all{
      {},
      {{"windowsize", "0"}},
      {{"minintervallength", "0"}},
      {{"minintervallength", "2"}, {"windowsize", "1"}},
      {{"zetak", "1"}},
      {{"zetak", "5"}, {"windowsize", "3"}},
      {{"compressionflags", "OUTDEGREES_DELTA | RESIDUALS_GAMMA|REFERENCES_GAMMA | OFFSETS_DELTA"}},
      {{"compressionflags", "BLOCK_COUNT_UNARY | BLOCKS_DELTA | RESIDUALS_DELTA | REFERENCES_DELTA"}}};
  for (const Properties& flags : all) {
    for (const Vertex vertices : {1U, 13U, 700U}) {
      const Lists lists = drawn_lists(vertices, vertices);
      const Writer writer(lists, flags);
      SCOPED_TRACE(writer.properties());
      const Csr graph = read_graph(put_both(writer.properties(), writer.bits()), {.directed = true});
      check_csr(graph);
      expect_lists(graph, lists);
    }
  }
}

TEST_F(WebGraph, is_undirected_where_every_arc_is_there_both_ways) {
  const Writer both({{1, 2}, {0}, {0}}, {});
  EXPECT_FALSE(read_graph(put_both(both.properties(), both.bits())).directed);
  EXPECT_TRUE(read_graph(put_both(both.properties(), both.bits()), {.directed = true}).directed);
  const Writer one_way({{1, 2}, {0}, {}}, {});
  EXPECT_TRUE(read_graph(put_both(one_way.properties(), one_way.bits())).directed);
}

TEST_F(WebGraph, loses_its_self_loops) {
  const Writer writer({{0, 1}, {1}, {0, 2}}, {});
  const Csr graph = read_graph(put_both(writer.properties(), writer.bits()));
  check_csr(graph);
  expect_lists(graph, {{1}, {}, {0}});
}

TEST_F(WebGraph, that_is_cut_off_says_where) {
  EXPECT_EQ(complaint_of(put_both(text_of(kPublished), kPublishedBits.substr(0, 5))),
            "w.graph: byte 5: in the list of vertex 4: the file ends here: it is cut off");
  EXPECT_EQ(
      complaint_of(put_both(text_of(kPublished), "\x7d")),
      "w.graph: byte 1: the file ends here: 9 lists are declared, which take a bit each at least; it is "
      "cut off");
  const Writer writer(drawn_lists(3, 300), {});
  const std::string bits = writer.bits();
  for (std::size_t bytes = 0; bytes + 1 < bits.size(); ++bytes) {
    EXPECT_NE(complaint_of(put_both(writer.properties(), bits.substr(0, bytes))).find("it is cut off"),
              std::string::npos)
        << bytes;
  }
}

TEST_F(WebGraph, that_holds_other_bits_is_refused_or_another_graph) {
  const Writer writer(drawn_lists(5, 200), {});
  for (std::size_t bit = 0; bit < 8 * writer.bits().size(); bit += 7) {
    std::string bits = writer.bits();
    bits[bit / 8] = static_cast<char>(bits[bit / 8] ^ (1 << bit % 8));
    try {
      check_csr(read_graph(put_both(writer.properties(), bits)));
    } catch (const UsageError&) {
    }
  }
}

TEST_F(WebGraph, that_names_a_successor_twice_is_refused) {
  // Two lists, bit by bit: 0 has the successor 1; 1 copies that list, and has one more, which is 1 again.
  const Properties properties{{"version", "0"},
                              {"graphclass", "it.unimi.dsi.webgraph.BVGraph"},
                              {"nodes", "2"},
                              {"arcs", "3"},
                              {"minintervallength", "0"}};
  const std::string bits("\x5b\x6e\x00", 3);  // 010 1 1 011, 011 01 1 1 00
  EXPECT_EQ(complaint_of(put_both(text_of(properties), bits)),
            "w.graph: byte 2: in the list of vertex 1: successor 1 is there twice");
}

TEST_F(WebGraph, says_which_property_is_wrong) {
  EXPECT_EQ(complaint_with("nodes", "").find("w.properties: nodes is missing"), 0U);
  EXPECT_EQ(complaint_with("nodes", "0").find("w.properties:7: nodes='0': a graph has at least one"), 0U);
  EXPECT_EQ(complaint_with("nodes", "nine").find("w.properties:7: nodes='nine': a whole number"), 0U);
  EXPECT_EQ(complaint_with("nodes", "4294967296").find("w.properties:7: nodes='4294967296'"), 0U);
  EXPECT_EQ(complaint_with("arcs", "13").find("w.graph: byte 9: in the list of vertex 8: the lists hold 12"),
            0U);
  EXPECT_EQ(complaint_with("arcs", "11").find("w.graph: byte 8: in the list of vertex 6: 1 successors"), 0U);
  EXPECT_NE(complaint_with("arcs", "82"), "");  // of nine vertices no more than 81
  EXPECT_NE(complaint_with("zetak", "0").find("at least one bit"), std::string::npos);
  EXPECT_EQ(complaint_with("nodes", "8").find("w.graph: byte 7: in the list of vertex 4: successor 8"), 0U);
  EXPECT_EQ(complaint_with("version", "1").find("w.properties:8: version='1': version 0"), 0U);
  EXPECT_EQ(complaint_with("graphclass", "it.unimi.dsi.webgraph.EFGraph")
                .find("w.properties:4: graphclass='it.unimi.dsi.webgraph.EF…"),
            0U);
  EXPECT_NE(complaint_with("compressionflags", "RESIDUALS_GOLOMB").find("'RESIDUALS_GOLOMB' is not read"),
            std::string::npos);
  EXPECT_EQ(complaint_of(put_both(text_of(kPublished), kPublishedBits), kWeights)
                .find("the graph w.graph has no weights"),
            0U);
}

}  // namespace
}  // namespace grainscope::graph
