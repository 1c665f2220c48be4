#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/transfer/shape.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

using Memory = std::vector<std::byte>;

Memory filled_box(const Box& box, std::uint32_t seed) {
  Memory memory(guarded_bytes(box));
  fill_pattern(reinterpret_cast<std::uint32_t*>(memory.data()), memory.size() / 4, seed);
  return memory;
}

// The obvious copy: plane by plane, row by row, byte by byte. `planes` and `rows` may be fewer than all.
void copy_serially(Memory& to, const Memory& from, const Box& box, std::uint64_t planes, std::uint64_t rows) {
  for (std::uint64_t plane = 0; plane < planes; ++plane) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t x = 0; x < box.width_bytes; ++x) {
        const std::uint64_t at = 256 + (plane * box.plane_rows + row) * box.pitch_bytes + x;
        to[at] = from[at];
      }
    }
  }
}

Memory moved_box(const Box& box) {
  Memory memory = filled_box(box, kPoison);
  copy_serially(memory, filled_box(box, kPayload), box, box.planes, box.rows);
  return memory;
}

Box random_box(std::mt19937& random) {
  const auto below = [&](std::uint64_t most) { return 1 + random() % most; };
  Box box{below(70), below(9), below(5), 0, 0};
  box.pitch_bytes = box.width_bytes + random() % 40;
  box.plane_rows = box.rows + random() % 4;
  return box;
}

TEST(Boxes, say_how_many_bytes_they_hold_and_span) {
  const Box box{12, 5, 3, 64, 8};
  EXPECT_EQ(box.all_rows(), 15U);
  EXPECT_EQ(box.bytes(), 180U);
  EXPECT_EQ(box.plane_bytes(), 512U);
  EXPECT_EQ(box.span_bytes(), 1536U);
  EXPECT_EQ(box.row_offset(0), 0U);
  EXPECT_EQ(box.row_offset(4), 256U);
  EXPECT_EQ(box.row_offset(5), 512U);
  EXPECT_EQ(box.row_offset(14), 2 * 512U + 256U);
  EXPECT_EQ(guarded_bytes(box), 1536U + 2 * kGuardBytes);
}

TEST(Boxes, packed_leave_nothing_between_rows_and_planes) {
  const Box box = packed({12, 5, 3, 64, 8});
  EXPECT_EQ(box.span_bytes(), box.bytes());
  for (std::uint64_t row = 0; row < box.all_rows(); ++row) {
    EXPECT_EQ(box.row_offset(row), row * 12);
  }
}

TEST(Boxes, are_moved_by_the_widest_element_that_divides_both) {
  EXPECT_EQ(widest_element({16, 1, 1, 32, 1}, {16, 1, 1, 512, 1}), 16);
  EXPECT_EQ(widest_element({4096, 1, 1, 8192, 1}, {4096, 1, 1, 4096, 1}), 16);
  EXPECT_EQ(widest_element({12, 1, 1, 3072, 1}, {12, 1, 1, 12, 1}), 4);
  EXPECT_EQ(widest_element({16, 1, 1, 24, 1}, {16, 1, 1, 512, 1}), 8);
  EXPECT_EQ(widest_element({16, 1, 1, 512, 1}, {16, 1, 1, 18, 1}), 2);
  EXPECT_EQ(widest_element({15, 1, 1, 512, 1}, {15, 1, 1, 512, 1}), 1);
}

TEST(Boxes, that_cannot_be_are_refused) {
  EXPECT_NO_THROW(require_possible({1, 1, 1, 1, 1}));
  EXPECT_NO_THROW(require_possible({512, 7, 3, 512, 7}));
  const std::uint64_t huge = std::uint64_t{1} << 31;
  for (const Box& box :
       {Box{0, 1, 1, 1, 1}, Box{1, 0, 1, 1, 1}, Box{1, 1, 0, 1, 1}, Box{9, 1, 1, 8, 1}, Box{8, 4, 2, 8, 3},
        Box{1, 1, 1, huge, 1}, Box{1, 1, 1, 1, huge}, Box{1, 1, huge, 1, 1}, Box{1, 65536, 65536, 1, 65536},
        Box{1, 1, huge - 1, huge - 1, huge - 1}}) {
    EXPECT_THROW(require_possible(box), UsageError)
        << box.width_bytes << " " << box.rows << " " << box.planes;
  }
}

