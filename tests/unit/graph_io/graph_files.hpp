#ifndef GRAINSCOPE_TESTS_GRAPH_FILES_HPP
#define GRAINSCOPE_TESTS_GRAPH_FILES_HPP

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "../../testing/says.hpp"
#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/io.hpp"

namespace grainscope::graph {

// Bytes of a binary file, value by value.
class Bytes {
 public:
  template <class T>
  Bytes& operator<<(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline const ReadOptions kWeights{.directed = false, .weights = true};

// A folder with graph files, gone with the test.
class GraphFiles : public testing::Test {
 protected:
  using Entry = std::array<std::uint32_t, 3>;  // from, to, weight (0 where there is none)

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& content) const {
    test::write_text(path(name), content);
    return path(name);
  }
  [[nodiscard]] Csr read(const std::string& name, const std::string& content,
                         const ReadOptions& options = {}) const {
    Csr graph = read_graph(put(name, content), options);
    check_csr(graph);
    return graph;
  }
  // What the reader says of that content, without the folder.
  [[nodiscard]] std::string complaint(const std::string& name, const std::string& content,
                                      const ReadOptions& options = {}) const {
    return complaint_of(put(name, content), options);
  }
  [[nodiscard]] std::string complaint_of(const std::string& file, const ReadOptions& options = {}) const {
    std::string said = test::refusal<UsageError>([&] { static_cast<void>(read_graph(file, options)); });
    const std::string folder = folder_.path().string() + "/";
    for (auto at = said.find(folder); at != std::string::npos; at = said.find(folder)) {
      said.erase(at, folder.size());
    }
    return said;
  }
  [[nodiscard]] static std::vector<Entry> entries(const Csr& graph) {
    std::vector<Entry> all;
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      for (Edge i = graph.offsets[v]; i < graph.offsets[v + std::uint64_t{1}]; ++i) {
        all.push_back({v, graph.targets[i], graph.weighted() ? graph.weights[i] : 0});
      }
    }
    return all;
  }
  static void expect_equal(const Csr& graph, const Csr& other) {
    EXPECT_EQ(graph.directed, other.directed);
    EXPECT_TRUE(equal(graph.offsets, other.offsets));
    EXPECT_TRUE(equal(graph.targets, other.targets));
    EXPECT_TRUE(equal(graph.weights, other.weights));
  }
  [[nodiscard]] const test::TemporaryDirectory& folder() const { return folder_; }

 private:
  template <class T>
  [[nodiscard]] static bool equal(const HostArray<T>& a, const HostArray<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  test::TemporaryDirectory folder_;
};

}  // namespace grainscope::graph

#endif
