// Feature tables, labels and training ids: of a closed form and of NumPy files.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../../testing/says.hpp"
#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/labels.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"
#include "npy_files.hpp"

namespace grainscope::gnn {
namespace {

class OwnFeatures : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<const NpyFile> file(const std::string& content) const {
    test::write_text(folder_ / "own.npy", content);
    return std::make_shared<NpyFile>((folder_ / "own.npy").string());
  }
  // Rows of float32 around `mean`, of the given scale.
  [[nodiscard]] std::shared_ptr<const NpyFile> drawn(std::uint32_t rows, std::uint32_t columns, float mean,
                                                     float scale) const {
    const std::string shape = "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
    std::string content = test::npy_header(test::npy_dictionary("<f4", shape));
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t column = 0; column < columns; ++column) {
        content += test::bytes_of(mean + scale * feature(7, row, column));
      }
    }
    return file(content);
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(OwnFeatures, stand_in_the_order_asked_for) {
  const auto own = file(test::npy_table(4, 3));
  const Features features(own, {2, 0, 3, 1});
  EXPECT_EQ(features.columns(), 3U);
  EXPECT_EQ(features.row_bytes(), 12U);
  std::vector<float> row(3);
  features.read(0, row.data());
  EXPECT_EQ(row, (std::vector<float>{6 * 0x1p-10F, 7 * 0x1p-10F, 8 * 0x1p-10F}));
  std::vector<std::byte> all(48);
  features.fill(4, all.data());
  EXPECT_EQ(std::memcmp(all.data(), own->row(2), 12), 0);
  EXPECT_EQ(std::memcmp(all.data() + 36, own->row(1), 12), 0);
  const std::vector<graph::Vertex> rows{0, 1, 2, 3};
  EXPECT_EQ(features.count_wrong(all.data(), rows), 0U);
  all[13] ^= std::byte{1};
  all[47] ^= std::byte{1};
  EXPECT_EQ(features.count_wrong(all.data(), rows), 2U);
}

TEST_F(OwnFeatures, of_float16_are_widened) {
  std::string content = test::npy_header(test::npy_dictionary("<f2", "(1, 7)"));
  for (const int bits : {0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x7c00, 0x7e00}) {
    content += test::bytes_of(static_cast<std::uint16_t>(bits));
  }
  std::vector<float> row(7);
  Features(file(content)).read(0, row.data());
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[1], -2);
  EXPECT_EQ(row[2], 0x1p-24F);
  EXPECT_EQ(row[3], 65504);
  EXPECT_TRUE(row[4] == 0 && std::signbit(row[4]));
  EXPECT_EQ(row[5], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(row[6]));
}

TEST_F(OwnFeatures, of_an_order_of_other_rows_are_refused) {
  const auto own = file(test::npy_table(4, 3));
  EXPECT_THROW(Features(own, {0, 1, 2}), UsageError);
  EXPECT_THROW(Features(own, {0, 1, 2, 4}), UsageError);
}

TEST_F(OwnFeatures, have_a_mean_and_a_scale) {
  std::vector<graph::Vertex> rows(5000);
  std::iota(rows.begin(), rows.end(), 0U);
  const FeatureSpread spread = spread_of(Features(drawn(5000, 2, 0, 3)), rows);
  EXPECT_NEAR(spread.scale, 3, 0.1);
  EXPECT_NEAR(spread.means[1], 0, 0.1);
  EXPECT_NEAR(spread_of(Features(drawn(5000, 2, 5, 1)), rows).means[0], 5, 0.1);
}