TEST(BoxCheck, agrees_with_a_serial_copy_of_any_box) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Box box = random_box(random);
    EXPECT_FALSE(find_box_mismatch(moved_box(box).data(), box).has_value()) << i;
  }
}

TEST(BoxCheck, finds_any_single_byte_that_is_wrong_inside_or_outside) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const Box box = random_box(random);
    Memory memory = moved_box(box);
    const std::uint64_t place = random() % memory.size();
    memory[place] ^= std::byte{0x40};
    EXPECT_EQ(find_box_mismatch(memory.data(), box), place) << i;
  }
}

TEST(BoxCheck, catches_a_copy_that_moved_nothing) {
  const Box box{64, 16, 4, 256, 20};
  EXPECT_EQ(find_box_mismatch(filled_box(box, kPoison).data(), box), kGuardBytes);
}

TEST(BoxCheck, catches_a_copy_of_fewer_planes_or_rows) {
  const Box box{64, 16, 4, 256, 20};
  for (const auto& [planes, rows] : {std::pair{1, 16}, std::pair{3, 16}, std::pair{4, 15}, std::pair{4, 1}}) {
    Memory memory = filled_box(box, kPoison);
    copy_serially(memory, filled_box(box, kPayload), box, static_cast<std::uint64_t>(planes),
                  static_cast<std::uint64_t>(rows));
    EXPECT_TRUE(find_box_mismatch(memory.data(), box).has_value()) << planes << " " << rows;
  }
}

TEST(BoxCheck, catches_a_copy_that_took_what_lies_between_along) {
  const Box box{64, 16, 4, 256, 20};
  EXPECT_TRUE(find_box_mismatch(filled_box(box, kPayload).data(), box).has_value());
  Memory memory = moved_box(box);
  const Memory source = filled_box(box, kPayload);
  std::copy(source.begin() + 256, source.begin() + 256 + 65, memory.begin() + 256);
  EXPECT_EQ(find_box_mismatch(memory.data(), box), kGuardBytes + 64);
}

TEST(HostRows, are_copied_between_any_two_layouts_in_any_shares) {
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    const Box box = random_box(random);
    const Box flat = packed(box);
    const Memory source = filled_box(box, kPayload);
    Memory between(flat.bytes());
    Memory destination = filled_box(box, kPoison);
    const std::uint64_t half = box.all_rows() / 2;
    copy_rows(between.data(), flat, source.data() + kGuardBytes, box, half, box.all_rows());
    copy_rows(between.data(), flat, source.data() + kGuardBytes, box, 0, half);
    copy_rows(destination.data() + kGuardBytes, box, between.data(), flat, 0, half);
    copy_rows(destination.data() + kGuardBytes, box, between.data(), flat, half, box.all_rows());
    EXPECT_EQ(destination, moved_box(box)) << i;
  }
}

// What a kernel does, thread by thread: every element once, where it belongs.
void expect_walks_cover(const BoxExtent& extent, unsigned blocks, unsigned threads, bool chunked) {
  std::vector<int> visits(extent.width * extent.all_rows);
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      for (BoxWalk walk = walk_box(extent, {block, blocks, thread, threads}, chunked); !walk.done();
           walk.advance(extent)) {
        ASSERT_LT(walk.x, extent.width);
        ASSERT_LT(walk.y, extent.rows);
        const std::uint64_t element = (walk.z * extent.rows + walk.y) * extent.width + walk.x;
        ASSERT_EQ(element, walk.element);
        ASSERT_LT(element, visits.size());
        ++visits[element];
      }
    }
  }
  EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), static_cast<std::ptrdiff_t>(visits.size()));
}

