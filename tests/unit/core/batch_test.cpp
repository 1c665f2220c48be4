#include "grainscope/transfer/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

using Memory = std::vector<std::byte>;

Memory filled(const Batch& batch, std::uint32_t seed) {
  Memory memory(batch.memory_bytes());
  fill_pattern(reinterpret_cast<std::uint32_t*>(memory.data()), memory.size() / 4, seed);
  return memory;
}

// What the copies of all pieces but `without` leave at the destination.
Memory moved(const Batch& batch, std::uint64_t without = UINT64_MAX) {
  const Memory source = filled(batch, kPayload);
  Memory memory = filled(batch, kPoison);
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
    EXPECT_FALSE(find_batch_mismatch(moved(batch).data(), batch).has_value()) << i;
  }
}

TEST(BatchCheck, finds_any_single_byte_that_is_wrong_in_a_piece_or_a_gap) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const Batch batch = random_batch(random);
    Memory memory = moved(batch);
    const std::uint64_t place = random() % memory.size();
    memory[place] ^= std::byte{0x40};
    EXPECT_EQ(find_batch_mismatch(memory.data(), batch), place) << i;
  }
}

TEST(BatchCheck, catches_a_missing_piece_whichever_it_is) {
  const Batch batch = scattered(256, 20);
  for (std::uint64_t without = 0; without < batch.pieces; ++without) {
    EXPECT_TRUE(find_batch_mismatch(moved(batch, without).data(), batch).has_value()) << without;
  }
  EXPECT_TRUE(find_batch_mismatch(filled(batch, kPoison).data(), batch).has_value());
}

TEST(BatchCheck, catches_pieces_that_changed_places) {
  const Batch batch = scattered(256, 20);
  Memory memory = moved(batch);
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
