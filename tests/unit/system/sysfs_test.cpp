#include "grainscope/system/sysfs.hpp"

#include <gtest/gtest.h>

#include "machine_tree.hpp"

namespace grainscope {
namespace {

using test::MachineTree;

TEST(Sysfs, a_missing_file_is_unknown) {
  EXPECT_EQ(sysfs::read_text("/nonexistent/file"), std::nullopt);
}

TEST(Sysfs, a_directory_is_unknown) {
  EXPECT_EQ(sysfs::read_text("/proc"), std::nullopt);
}

TEST(Sysfs, text_comes_without_white_space_around_it) {
  MachineTree tree;
  tree.file("a", " performance \n");
  EXPECT_EQ(sysfs::read_text(tree.path() / "a"), "performance");
}

TEST(Sysfs, numbers_that_are_not_whole_are_unknown) {
  MachineTree tree;
  for (const char* text : {"", "garbage", "12x", "1.5", "99999999999999999999999", "<unsupported>"}) {
    tree.file("a", text);
    EXPECT_EQ(sysfs::read_integer(tree.path() / "a"), std::nullopt) << text;
    EXPECT_EQ(sysfs::read_unsigned(tree.path() / "a"), std::nullopt) << text;
  }
  tree.file("a", "-1");
  EXPECT_EQ(sysfs::read_integer(tree.path() / "a"), -1);
  EXPECT_EQ(sysfs::read_unsigned(tree.path() / "a"), std::nullopt);
}

TEST(Sysfs, only_words_for_on_and_off_are_switches) {
  MachineTree tree;
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "1").path() / "a"), true);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "N").path() / "a"), false);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "on").path() / "a"), true);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "notimplemented").path() / "a"), std::nullopt);
  EXPECT_EQ(sysfs::read_switch(tree.file("a", "").path() / "a"), std::nullopt);
}

TEST(Sysfs, the_choice_is_the_word_in_brackets) {
  MachineTree tree;
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "always [madvise] never").path() / "a"), "madvise");
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "always madvise never").path() / "a"), std::nullopt);
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "a ] [").path() / "a"), std::nullopt);
  EXPECT_EQ(sysfs::read_choice(tree.file("a", "[]").path() / "a"), std::nullopt);
}

TEST(Sysfs, lists_are_ranges_and_numbers) {
  EXPECT_EQ(sysfs::parse_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(sysfs::parse_list("8,0"), (std::vector<int>{0, 8}));
  EXPECT_EQ(sysfs::parse_list(""), std::vector<int>{});
}

TEST(Sysfs, malformed_lists_are_unknown) {
  for (const char* text : {"0-", "-3", "3-1", "a", "1,,2", "0-99999999", "99999999999999999999", "1 2"}) {
    EXPECT_EQ(sysfs::parse_list(text), std::nullopt) << text;
  }
}

TEST(Sysfs, a_formatted_list_reads_back) {
  for (const char* text : {"0-3,8,10-11", "5", "0-1"}) {
    EXPECT_EQ(sysfs::format_list(sysfs::parse_list(text).value()), text);
  }
  EXPECT_EQ(sysfs::format_list({}), "none");
}

TEST(Sysfs, sizes_are_binary) {
  EXPECT_EQ(sysfs::parse_size("48K"), 49152U);
  EXPECT_EQ(sysfs::parse_size("2048 kB"), 2097152U);
  EXPECT_EQ(sysfs::parse_size("1G"), 1073741824U);
  EXPECT_EQ(sysfs::parse_size("7"), 7U);
  EXPECT_EQ(sysfs::parse_size("K"), std::nullopt);
  EXPECT_EQ(sysfs::parse_size("7 furlongs"), std::nullopt);
  EXPECT_EQ(sysfs::parse_size("18446744073709551615K"), std::nullopt);
}

TEST(Sysfs, a_value_is_that_of_the_whole_key) {
  const std::string text = "MemTotalX: 1 kB\nMemTotal:   2 kB\nMemTotal: 3 kB";
  EXPECT_EQ(sysfs::value_of(text, "MemTotal"), "2 kB");
  EXPECT_EQ(sysfs::value_of(text, "Mem"), std::nullopt);
}

TEST(Sysfs, directories_are_listed_by_number) {
  MachineTree tree;
  tree.directory("d/node10").directory("d/node2").directory("d/has_cpu");
  EXPECT_EQ(sysfs::list_directory(tree.path() / "d"),
            (std::vector<std::string>{"has_cpu", "node2", "node10"}));
  EXPECT_TRUE(sysfs::list_directory(tree.path() / "absent").empty());
}

TEST(Sysfs, a_number_follows_exactly_its_prefix) {
  EXPECT_EQ(sysfs::number_after("node12", "node"), 12);
  EXPECT_EQ(sysfs::number_after("node", "node"), std::nullopt);
  EXPECT_EQ(sysfs::number_after("node-1", "node"), std::nullopt);
  EXPECT_EQ(sysfs::number_after("cpufreq", "cpu"), std::nullopt);
}

}  // namespace
}  // namespace grainscope