TEST(BoxWalks, of_any_grid_visit_every_element_once) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const auto below = [&](unsigned most) { return 1 + static_cast<unsigned>(random() % most); };
    BoxExtent extent{below(40), below(12), 1};
    extent.all_rows = std::uint64_t{extent.rows} * below(6);
    const unsigned blocks = below(9);
    const unsigned threads = below(70);
    for (const bool chunked : {true, false}) {
      SCOPED_TRACE(std::to_string(extent.width) + " x " + std::to_string(extent.rows) + " x " +
                   std::to_string(extent.all_rows / extent.rows) + ", " + std::to_string(blocks) + " x " +
                   std::to_string(threads) + (chunked ? " chunked" : " strided"));
      expect_walks_cover(extent, blocks, threads, chunked);
    }
  }
}

TEST(BoxWalks, chunked_keep_each_block_on_consecutive_rows) {
  const BoxExtent extent{5, 7, 21};
  for (unsigned block = 0; block < 4; ++block) {
    const BoxWalk walk = walk_box(extent, {block, 4, 0, 32}, true);
    EXPECT_EQ(walk.element, 21ULL * block / 4 * 5);
    EXPECT_EQ(walk.end, 21ULL * (block + 1) / 4 * 5);
  }
}

TEST(BoxMethods, have_names_of_their_own) {
  std::set<std::string> names;
  for (const BoxMethod method : {BoxMethod::copy_2d, BoxMethod::copy_3d, BoxMethod::kernel_strided,
                                 BoxMethod::kernel_chunked, BoxMethod::pack, BoxMethod::row_copies}) {
    EXPECT_TRUE(names.insert(name(method)).second) << name(method);
  }
}

