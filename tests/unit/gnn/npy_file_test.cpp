// Feature tables of one's own: what is read, and what is refused in which words.

#include "grainscope/gnn/features.hpp"

#include <gtest/gtest.h>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "npy_files.hpp"

namespace grainscope::gnn {
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

}  // namespace
}  // namespace grainscope::gnn
