#include "grainscope/system/cache_flush.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope {
namespace {

constexpr double kProof = 5;

// A buffer of half the second-level cache at most, in which each line holds the index of another: one random
// ring through all of them, so that no prefetcher can guess the next load.
class Chase {
 public:
  // `padding` bytes that are never loaded lie before the ring.
  explicit Chase(std::size_t padding = 0) {
    const std::size_t l2 = Topology::read().cache_bytes(2).value_or(std::uint64_t{512} << 10);
    bytes_ = std::min<std::size_t>(l2 / 2, std::size_t{256} << 10);
    line_ = std::max<std::size_t>(cache_line_bytes(), 64);
    storage_.resize(padding + bytes_ + line_);
    const auto begin = reinterpret_cast<std::uintptr_t>(storage_.data());
    data_ = storage_.data() + padding + ((begin + line_ - 1) / line_ * line_ - begin);
    std::vector<std::uint32_t> order(lines());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), std::mt19937(12345));
    for (std::size_t i = 0; i < order.size(); ++i) {
      at(order[i]) = order[(i + 1) % order.size()];
    }
  }

  // Seconds for one load of a walk through every line.
  double walk() {
    std::uint32_t line = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t step = 0; step < lines(); ++step) {
      line = at(line);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(line, 0U) << "the ring was not closed";
    return took.count() / static_cast<double>(lines());
  }

  [[nodiscard]] std::size_t lines() const { return bytes_ / line_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  char* data_ = nullptr;

 private:
  std::uint32_t& at(std::size_t line) { return *reinterpret_cast<std::uint32_t*>(data_ + line * line_); }

  std::size_t bytes_ = 0, line_ = 0;
  std::vector<char> storage_;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// How many times longer a load takes after `flush` than with the buffer in the cache.
double slowdown(Chase& chase, const std::function<void()>& flush) {
  std::vector<double> warm, flushed;
  for (int round = 0; round < 41; ++round) {
    chase.walk();
    warm.push_back(chase.walk());
    flush();
    flushed.push_back(chase.walk());
  }
  return median(flushed) / median(warm);
}

// The largest slowdown of a few attempts: a neighbour that thrashes the shared caches can spoil the warm
// walks of one attempt, and nothing but an eviction slows the others by the proof's factor.
double proof(Chase& chase, const std::function<void()>& flush) {
  double best = 0;
  for (int attempt = 0; attempt < 5 && best < kProof; ++attempt) {
    best = std::max(best, slowdown(chase, flush));
  }
  return best;
}

class CacheFlush : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_flush()) {
      GTEST_SKIP() << "this architecture cannot flush from user space";
    }
  }
  Chase chase_;
};

TEST_F(CacheFlush, evicts_the_buffer) {
  const double ratio = proof(chase_, [&] { flush_cache(chase_.data_, chase_.bytes()); });
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_GE(ratio, kProof);
}

TEST_F(CacheFlush, evicts_the_buffer_with_several_threads) {
  EXPECT_GE(proof(chase_, [&] { flush_cache(chase_.data_, chase_.bytes(), 3); }), kProof);
}

TEST_F(CacheFlush, evicts_the_share_of_each_thread) {
  // The ring is the last third of what three threads flush, then the middle one.
  const std::size_t third = chase_.bytes();
  Chase last(2 * third);
  EXPECT_GE(proof(last, [&] { flush_cache(last.data_ - 2 * third, 3 * third, 3); }), kProof);
  EXPECT_GE(proof(last, [&] { flush_cache(last.data_ - third, 2 * third, 2); }), kProof);
}

TEST_F(CacheFlush, of_the_pointers_own_stack_slot_does_not_pass_the_proof) {
  const double ratio = proof(chase_, [&] {
    char* pointer = chase_.data_;
    flush_cache(&pointer, sizeof pointer);
  });
  EXPECT_LT(ratio, kProof) << "the proof proves nothing";
}

TEST_F(CacheFlush, of_a_sixteenth_of_the_buffer_does_not_pass_the_proof) {
  EXPECT_LT(proof(chase_, [&] { flush_cache(chase_.data_, chase_.bytes() / 16); }), kProof);
}

TEST_F(CacheFlush, from_unaligned_bytes_evicts_both_end_lines) {
  const std::size_t line = cache_line_bytes();
  // One byte in every line names the whole line.
  const double ratio =
      proof(chase_, [&] { flush_cache(chase_.data_ + line - 1, chase_.bytes() - 2 * line + 2); });
  EXPECT_GE(ratio, kProof);
}

TEST_F(CacheFlush, keeps_what_was_written) {
  std::vector<int> numbers(100000);
  std::iota(numbers.begin(), numbers.end(), 0);
  flush_cache(numbers.data(), numbers.size() * sizeof(int), 2);
  for (int i = 0; i < static_cast<int>(numbers.size()); ++i) {
    ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
  }
}

TEST_F(CacheFlush, takes_nothing_and_more_threads_than_lines) {
  char byte = 3;
  flush_cache(&byte, 0);
  flush_cache(&byte, 1, 64);
  EXPECT_EQ(byte, 3);
}

TEST_F(CacheFlush, refuses_no_threads) {
  EXPECT_THROW(flush_cache(chase_.data_, 64, 0), UsageError);
}

TEST_F(CacheFlush, names_its_instruction_and_its_line) {
  EXPECT_NE(flush_instruction(), "none");
  const std::size_t line = cache_line_bytes();
  EXPECT_TRUE(line >= 16 && line <= 4096 && (line & (line - 1)) == 0) << line;
}

}  // namespace
}  // namespace grainscope