TEST(BoxCopies, say_which_gpu_makes_them_and_what_an_end_takes) {
  const Endpoint host = Endpoint::host(Placement::pinned, 3);
  const Endpoint one = Endpoint::gpu(Placement::device, 1);
  const Endpoint two = Endpoint::gpu(Placement::device, 2);
  const Box box{64, 16, 4, 256, 20};
  EXPECT_EQ((BoxCopy{{host, two}, box}).gpu(), 2);
  EXPECT_EQ((BoxCopy{{two, host}, box}).gpu(), 2);
  EXPECT_EQ((BoxCopy{{one, two}, box}).gpu(), 1);
  EXPECT_EQ((BoxCopy{{one, two}, box}).peer(), 2);
  EXPECT_EQ((BoxCopy{{one, two, 0, true}, box}).gpu(), 2);
  EXPECT_EQ((BoxCopy{{one, two, 0, true}, box}).peer(), 1);
  EXPECT_TRUE((BoxCopy{{one, two}, box}).between_gpus());
  EXPECT_FALSE((BoxCopy{{one, one}, box}).between_gpus());
  EXPECT_FALSE((BoxCopy{{host, one}, box}).between_gpus());
  EXPECT_EQ(end_bytes({{host, one}, box, BoxMethod::copy_3d}), guarded_bytes(box));
  EXPECT_EQ(end_bytes({{host, one}, box, BoxMethod::pack}), guarded_bytes(box) + box.bytes());
}

}  // namespace
namespace {

using Memory = std::vector<std::byte>;

constexpr PageOrder kOrders[] = {PageOrder::drawn, PageOrder::sorted, PageOrder::runs, PageOrder::packed};

Memory filled_pool(const Pages& pages, const PagePool& pool, std::uint32_t seed) {
  Memory memory(pages.memory_bytes(pool));
  fill_pattern(reinterpret_cast<std::uint32_t*>(memory.data()), memory.size() / 4, seed);
  return memory;
}

// What the copies of all pages but `without` leave at the destination.
Memory moved_pages(const Pages& pages, std::uint64_t without = UINT64_MAX) {
  const Memory source = filled_pool(pages, pages.source, kPayload);
  Memory memory = filled_pool(pages, pages.destination, kPoison);
  const auto from = source_table(pages);
  const auto to = destination_table(pages);
  for (std::size_t i = 0; i < pages.count; ++i) {
    for (std::uint64_t x = 0; x < pages.page_bytes && i != without; ++x) {
      memory[256 + to[i] * pages.page_bytes + x] = source[256 + from[i] * pages.page_bytes + x];
    }
  }
  return memory;
}

Pages usual_pages(std::uint64_t page_bytes, std::uint64_t count, PageOrder order = PageOrder::drawn) {
  return {page_bytes, count, usual_pool(order, count), usual_pool(order, count)};
}

Pages random_pages(std::mt19937& random) {
  const auto order = [&] { return kOrders[random() % 4]; };
  Pages pages = usual_pages(1 + random() % 100, 1 + random() % 40);
  pages.source = usual_pool(order(), pages.count);
  pages.destination = usual_pool(order(), pages.count);
  pages.source.slots += random() % 9;
  pages.destination.slots += random() % 9;
  return pages;
}

TEST(PageTables, give_each_page_a_slot_of_its_own_the_same_each_time) {
  for (const PageOrder order : kOrders) {
    for (const std::uint64_t count : {1U, 2U, 15U, 16U, 17U, 31U, 64U, 1000U}) {
      SCOPED_TRACE(std::string(name(order)) + " " + std::to_string(count));
      const Pages pages = usual_pages(4096, count, order);
      EXPECT_NO_THROW(require_possible(pages));
      for (const auto& table : {source_table(pages), destination_table(pages)}) {
        EXPECT_EQ(table.size(), count);
        EXPECT_EQ(std::set<std::uint64_t>(table.begin(), table.end()).size(), count);
        EXPECT_LT(*std::max_element(table.begin(), table.end()), pages.source.slots);
      }
      EXPECT_EQ(source_table(pages), source_table(pages));
    }
  }
}

TEST(PageTables, drawn_are_in_no_order_spread_over_the_pool_and_different_at_both_ends) {
  const Pages pages = usual_pages(4096, 1000);
  const auto table = source_table(pages);
  EXPECT_NE(table, destination_table(pages));
  EXPECT_FALSE(std::is_sorted(table.begin(), table.end()));
  const auto in_first_half = std::count_if(table.begin(), table.end(), [](auto slot) { return slot < 1000; });
  EXPECT_GT(in_first_half, 400);
  EXPECT_LT(in_first_half, 600);
}

TEST(PageTables, sorted_ascend_over_the_same_slots_as_drawn) {
  const Pages sorted = usual_pages(4096, 1000, PageOrder::sorted);
  auto drawn = source_table(usual_pages(4096, 1000));
  EXPECT_FALSE(std::is_sorted(drawn.begin(), drawn.end()));
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(source_table(sorted), drawn);
}

TEST(PageTables, of_runs_have_sixteen_neighbours_at_a_time_and_runs_in_no_order) {
  const Pages pages = usual_pages(4096, 1000, PageOrder::runs);
  for (const auto& table : {source_table(pages), destination_table(pages)}) {
    std::uint64_t ascending = 0;
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (i % 16 != 0) {
        EXPECT_EQ(table[i], table[i - 1] + 1) << i;
      } else if (i > 0) {
        ascending += table[i] > table[i - 1] ? 1 : 0;
      }
    }
    EXPECT_GT(ascending, 10U);
    EXPECT_LT(ascending, 50U);
  }
}

TEST(PageTables, packed_begin_at_the_pools_beginning) {
  const auto table = source_table(usual_pages(4096, 5, PageOrder::packed));
  EXPECT_EQ(table, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

TEST(PagePools, have_as_much_free_as_taken_unless_they_are_packed) {
  for (const PageOrder order : kOrders) {
    const Pages pages = usual_pages(100, 10, order);
    EXPECT_EQ(pages.source.slots, order == PageOrder::packed ? 10U : 20U);
    EXPECT_EQ(pages.bytes(), 1000U);
    EXPECT_EQ(pages.slot_offset(3), 256U + 300U);
    EXPECT_EQ(pages.memory_bytes(pages.source), 512U + 100 * pages.source.slots);
  }
}

TEST(PagePools, that_have_no_room_or_cannot_be_are_refused) {
  const auto pool = [](PageOrder order, std::uint64_t slots) { return PagePool{order, slots}; };
  EXPECT_NO_THROW(require_possible(Pages{1, 1, {}, {}}));
  EXPECT_NO_THROW(require_possible(Pages{1, 17, pool(PageOrder::runs, 32), pool(PageOrder::drawn, 17)}));
  for (const Pages& pages :
       {Pages{0, 1, {}, {}}, Pages{1, 0, {}, {}}, Pages{1, 2, {}, pool(PageOrder::drawn, 2)},
        Pages{1, 2, pool(PageOrder::drawn, 2), {}},
        Pages{1, 17, pool(PageOrder::runs, 31), pool(PageOrder::drawn, 17)},
        Pages{1, 1, pool(PageOrder::drawn, UINT64_MAX), {}},
        Pages{std::uint64_t{1} << 60, 1, pool(PageOrder::drawn, 4), {}}}) {
    EXPECT_THROW(require_possible(pages), UsageError) << pages.page_bytes << " " << pages.count;
  }
}

TEST(PageCheck, agrees_with_serial_copies_of_any_pages) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Pages pages = random_pages(random);
    EXPECT_FALSE(find_page_mismatch(moved_pages(pages).data(), pages).has_value()) << i;
  }
}

