#include "grainscope/core/pattern.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <vector>

#include "grainscope/core/error.hpp"

namespace grainscope {
namespace {

constexpr std::size_t kLine = 64;

// Memory for a chase, and the links that lie in it.
class Buffer {
 public:
  explicit Buffer(std::size_t lines) : bytes_(lines * kLine + kLine) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    data_ = bytes_.data() + (kLine - address % kLine) % kLine;
  }

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] std::byte* line(std::size_t i) { return data_ + i * kLine; }
  [[nodiscard]] std::byte* next(const std::byte* line) const {
    std::byte* target = nullptr;
    std::memcpy(&target, line, sizeof(target));
    return target;
  }
  void link(std::byte* from, std::byte* to) const { std::memcpy(from, &to, sizeof(to)); }

 private:
  std::vector<std::byte> bytes_;
  std::byte* data_;
};

TEST(PointerChase, one_cycle_passes_every_line_once) {
  for (const std::size_t lines : {2U, 3U, 64U, 1000U}) {
    Buffer buffer(lines);
    const PointerChase chase(buffer.data(), lines * kLine, kLine);
    EXPECT_EQ(chase.lines(), lines);
    EXPECT_TRUE(chase.is_one_cycle());
    std::set<std::byte*> seen;
    std::byte* here = buffer.data();
    for (std::size_t i = 0; i < lines; ++i) {
      ASSERT_TRUE(seen.insert(here).second) << "line met twice";
      ASSERT_EQ(static_cast<std::size_t>(here - buffer.data()) % kLine, 0U);
      ASSERT_LT(static_cast<std::size_t>(here - buffer.data()), lines * kLine);
      here = buffer.next(here);
    }
    EXPECT_EQ(here, buffer.data());
  }
}

TEST(PointerChase, a_line_that_links_to_itself_is_damage) {
  Buffer buffer(64);
  const PointerChase chase(buffer.data(), 64 * kLine, kLine);
  buffer.link(buffer.line(17), buffer.line(17));
  EXPECT_FALSE(chase.is_one_cycle());
}

TEST(PointerChase, a_cycle_that_leaves_lines_out_is_damage) {
  Buffer buffer(64);
  const PointerChase chase(buffer.data(), 64 * kLine, kLine);
  std::byte* before = buffer.line(40);
  buffer.link(before, buffer.next(buffer.next(before)));
  EXPECT_FALSE(chase.is_one_cycle());
}

TEST(PointerChase, two_cycles_are_damage) {
  Buffer buffer(64);
  const PointerChase chase(buffer.data(), 64 * kLine, kLine);
  std::byte* one = buffer.next(buffer.line(0));
  std::byte* other = buffer.next(buffer.line(20));
  buffer.link(buffer.line(0), other);
  buffer.link(buffer.line(20), one);
  EXPECT_FALSE(chase.is_one_cycle());
}

// A cycle through a third of the lines on which every place that the check begins at leads to the next.
TEST(PointerChase, a_short_cycle_through_all_places_of_the_check_is_damage) {
  constexpr std::size_t kPlaces = 16;
  Buffer buffer(3 * kPlaces);
  const PointerChase chase(buffer.data(), 3 * kPlaces * kLine, kLine);
  std::vector<std::byte*> places;
  std::byte* here = buffer.line(0);
  for (std::size_t i = 0; i < 3 * kPlaces; ++i) {
    if (i % 3 == 0) {
      places.push_back(here);
    }
    here = buffer.next(here);
  }
  for (std::size_t k = 0; k < kPlaces; ++k) {
    buffer.link(places[k], places[(k + 11) % kPlaces]);  // three times eleven is one beyond two rounds
  }
  EXPECT_FALSE(chase.is_one_cycle());
}

TEST(PointerChase, the_order_follows_from_the_seed) {
  Buffer first(256);
  Buffer second(256);
  const auto order = [](Buffer& buffer, std::uint64_t seed) {
    const PointerChase chase(buffer.data(), 256 * kLine, kLine, seed);
    std::vector<std::ptrdiff_t> offsets;
    for (std::size_t i = 0; i < chase.lines(); ++i) {
      offsets.push_back(buffer.next(buffer.line(i)) - buffer.data());
    }
    return offsets;
  };
  EXPECT_EQ(order(first, 5), order(second, 5));
  EXPECT_NE(order(first, 5), order(second, 6));
}

TEST(PointerChase, hardly_a_link_leads_to_the_next_line) {
  Buffer buffer(4096);
  const PointerChase chase(buffer.data(), 4096 * kLine, kLine);
  int neighbours = 0;
  for (std::size_t i = 0; i + 1 < chase.lines(); ++i) {
    neighbours += buffer.next(buffer.line(i)) == buffer.line(i + 1) ? 1 : 0;
  }
  EXPECT_LT(neighbours, 20);
}

TEST(PointerChase, a_walk_takes_time_and_leaves_the_links_alone) {
  Buffer buffer(1024);
  PointerChase chase(buffer.data(), 1024 * kLine, kLine);
  EXPECT_GT(chase.walk(1000), 0);
  EXPECT_GT(chase.walk(100'000), 100'000 * 0.05e-9);
  EXPECT_TRUE(chase.is_one_cycle());
}

TEST(PointerChase, fewer_than_two_lines_are_refused) {
  Buffer buffer(2);
  for (const std::size_t bytes : {std::size_t{0}, kLine - 1, kLine, 2 * kLine - 1}) {
    EXPECT_THROW(PointerChase(buffer.data(), bytes, kLine), UsageError) << bytes;
  }
}

}  // namespace
}  // namespace grainscope