TEST_F(OwnFeatures, that_nothing_can_be_trained_on_are_refused_with_their_place) {
  std::string content = test::npy_table(4, 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  content.replace(content.size() - 4 * sizeof(float), sizeof(float), test::bytes_of(nan));
  try {
    static_cast<void>(spread_of(Features(file(content), {3, 2, 1, 0}), std::vector<graph::Vertex>{0, 1}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("own.npy: column 2 of row 2 is nan"), std::string::npos)
        << error.what();
  }
  const auto zeros = file(test::npy_header(test::npy_dictionary("<f4", "(2, 3)")) + std::string(24, '\0'));
  EXPECT_THROW(static_cast<void>(spread_of(Features(zeros), std::vector<graph::Vertex>{0, 1})), UsageError);
}

TEST(RequireLockable, tells_both_numbers) {
  EXPECT_NO_THROW(require_lockable(700 * kMiB, {kGiB, {}}));
  EXPECT_NO_THROW(require_lockable(700 * kMiB, {}));
  try {
    require_lockable(3 * kGiB, {8 * kGiB, 2 * kGiB});
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "needs 3 GiB of page-locked host memory; 2 GiB are available");
  }
}

class OwnTraining : public OwnFeatures {
 protected:
  static constexpr std::uint32_t kColumns = 24;

  [[nodiscard]] static TrainingRequest request() {
    TrainingRequest request;
    request.sample = {{5, 5}, 1};
    request.batch = 150;
    request.batches = 24;
    request.labelled_percent = 60;
    request.shape = {kColumns, 32, 8, 2};
    request.rate = 1;
    return request;
  }

  const graph::Csr graph_ = graph::make_graph(graph::parse_graph_spec("kron:11"), false);
};

TEST_F(OwnTraining, loses_less_whatever_the_scale_of_the_features) {
  struct Spread {
    float mean;
    float scale;
  };
  for (const auto& [mean, scale] : {Spread{0, 1}, Spread{0, 100}, Spread{0, 0.01F}, Spread{0.5F, 0.5F}}) {
    SCOPED_TRACE(testing::Message() << mean << " +- " << scale);
    const TrainingPlan plan =
        plan_training(graph_, request(), drawn(graph_.vertices(), kColumns, mean, scale));
    EXPECT_GT(std::set<std::uint16_t>(plan.labels.begin(), plan.labels.end()).size(), 4U);
    EXPECT_EQ(plan.epoch_batches, static_cast<std::uint64_t>(std::llround(0.6 * graph_.vertices())) / 150);
    const auto table = make_pageable_table(graph_.vertices(), plan.features);
    EXPECT_EQ(table->bytes(), nullptr) << "a file is mapped, not copied";
    const auto pipeline = make_pipeline(plan, *table, {Mode::cpu_gather, Store::pageable});
    const PipelineRun run = pipeline->run();
    EXPECT_LT(run.losses.back(), 0.97 * run.losses.front());
    const std::vector<double> expected = reference_losses(plan, 3, 1);
    for (std::size_t b = 0; b < expected.size(); ++b) {
      EXPECT_NEAR(run.losses[b], expected[b], 1e-5 * expected[b]) << "mini-batch " << b;
    }
  }
}

TEST_F(OwnTraining, from_rows_of_other_vertices_is_found) {
  const auto own = drawn(graph_.vertices(), kColumns, 0, 1);
  const TrainingPlan plan = plan_training(graph_, request(), own);
  const auto table = make_pageable_table(graph_.vertices(), Features(own));
  const auto pipeline = make_pipeline(plan, *table, {Mode::cpu_gather, Store::pageable});
  EXPECT_THROW(static_cast<void>(pipeline->run()), FailedError);
}

TEST_F(OwnTraining, on_a_table_that_does_not_fit_is_refused) {
  const auto refused = [&](const std::shared_ptr<const NpyFile>& own, const char* said) {
    try {
      static_cast<void>(plan_training(graph_, request(), own));
      ADD_FAILURE() << said;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  };
  refused(drawn(graph_.vertices() - 1, kColumns, 0, 1), "and each needs one row");
  refused(drawn(graph_.vertices() + 1, kColumns, 0, 1), "and each needs one row");
  refused(drawn(graph_.vertices(), kColumns + 1, 0, 1), "25 columns of 4 bytes: training takes 24");
  refused(file(test::npy_table(graph_.vertices(), kColumns, 2)), "of 2 bytes: training takes 24 of float32");
}

}  // namespace
// Feature tables of one's own: what is read, and what is refused in which words.

namespace {

class NpyFiles : public testing::Test {
 protected:
  NpyFile read(const std::string& content) const {
    test::write_text(folder_ / "table.npy", content);
    return NpyFile((folder_ / "table.npy").string());
  }

  void expect_refused(const std::string& content, const std::vector<std::string>& said) const {
    try {
      static_cast<void>(read(content));
      ADD_FAILURE() << "was read: " << said.front();
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("table.npy: "), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      for (const std::string& each : said) {
        EXPECT_NE(message.find(each), std::string::npos) << "'" << each << "' is not in: " << message;
      }
    }
  }
  void expect_refused_dictionary(const std::string& dictionary, const std::vector<std::string>& said) const {
    expect_refused(test::npy_header(dictionary) + std::string(24, '\0'), said);
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(NpyFiles, of_float32_are_mapped_row_by_row) {
  const NpyFile file = read(test::npy_table(5, 3));
  EXPECT_EQ(file.rows(), 5U);
  EXPECT_EQ(file.columns(), 3U);
  EXPECT_EQ(file.element(), 4U);
  EXPECT_EQ(file.row_bytes(), 12U);
  EXPECT_EQ(file.bytes(), 60U);
  EXPECT_EQ(file.stem(), "table");
  float found = 0;
  std::memcpy(&found, file.row(4) + 8, sizeof(found));
  EXPECT_EQ(found, 14 * 0x1p-10F);
}

TEST_F(NpyFiles, of_float16_have_rows_of_half_the_size) {
  const NpyFile file = read(test::npy_table(4, 5, 2));
  EXPECT_EQ(file.element(), 2U);
  EXPECT_EQ(file.row_bytes(), 10U);
  EXPECT_EQ(std::to_integer<int>(*file.row(3)), 15);
}

TEST_F(NpyFiles, of_every_version_and_any_order_of_keys_are_read) {
  const std::string data(24, '\0');
  for (const char version : {'\1', '\2', '\3'}) {
    EXPECT_EQ(read(test::npy_header(test::npy_dictionary("<f4", "(2, 3)"), version) + data).columns(), 3U);
  }
  for (const char* const dictionary :
       {"{'shape':(2,3,),\"fortran_order\":False,'descr':'<f4'}",
        "  { 'fortran_order' : False , 'descr' : \"<f4\" , 'shape' : ( 2 , 3 ) }  "}) {
    EXPECT_EQ(read(test::npy_header(dictionary) + data).rows(), 2U) << dictionary;
  }
}

TEST_F(NpyFiles, that_are_none_are_refused) {
  expect_refused("", {"no NumPy file", "0 bytes"});
  expect_refused("\x93NUMPY\1", {"no NumPy file"});
  expect_refused(std::string(200, 'x'), {"no NumPy file", "\\x93NUMPY"});
  expect_refused(test::npy_header(test::npy_dictionary("<f4", "(2, 3)"), '\4'), {"version 4.0", "3.0"});
  EXPECT_THROW(NpyFile((folder_ / "nowhere.npy").string()), UsageError);
  EXPECT_THROW(NpyFile(folder_.path().string()), UsageError);
}

TEST_F(NpyFiles, that_are_cut_or_too_long_are_refused_with_the_numbers) {
  const std::string good = test::npy_table(5, 3);
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    expect_refused(good.substr(0, bytes), {"table"});
  }
  expect_refused(good.substr(0, good.size() - 1), {"takes 60 bytes", "has 59", "cut off"});
  expect_refused(good + "x", {"takes 60 bytes", "has 61", "something else"});
}

TEST_F(NpyFiles, that_hold_no_such_table_are_refused_with_what_to_do) {
  using test::npy_dictionary;
  expect_refused_dictionary(npy_dictionary("<f4", "(2, 3)", "True"), {"Fortran order", "ascontiguousarray"});
  expect_refused_dictionary(npy_dictionary("<f8", "(1, 3)"), {"'<f8'", "'<f4'", "astype"});
  expect_refused_dictionary(npy_dictionary(">f4", "(2, 3)"), {"'>f4'"});
  expect_refused_dictionary(npy_dictionary("|O", "(2, 3)"), {"'|O'"});
  expect_refused_dictionary("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
                            {"records"});
  expect_refused_dictionary(npy_dictionary("<f4", "(6,)"), {"shape (6,)", "two dimensions"});
  expect_refused_dictionary(npy_dictionary("<f4", "()"), {"shape ()", "two dimensions"});
  expect_refused_dictionary(npy_dictionary("<f4", "(1, 2, 3)"), {"(1, 2, 3)", "two dimensions"});
  expect_refused_dictionary(npy_dictionary("<f4", "(6, 0)"), {"(6, 0)", "nothing to gather"});
  expect_refused_dictionary(npy_dictionary("<f4", "(0, 6)"), {"(0, 6)", "nothing to gather"});
  expect_refused_dictionary(npy_dictionary("<f4", "(1, 268435457)"), {"268435457 columns", "1 GiB"});
  expect_refused_dictionary(npy_dictionary("<f2", "(4294967295, 1)"), {"4294967295 rows", "2^32"});
}

TEST_F(NpyFiles, whose_numbers_are_absurd_take_no_memory) {
  for (const char* const shape :
       {"(4294967294, 268435456)", "(18446744073709551615, 1)", "(1, 18446744073709551615)",
        "(18446744073709551616, 1)", "(4294967296, 4294967296)", "(-1, 3)", "(1e9, 3)"}) {
    expect_refused_dictionary(test::npy_dictionary("<f4", shape), {"table"});
  }
  std::string huge = test::npy_header(test::npy_dictionary("<f4", "(2, 3)"), '\2');
  huge.replace(8, 4, "\xff\xff\xff\xff");
  expect_refused(huge, {"4294967295 bytes", "at most"});
  expect_refused_dictionary("{'shape': (" + std::string(400, '1') + ")}", {"2^64"});
  std::string dimensions = "(";
  for (int i = 0; i < 40; ++i) {
    dimensions += "1, ";
  }
  expect_refused_dictionary(test::npy_dictionary("<f4", dimensions + ")"), {"32 dimensions"});
}

TEST_F(NpyFiles, whose_dictionary_is_broken_are_refused_with_the_byte) {
  expect_refused_dictionary("", {"byte 64", "'{'"});
  expect_refused_dictionary("{'descr': '<f4', 'fortran_order': False}", {"no key 'shape'"});
  expect_refused_dictionary("{'descr': '<f4', 'descr': '<f4'}", {"byte 27", "twice"});
  expect_refused_dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", {"'x'"});
  expect_refused_dictionary("{'descr': '<f4, 'fortran_order': False}", {"here"});
  expect_refused_dictionary("{'descr': '<f4', 'fortran_order': false, 'shape': (2, 3)}", {"True or False"});
  expect_refused_dictionary("{'descr': '<f4' 'shape': (2, 3)}", {"'}'"});
  expect_refused_dictionary(test::npy_dictionary("<f4", "(2, 3)") + "{}", {"goes on"});
  expect_refused_dictionary("{'" + std::string(100, '\x80') + "': 1}", {"????…"});
}

TEST_F(NpyFiles, whose_array_is_not_aligned_are_refused) {
  const std::string dictionary = test::npy_dictionary("<f4", "(2, 3)") + "\n";
  const std::string file = std::string("\x93NUMPY\1\0", 8) +
                           test::bytes_of(static_cast<std::uint16_t>(dictionary.size())) + dictionary +
                           std::string(24, '\0');
  expect_refused(file, {"no multiple of 16"});
}

TEST_F(NpyFiles, have_a_row_for_every_vertex_or_are_refused) {
  const NpyFile file = read(test::npy_table(5, 3));
  EXPECT_NO_THROW(require_row_for_each(file, 5, "web"));
  for (const std::uint64_t vertices : {4U, 6U}) {
    try {
      require_row_for_each(file, vertices, "web");
      FAIL() << vertices;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("5 rows; the graph web has " + std::to_string(vertices)), message.npos)
          << message;
    }
  }
}

// Labels and training ids of one's own: texts and NumPy arrays, good and bad, and what is trained on.

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