TEST(PageCheck, finds_any_single_byte_that_is_wrong_in_a_page_or_elsewhere) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const Pages pages = random_pages(random);
    Memory memory = moved_pages(pages);
    const std::uint64_t place = random() % memory.size();
    memory[place] ^= std::byte{0x40};
    EXPECT_EQ(find_page_mismatch(memory.data(), pages), place) << i;
  }
}

TEST(PageCheck, catches_a_missing_page_whichever_it_is) {
  const Pages pages = usual_pages(256, 20);
  for (std::uint64_t without = 0; without < pages.count; ++without) {
    EXPECT_TRUE(find_page_mismatch(moved_pages(pages, without).data(), pages).has_value()) << without;
  }
  EXPECT_TRUE(find_page_mismatch(filled_pool(pages, pages.destination, kPoison).data(), pages).has_value());
}

TEST(PageCheck, catches_pages_that_changed_places) {
  const Pages pages = usual_pages(256, 20);
  Memory memory = moved_pages(pages);
  const auto to = destination_table(pages);
  const auto at = [&](std::size_t page) {
    return memory.begin() + static_cast<std::ptrdiff_t>(pages.slot_offset(to[page]));
  };
  std::swap_ranges(at(3), at(3) + 256, at(7));
  EXPECT_TRUE(find_page_mismatch(memory.data(), pages).has_value());
}

// Copies as merged, of pages at these places of two memories.
std::vector<PieceCopy> merged_of(const std::vector<std::pair<int, int>>& places) {
  static std::byte to[1000];
  static const std::byte from[1000] = {};
  std::vector<PieceCopy> pieces;
  pieces.reserve(places.size());
  for (const auto& [at, source] : places) {
    pieces.push_back({to + at, from + source, 10});
  }
  std::vector<PieceCopy> merged{{nullptr, nullptr, 1}};
  merge_runs(pieces, merged);
  for (PieceCopy& piece : merged) {
    piece.to = reinterpret_cast<std::byte*>(piece.to - to);
    piece.from = reinterpret_cast<const std::byte*>(piece.from - from);
  }
  return merged;
}

PieceCopy piece_at(std::uintptr_t to, std::uintptr_t from, std::uint64_t bytes) {
  return {reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from), bytes};
}

TEST(Runs, are_merged_where_pages_are_neighbours_at_both_ends_and_nowhere_else) {
  EXPECT_TRUE(merged_of({}).empty());
  EXPECT_EQ(merged_of({{50, 20}}), (std::vector{piece_at(50, 20, 10)}));
  EXPECT_EQ(merged_of({{0, 20}, {10, 30}, {20, 40}}), (std::vector{piece_at(0, 20, 30)}));
  // Neighbours at one end alone, in the other direction, or with a page between.
  EXPECT_EQ(merged_of({{0, 20}, {10, 40}}).size(), 2U);
  EXPECT_EQ(merged_of({{0, 20}, {20, 30}}).size(), 2U);
  EXPECT_EQ(merged_of({{10, 30}, {0, 20}}).size(), 2U);
  EXPECT_EQ(merged_of({{0, 20}, {500, 500}, {10, 30}}).size(), 3U);
  EXPECT_EQ(merged_of({{0, 20}, {10, 30}, {90, 40}, {100, 50}}),
            (std::vector{piece_at(0, 20, 20), piece_at(90, 40, 20)}));
}

