#include "grainscope/core/host_array.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope {
namespace {

class HostArrayFile : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << std::string(5000, 'a') << "0123456789"; }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_ =
      (std::filesystem::temp_directory_path() / ("grainscope-host-array-" + std::to_string(::getpid())))
          .string();
};

template <class Call>
void expect_refused(const Call& call, const std::string& why) {
  try {
    call();
    FAIL() << "accepted, where " << why;
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(HostArray, is_zero_at_first_and_holds_what_is_written) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{1000}, kMiB, 3 * kMiB + 5}) {
    HostArray<std::uint64_t> array(size);
    EXPECT_EQ(array.size(), size);
    EXPECT_EQ(array.bytes(), 8 * size);
    EXPECT_EQ(array.span().size(), size);
    EXPECT_TRUE(std::all_of(array.begin(), array.end(), [](std::uint64_t word) { return word == 0; }));
    array[size - 1] = 7;
    EXPECT_EQ(*(array.end() - 1), 7);
  }
}

TEST(HostArray, of_nothing_takes_nothing) {
  const HostArray<int> none(0);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.begin(), none.end());
  EXPECT_TRUE(HostArray<int>().empty());
}

TEST(HostArray, of_many_pages_lies_so_that_huge_ones_fit) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(HostArray<char>(8 * kMiB).data()) % (2 * kMiB), 0);
}

TEST(HostArray, refuses_more_than_there_is_with_the_size) {
  expect_refused([] { HostBytes bytes(std::uint64_t{1} << 46); }, "70368744177664 bytes (64 TiB)");
  expect_refused([] { HostBytes bytes(UINT64_MAX); }, std::to_string(UINT64_MAX) + " bytes");
}

TEST_F(HostArrayFile, maps_a_part_that_begins_anywhere) {
  const HostArray<char> part(HostBytes::map_file(path_, 4999, 5), 5);
  EXPECT_EQ(std::string(part.begin(), part.end()), "a0123");
  EXPECT_EQ(HostBytes::map_file(path_, 5010, 0).bytes(), 0);
}

TEST_F(HostArrayFile, stays_when_the_file_goes) {
  const HostBytes all = HostBytes::map_file(path_, 0, 5010);
  std::filesystem::remove(path_);
  EXPECT_EQ(all.data()[5009], std::byte{'9'});
}

TEST_F(HostArrayFile, refuses_a_file_that_is_missing_or_too_short) {
  expect_refused([&] { (void)HostBytes::map_file(path_, 5000, 11); }, path_ + ": the file has 5010 bytes");
  expect_refused([&] { (void)HostBytes::map_file(path_, 5011, 0); }, "the file has 5010 bytes");
  expect_refused([&] { (void)HostBytes::map_file(path_, UINT64_MAX, 2); }, "the file has 5010 bytes");
  expect_refused([&] { (void)HostBytes::map_file(path_ + ".not", 0, 1); }, "No such file");
  expect_refused([&] { (void)HostBytes::map_file("/", 0, 1); }, "no regular file");
}

}  // namespace
}  // namespace grainscope
