#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
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

Memory filled_batch(const Batch& batch, std::uint32_t seed) {
  Memory memory(batch.memory_bytes());
  fill_pattern(reinterpret_cast<std::uint32_t*>(memory.data()), memory.size() / 4, seed);
  return memory;
}

// What the copies of all pieces but `without` leave at the destination.
Memory moved_batch(const Batch& batch, std::uint64_t without = UINT64_MAX) {
  const Memory source = filled_batch(batch, kPayload);
  Memory memory = filled_batch(batch, kPoison);
  const auto from = source_slots(batch.pieces);
  const auto to = destination_slots(batch.pieces);
  for (std::size_t i = 0; i < batch.pieces; ++i) {
    for (std::uint64_t x = 0; x < batch.piece_bytes && i != without; ++x) {
      memory[batch.slot_offset(to[i]) + x] = source[batch.slot_offset(from[i]) + x];
    }
  }
  return memory;
}

Batch random_batch(std::mt19937& random) {
  const std::uint64_t piece = 1 + random() % 100;
  return {piece, 1 + random() % 20, piece + random() % 50};
}

TEST(Batches, scatter_pieces_with_gaps_at_least_as_large) {
  for (const std::uint64_t piece : {1U, 64U, 100U, 4096U, 65536U}) {
    const Batch batch = scattered(piece, 10);
    EXPECT_GE(batch.slot_bytes, 2 * piece);
    EXPECT_GE(batch.slot_bytes, piece + 64);
    EXPECT_EQ(batch.slot_bytes % 64, 0U);
    EXPECT_EQ(batch.bytes(), 10 * piece);
    EXPECT_GE(batch.memory_bytes(), batch.slot_offset(10));
  }
}

TEST(Batches, order_their_pieces_differently_at_both_ends_and_the_same_each_time) {
  for (const std::uint64_t pieces : {1U, 2U, 64U, 1000U}) {
    for (const auto& slots : {source_slots(pieces), destination_slots(pieces)}) {
      EXPECT_EQ(std::set<std::uint64_t>(slots.begin(), slots.end()).size(), pieces);
      EXPECT_EQ(*std::max_element(slots.begin(), slots.end()), pieces - 1);
    }
  }
  EXPECT_NE(source_slots(1000), destination_slots(1000));
  EXPECT_EQ(source_slots(1000), source_slots(1000));
  const auto slots = source_slots(1000);
  EXPECT_FALSE(std::is_sorted(slots.begin(), slots.end()));
}

TEST(Batches, that_cannot_be_are_refused) {
  EXPECT_NO_THROW(require_possible(Batch{1, 1, 1}));
  for (const Batch& batch : {Batch{0, 1, 1}, Batch{1, 0, 1}, Batch{9, 1, 8}, Batch{1, UINT64_MAX, 1},
                             Batch{1, 4096, std::uint64_t{1} << 50}}) {
    EXPECT_THROW(require_possible(batch), UsageError);
  }
}

TEST(BatchCheck, agrees_with_serial_copies_of_any_batch) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Batch batch = random_batch(random);
    EXPECT_FALSE(find_batch_mismatch(moved_batch(batch).data(), batch).has_value()) << i;
  }
}

TEST(BatchCheck, finds_any_single_byte_that_is_wrong_in_a_piece_or_a_gap) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const Batch batch = random_batch(random);
    Memory memory = moved_batch(batch);
    const std::uint64_t place = random() % memory.size();
    memory[place] ^= std::byte{0x40};
    EXPECT_EQ(find_batch_mismatch(memory.data(), batch), place) << i;
  }
}

TEST(BatchCheck, catches_a_missing_piece_whichever_it_is) {
  const Batch batch = scattered(256, 20);
  for (std::uint64_t without = 0; without < batch.pieces; ++without) {
    EXPECT_TRUE(find_batch_mismatch(moved_batch(batch, without).data(), batch).has_value()) << without;
  }
  EXPECT_TRUE(find_batch_mismatch(filled_batch(batch, kPoison).data(), batch).has_value());
}

TEST(BatchCheck, catches_pieces_that_changed_places) {
  const Batch batch = scattered(256, 20);
  Memory memory = moved_batch(batch);
  const auto to = destination_slots(batch.pieces);
  std::swap_ranges(memory.begin() + static_cast<std::ptrdiff_t>(batch.slot_offset(to[3])),
                   memory.begin() + static_cast<std::ptrdiff_t>(batch.slot_offset(to[3]) + 256),
                   memory.begin() + static_cast<std::ptrdiff_t>(batch.slot_offset(to[7])));
  EXPECT_TRUE(find_batch_mismatch(memory.data(), batch).has_value());
}

TEST(BatchMethods, have_names_of_their_own) {
  std::set<std::string> names;
  for (const BatchMethod method :
       {BatchMethod::one_by_one, BatchMethod::batch, BatchMethod::graph, BatchMethod::kernel}) {
    EXPECT_TRUE(names.insert(name(method)).second) << name(method);
  }
}

}  // namespace
}  // namespace grainscope::transfer