TEST(Runs, merged_have_as_many_copies_as_there_are_runs) {
  const Pages pages = usual_pages(8, 160, PageOrder::runs);
  Memory to(pages.memory_bytes(pages.destination));
  const Memory from(pages.memory_bytes(pages.source));
  std::vector<PieceCopy> pieces;
  for (std::size_t i = 0; i < pages.count; ++i) {
    pieces.push_back({to.data() + pages.slot_offset(destination_table(pages)[i]),
                      from.data() + pages.slot_offset(source_table(pages)[i]), 8});
  }
  std::vector<PieceCopy> merged;
  merge_runs(pieces, merged);
  // Two runs may be neighbours by chance.
  EXPECT_LE(merged.size(), 10U);
  EXPECT_GE(merged.size(), 8U);
}

constexpr PageMethod kMethods[] = {PageMethod::one_by_one, PageMethod::batch,      PageMethod::batch_merged,
                                   PageMethod::graph,      PageMethod::kernel,     PageMethod::bulk,
                                   PageMethod::staged,     PageMethod::cpu_gather, PageMethod::relay};

TEST(PageMethods, and_orders_have_names_of_their_own) {
  std::set<std::string> names;
  for (const PageMethod method : kMethods) {
    EXPECT_TRUE(names.insert(name(method)).second) << name(method);
  }
  for (const PageOrder order : kOrders) {
    EXPECT_TRUE(names.insert(name(order)).second) << name(order);
  }
}

// By GPU 2 and GPU 3 beside the one of the route, where the method is one that takes others.
Relay usual_relay(PageMethod method) {
  return {.gpus = method == PageMethod::relay ? std::uint64_t{0xc} : 0};
}

