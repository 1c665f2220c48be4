// Labels and training ids of one's own: texts and NumPy arrays, good and bad, and what is trained on.

#include "grainscope/gnn/labels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "npy_files.hpp"
#include "says.hpp"

namespace grainscope::gnn {
namespace {

using graph::Vertex;
using Labels = std::vector<std::int32_t>;
using Ids = std::vector<Vertex>;

template <class T>
std::string npy_numbers(const std::string& descr, const std::vector<T>& numbers,
                        const std::string& shape = {}) {
  const std::string own = shape.empty() ? "(" + std::to_string(numbers.size()) + ",)" : shape;
  std::string file = test::npy_header(test::npy_dictionary(descr, own));
  for (const T number : numbers) {
    file += test::bytes_of(number);
  }
  return file;
}

class LabelFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string put(const std::string& name, const std::string& content) const {
    test::write_text(folder_ / name, content);
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string complaint(const std::function<void()>& work) const {
    std::string said = test::refusal<UsageError>(work);
    const std::string folder = folder_.path().string() + "/";
    for (auto at = said.find(folder); at != std::string::npos; at = said.find(folder)) {
      said.erase(at, folder.size());
    }
    return said;
  }
  [[nodiscard]] std::string labels_complaint(const std::string& name, const std::string& content) const {
    const std::string path = put(name, content);
    return complaint([&] { static_cast<void>(read_labels(path)); });
  }
  [[nodiscard]] std::string ids_complaint(const std::string& name, const std::string& content) const {
    const std::string path = put(name, content);
    return complaint([&] { static_cast<void>(read_train_ids(path)); });
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(LabelFiles, are_texts_with_a_label_a_line) {
  EXPECT_EQ(read_labels(put("l.txt", "3\n-1\n0\nnan\n2147483647\n")), (Labels{3, -1, 0, -1, 2147483647}));
  EXPECT_EQ(read_labels(put("l.csv", "# one a vertex\r\n 3.0 \r\n0.0")), (Labels{3, 0}));
}

TEST_F(LabelFiles, are_arrays_as_the_open_graph_benchmark_has_them) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(read_labels(put("l.npy", npy_numbers<float>("<f4", {1, none, 171}, "(3, 1)"))),
            (Labels{1, -1, 171}));
  EXPECT_EQ(read_labels(put("l.npy", npy_numbers<std::int64_t>("<i8", {5, -1}))), (Labels{5, -1}));
  EXPECT_EQ(read_labels(put("l.npy", npy_numbers<std::int8_t>("|i1", {5, -1}))), (Labels{5, -1}));
  EXPECT_EQ(read_labels(put("l.npy", npy_numbers<std::uint16_t>("<u2", {65535, 7}))), (Labels{65535, 7}));
  EXPECT_EQ(read_labels(put("l.npy", npy_numbers<double>("<f8", {2, std::nan("")}))), (Labels{2, -1}));
}

TEST_F(LabelFiles, say_where_a_label_is_none) {
  EXPECT_EQ(labels_complaint("l.txt", "1\n\n2\n"),
            "l.txt:2: the line is empty: a vertex without a label has -1 or nan");
  EXPECT_EQ(labels_complaint("l.txt", "1\n-2\n"),
            "l.txt:2: '-2': a label is a whole number from 0 to 2147483647");
  EXPECT_EQ(labels_complaint("l.txt", "1\n1.5\n").find("l.txt:2: '1.5': a label"), 0U);
  EXPECT_EQ(labels_complaint("l.txt", "1 2\n"), "l.txt:1: '2' is one word too many: a line is one number");
  EXPECT_EQ(labels_complaint("l.npy", npy_numbers<std::int64_t>("<i8", {1, -2}))
                .find("the file of labels l.npy: element 1: -2 is no label"),
            0U);
  EXPECT_EQ(labels_complaint("l.npy", npy_numbers<float>("<f4", {0.5F}))
                .find("the file of labels l.npy: element 0: 0.5 is no label"),
            0U);
  EXPECT_EQ(labels_complaint("l.txt", "-1\nnan\n"), "the file of labels l.txt: no vertex has a label");
  EXPECT_EQ(labels_complaint("l.txt", ""), "the file of labels l.txt: no vertex has a label");
}

TEST_F(LabelFiles, say_what_is_wrong_with_an_array) {
  const std::string whole = npy_numbers<std::int64_t>("<i8", {1, 2, 3});
  EXPECT_EQ(labels_complaint("l.npy", whole.substr(0, whole.size() - 1)),
            "the file of labels l.npy: an array of shape (3,) takes 24 bytes behind the header; the file has "
            "23: it is cut off");
  EXPECT_EQ(
      labels_complaint("l.npy", whole + "x").find("it holds something else as well") != std::string::npos,
      true);
  EXPECT_EQ(labels_complaint("l.npy", npy_numbers<std::int64_t>("<i8", {1, 2}, "(1, 2)"))
                .find("the file of labels l.npy: an array of shape (1, 2); a number for each"),
            0U);
  EXPECT_EQ(labels_complaint("l.npy", npy_numbers<std::int64_t>(">i8", {1}))
                .find("the file of labels l.npy: its elements are '>i8'; whole numbers"),
            0U);
  EXPECT_EQ(labels_complaint("l.npy", "no array").find("the file of labels l.npy: no NumPy file"), 0U);
  EXPECT_EQ(complaint([&] {
              static_cast<void>(read_labels((folder_ / "none.npy").string()));
            }).find("could not open the file of labels none.npy"),
            0U);
}

TEST_F(LabelFiles, of_training_ids_may_stand_in_any_order) {
  EXPECT_EQ(read_train_ids(put("t.csv", "7\n0\n3\n")), (Ids{0, 3, 7}));
  EXPECT_EQ(read_train_ids(put("t.npy", npy_numbers<std::int64_t>("<i8", {7, 0, 3}))), (Ids{0, 3, 7}));
  EXPECT_EQ(read_train_ids(put("t.npy", npy_numbers<std::uint32_t>("<u4", {4294967294U}))),
            (Ids{4294967294U}));
}

TEST_F(LabelFiles, of_training_ids_have_none_twice_and_no_other_number) {
  EXPECT_EQ(ids_complaint("t.txt", "7\n0\n7\n"),
            "the file of training ids t.txt: the training id 7 is there twice");
  EXPECT_EQ(ids_complaint("t.txt", "7\n-1\n"),
            "t.txt:2: '-1': a training id is a whole number from 0 to 4294967294");
  EXPECT_EQ(ids_complaint("t.txt", "7\n\n"), "t.txt:2: the line ends where a training id should stand");
  EXPECT_EQ(ids_complaint("t.txt", ""),
            "the file of training ids t.txt: it is empty: training starts from at least one vertex");
  EXPECT_EQ(ids_complaint("t.npy", npy_numbers<std::int64_t>("<i8", {0, -1})),
            "the file of training ids t.npy: element 1: -1 is no vertex");
  EXPECT_EQ(ids_complaint("t.npy", npy_numbers<std::uint32_t>("<u4", {4294967295U}))
                .find("the file of training ids t.npy: element 0: 4294967295 is no vertex"),
            0U);
  EXPECT_EQ(ids_complaint("t.npy", npy_numbers<float>("<f4", {1}))
                .find("the file of training ids t.npy: its elements are '<f4'"),
            0U);
}

TEST_F(LabelFiles, must_fit_the_graph) {
  const std::string ids = put("train.txt", "0\n9\n");
  const OwnLabels trained({}, ids);
  EXPECT_STREQ(trained.axis(), "train_ids");
  EXPECT_EQ(trained.stem(), "train");
  EXPECT_NO_THROW(trained.require_of(10, "g"));
  EXPECT_EQ(complaint([&] { trained.require_of(9, "g"); }),
            "the file of training ids train.txt: the training id 9 is no vertex: the graph g has 9 vertices, "
            "counted from 0");
  const OwnLabels labelled(put("labels.txt", "1\n-1\n2\n"), {});
  EXPECT_STREQ(labelled.axis(), "labels");
  EXPECT_NO_THROW(labelled.require_of(3, "g"));
  for (const Vertex vertices : {2U, 4U}) {
    EXPECT_EQ(complaint([&] { labelled.require_of(vertices, "g"); })
                  .find("the file of labels labels.txt: 3 labels; the graph g has " +
                        std::to_string(vertices) + " vertices"),
              0U);
  }
  EXPECT_EQ(complaint([&] { OwnLabels(put("l.txt", "1\n-1\n2\n"), put("t.txt", "0\n1\n")); }),
            "the file of training ids t.txt: the training id 1 has no label in l.txt");
  EXPECT_EQ(complaint([&] { OwnLabels(put("l.txt", "1\n"), put("t.txt", "1\n")); }),
            "the file of training ids t.txt: the training id 1 has no label in l.txt");
}

TEST_F(LabelFiles, decide_what_is_trained_on) {
  const graph::GraphSpec pareto = graph::parse_graph_spec("pareto:10");
  const OwnLabels ids({}, put("train.txt", "9\n0\n"));
  EXPECT_EQ(trained_on(pareto, 1024, 10, 1, &ids), (Ids{0, 9}));
  std::string text;
  for (int v = 0; v < 1024; ++v) {
    text += v % 2 == 0 ? "1\n" : "-1\n";
  }
  const OwnLabels labels(put("labels.txt", text), {});
  const Ids tenth = trained_on(pareto, 1024, 10, 1, &labels);
  EXPECT_EQ(tenth.size(), 102U);
  EXPECT_TRUE(std::ranges::is_sorted(tenth));
  EXPECT_TRUE(std::ranges::all_of(tenth, [](Vertex v) { return v % 2 == 0; }));
  EXPECT_GT(tenth.back(), 900U);
  EXPECT_EQ(trained_on(pareto, 1024, 60, 1, &labels).size(), 512U);  // all that have one
  EXPECT_THROW(static_cast<void>(trained_on(pareto, 1000, 10, 1, &labels)), UsageError);
  EXPECT_EQ(trained_on(pareto, 1024, 10, 1), labelled_vertices(1024, 10, 1));
  const graph::GraphSpec citation = graph::parse_graph_spec("citation:10");
  EXPECT_EQ(trained_on(citation, 1024, 10, 1), graph::archived_papers(citation, 102));
}

}  // namespace
}  // namespace grainscope::gnn