// Whether a method copies pages of 256 bytes that lie so at both ends.
bool copies(PageMethod method, const Route& route, PageOrder source, PageOrder destination) {
  PageCopy copy{route, usual_pages(256, 20), method, {}, usual_relay(method)};
  copy.pages.source = usual_pool(source, 20);
  copy.pages.destination = usual_pool(destination, 20);
  try {
    require_possible(copy);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

TEST(PageCopies, are_staged_where_they_are_packed_on_the_host_and_gathered_by_the_cpu_where_not) {
  const Endpoint host = Endpoint::host(Placement::pinned, 0);
  const Endpoint one = Endpoint::gpu(Placement::device, 0);
  const Endpoint two = Endpoint::gpu(Placement::device, 1);
  constexpr auto kDrawn = PageOrder::drawn;
  constexpr auto kPacked = PageOrder::packed;
  for (const PageMethod method : kMethods) {
    SCOPED_TRACE(name(method));
    const bool staged = method == PageMethod::staged;
    const bool by_cpu = method == PageMethod::cpu_gather;
    const bool relay = method == PageMethod::relay;
    EXPECT_EQ(copies(method, {host, one}, kDrawn, kDrawn), !staged);
    EXPECT_EQ(copies(method, {one, host}, kDrawn, kDrawn), !staged);
    EXPECT_EQ(copies(method, {host, one}, kPacked, kDrawn), !by_cpu);
    EXPECT_EQ(copies(method, {one, host}, kDrawn, kPacked), !by_cpu);
    EXPECT_EQ(copies(method, {host, one}, kDrawn, kPacked), !staged);
    EXPECT_EQ(copies(method, {one, one}, kDrawn, kDrawn), !staged && !by_cpu && !relay);
    EXPECT_EQ(copies(method, {one, two}, kDrawn, kDrawn), !by_cpu && !relay);
    EXPECT_FALSE(copies(method, {one, two, 0, true}, kDrawn, kDrawn));
  }
}

TEST(PageCopies, take_blocks_where_a_kernel_has_them_and_multiples_of_16_bytes_in_bulk) {
  const Route route{Endpoint::host(Placement::pinned, 0), Endpoint::gpu(Placement::device, 0)};
  for (const PageMethod method : kMethods) {
    SCOPED_TRACE(name(method));
    const bool direct = method != PageMethod::staged;
    const bool blocks =
        method == PageMethod::kernel || method == PageMethod::bulk || method == PageMethod::relay;
    const auto refuses = [&](std::uint64_t page_bytes, std::optional<unsigned> number) {
      try {
        require_possible(PageCopy{route, usual_pages(page_bytes, 20), method, number, usual_relay(method)});
        return false;
      } catch (const UsageError&) {
        return true;
      }
    };
    EXPECT_EQ(refuses(256, {}), !direct);
    EXPECT_EQ(refuses(256, 4), !blocks);
    EXPECT_TRUE(refuses(256, 0));
    EXPECT_EQ(refuses(24, {}), !direct || method == PageMethod::bulk);
  }
}

TEST(PageCopies, that_stage_take_a_buffer_beside_each_pool_that_is_not_packed) {
  const Route route{Endpoint::host(Placement::pinned, 0), Endpoint::gpu(Placement::device, 0)};
  const PageCopy copy{route, usual_pages(256, 20), PageMethod::cpu_gather, {}};
  EXPECT_EQ(stage_bytes(copy, copy.pages.source), 20 * 256U);
  EXPECT_EQ(stage_bytes(copy, usual_pool(PageOrder::packed, 20)), 0U);
  EXPECT_EQ(stage_bytes({route, copy.pages, PageMethod::kernel, {}}, copy.pages.source), 0U);
}

TEST(RelayedPages, are_as_many_for_each_neighbour_and_leave_some_to_the_gpu) {
  const Route route{Endpoint::host(Placement::pinned, 0), Endpoint::gpu(Placement::device, 0)};
  for (const std::uint64_t gpus : {2U, 6U, 0xfeU}) {
    const auto neighbours = static_cast<std::uint64_t>(std::popcount(gpus));
    for (const std::uint64_t count : {neighbours + 1, neighbours + 2, std::uint64_t{1000}}) {
      for (const int share : {1, 33, 50, 99}) {
        SCOPED_TRACE(std::to_string(gpus) + " " + std::to_string(count) + " " + std::to_string(share));
        const PageCopy copy{
            route, usual_pages(64, count), PageMethod::relay, {}, {.gpus = gpus, .share = share}};
        ASSERT_NO_THROW(require_possible(copy));
        const std::uint64_t relayed = relayed_pages(copy);
        EXPECT_EQ(relayed % neighbours, 0U);
        EXPECT_GE(relayed, neighbours);
        EXPECT_LT(relayed, count);
        if (count == 1000) {
          EXPECT_NEAR(static_cast<double>(relayed), 10.0 * share, static_cast<double>(neighbours));
        }
      }
    }
  }
  EXPECT_EQ(relayed_pages({route, usual_pages(64, 10), PageMethod::kernel, {}}), 0U);
}

TEST(RelayedPages, that_cannot_be_are_refused_with_the_reason) {
  const Endpoint host = Endpoint::host(Placement::pinned, 0);
  const Endpoint card = Endpoint::gpu(Placement::device, 0);
  const auto reason = [&](PageMethod method, std::uint64_t count, const Relay& relay) {
    try {
      require_possible(PageCopy{{card, host}, usual_pages(64, count), method, {}, relay});
      return std::string();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(reason(PageMethod::relay, 2, {.gpus = 2}), "");
  EXPECT_NE(reason(PageMethod::relay, 20, {}).find("needs other GPUs"), std::string::npos);
  EXPECT_NE(reason(PageMethod::kernel, 20, {.gpus = 2}).find("takes no other GPUs"), std::string::npos);
  EXPECT_NE(reason(PageMethod::relay, 20, {.gpus = 3}).find("is an end of the copy"), std::string::npos);
  EXPECT_NE(reason(PageMethod::relay, 2, {.gpus = 6}).find("too few"), std::string::npos);
  EXPECT_NE(reason(PageMethod::relay, 20, {.gpus = 2, .share = 100}).find("99 percent"), std::string::npos);
}

}  // namespace
}  // namespace grainscope::transfer
