// What all families rest on: gates, memory and its budget, patterns, and the access of one GPU to another.

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/managed_counter.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::cuda {
namespace {

using namespace std::chrono_literals;

class Gates : public GpuTest {};

TEST_F(Gates, holds_the_stream_until_it_is_opened) {
  const Stream stream;
  Gate gate;
  gate.close(stream);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  gate.open();
  stream.synchronize();
  EXPECT_NO_THROW(gate.check_opened_in_time());
}

TEST_F(Gates, leaves_by_its_clock_and_says_so) {
  const Stream stream;
  Gate gate(0.02);
  gate.close(stream);
  stream.synchronize();
  EXPECT_THROW(gate.check_opened_in_time(), FailedError);
}

TEST_F(Gates, can_be_closed_again_after_a_time_out) {
  const Stream stream;
  Gate gate(0.02);
  gate.close(stream);
  stream.synchronize();
  gate.close(stream);
  gate.open();
  stream.synchronize();
  EXPECT_NO_THROW(gate.check_opened_in_time());
}

TEST_F(Gates, stopwatch_does_not_count_what_the_host_does_while_it_submits) {
  const Stream stream;
  const DeviceBuffer buffer(0, kMiB);
  GatedStopwatch stopwatch;
  const double seconds = stopwatch.time_s(stream, [&] {
    check(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream.get()), "clear a buffer");
    std::this_thread::sleep_for(30ms);
  });
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 5e-3);
}

TEST_F(Gates, stopwatch_opens_its_gate_when_submitting_throws) {
  const Stream stream;
  GatedStopwatch stopwatch;
  EXPECT_THROW(static_cast<void>(stopwatch.time_s(stream, [] { throw FailedError("planted"); })),
               FailedError);
  // A gate left closed would hold this for its whole time-out.
  const auto start = std::chrono::steady_clock::now();
  stream.synchronize();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST_F(Gates, hold_several_streams_and_open_at_a_moment_of_the_steady_clock) {
  Gate gate;
  const Stream streams[2];
  const Event starts[2];
  const Event stops[2];
  const DeviceBuffer buffer(0, kMiB);
  std::vector<GatedWork> works;
  for (int i = 0; i < 2; ++i) {
    const auto clear = [&, i] {
      check(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), streams[i].get()), "clear a buffer");
    };
    works.push_back({&streams[i], clear, &starts[i], &stops[i], 0});
  }
  GatedRun run(gate, works);
  for (const Stream& stream : streams) {
    EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  }
  const double start_s = steady_now_s() + 0.01;
  const GatedRun::Times times = run.open(start_s);
  EXPECT_GE(times.begun_s, start_s);
  EXPECT_GE(times.opened_s, times.begun_s);
  EXPECT_GT(times.ended_s, times.opened_s);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(stops[i].done());
    EXPECT_GT(elapsed_s(starts[i], stops[i]), 0);
  }
}

TEST_F(Gates, open_where_a_run_goes_away_closed) {
  const Stream stream;
  Gate gate;
  const auto start = std::chrono::steady_clock::now();
  {
    const GatedRun run(gate, {{&stream, [] {}}});
  }
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

}  // namespace
namespace {

class Memory : public GpuTest {};

TEST_F(Memory, the_report_names_every_device) {
  for (const DeviceProperties& device : runtime().devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_TRUE(device.uuid.starts_with("GPU-"));
    EXPECT_GT(device.sm_count, 0);
    EXPECT_GT(device.total_memory_bytes, kGiB);
    EXPECT_GT(device.memory_clock_hz, 100'000'000U);
  }
}

TEST_F(Memory, a_buffer_larger_than_the_card_is_skipped_with_the_numbers) {
  try {
    const DeviceBuffer buffer(0, runtime().devices[0].total_memory_bytes);
    FAIL() << "more than the card was allocated";
  } catch (const SkipError& error) {
    EXPECT_NE(std::string(error.what()).find("GiB"), std::string::npos) << error.what();
  }
}

TEST_F(Memory, that_is_held_is_not_free_until_it_is_let_go) {
  const std::uint64_t before = free_memory(0);
  std::shared_ptr<void> held = hold_memory(0, before - 2 * kGiB);
  EXPECT_LE(free_memory(0), 2 * kGiB);
  EXPECT_THROW(const DeviceBuffer buffer(0, 2 * kGiB), SkipError);
  EXPECT_LE(ManagedBudget().available(0), kGiB / 2);
  held.reset();
  // Others on the card take and give back, too.
  EXPECT_GT(free_memory(0), 2 * kGiB);
}

// Several pieces, the last of them not whole; of one GPU and, where there are more, of all.
TEST_F(Memory, that_is_interleaved_keeps_what_is_written_over_all_of_its_pieces) {
  for (const std::vector<int>& gpus : {std::vector<int>{0, 0, 0}, reachable_gpus()}) {
    const std::uint64_t words = (5 * kMiB + 4096) / sizeof(std::uint32_t);
    const cuda::InterleavedBuffer memory(gpus, words * sizeof(std::uint32_t));
    EXPECT_EQ(memory.bytes() % (2 * kMiB), 0U);
    std::vector<std::uint32_t> written(words);
    std::iota(written.begin(), written.end(), 7U);
    cuda::check(cudaMemcpy(memory.data(), written.data(), words * sizeof(std::uint32_t), cudaMemcpyDefault),
                "write interleaved memory");
    std::vector<std::uint32_t> read(words);
    cuda::check(cudaMemcpy(read.data(), memory.data(), words * sizeof(std::uint32_t), cudaMemcpyDefault),
                "read interleaved memory");
    EXPECT_EQ(read, written);
  }
  EXPECT_THROW(cuda::InterleavedBuffer({}, kMiB), UsageError);
  EXPECT_THROW(cuda::InterleavedBuffer({0}, std::uint64_t{1} << 50), SkipError);
}

// Of three and five units: addresses begin at a power of two, whatever the size.
TEST_F(Memory, of_the_host_by_the_driver_has_any_size) {
  for (const std::uint64_t bytes : {6 * kMiB, 10 * kMiB}) {
    try {
      const cuda::HostVmmBuffer memory(0, 0, bytes);
      EXPECT_GE(memory.bytes(), bytes);
      std::memset(memory.data(), 1, bytes);
    } catch (const SkipError& skip) {
      EXPECT_NE(std::string(skip.what()).find("cuMemCreate"), std::string::npos) << skip.what();
    }
  }
}

TEST_F(Memory, that_was_given_back_is_taken_again_where_it_is_large_enough) {
  PinnedReserve reserve;
  PinnedBuffer small = reserve.take(kMiB, 0);
  PinnedBuffer large = reserve.take(4 * kMiB, 0);
  const void* const of_small = small.data();
  const void* const of_large = large.data();
  reserve.give_back(std::move(large), 0);
  reserve.give_back(std::move(small), 0);
  // The smallest that fits; of another node, or larger than all, another.
  PinnedBuffer again = reserve.take(2 * kMiB, 0);
  EXPECT_EQ(again.data(), of_large);
  EXPECT_EQ(again.bytes(), 4 * kMiB);
  EXPECT_NE(reserve.take(kMiB, 1).data(), of_small);
  EXPECT_GE(reserve.take(8 * kMiB, 0).bytes(), 8 * kMiB);
  EXPECT_EQ(reserve.take(1, 0).data(), of_small);
}

TEST_F(Memory, a_failed_call_says_what_was_tried_and_what_came_back) {
  try {
    check(cudaSetDevice(1000), "make GPU 1000 current");
    FAIL() << "there is no such GPU";
  } catch (const FailedError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("make GPU 1000 current"), std::string::npos) << text;
    EXPECT_NE(text.find("cudaErrorInvalidDevice"), std::string::npos) << text;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Memory, a_guard_restores_the_device_that_was_current) {
  check(cudaSetDevice(0), "make GPU 0 current");
  { const DeviceGuard guard(static_cast<int>(runtime().devices.size()) - 1); }
  int current = -1;
  check(cudaGetDevice(&current), "read the current GPU");
  EXPECT_EQ(current, 0);
}

}  // namespace
namespace {

// 4 MiB of managed memory, whose pages the host has written.
class ManagedPages : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (!runtime().devices[0].concurrent_managed_access) {
      GTEST_SKIP() << "managed memory does not migrate on demand here";
    }
    pages_.emplace(budget_, 0, 4 * kMiB);
    std::memset(pages_->data(), 1, pages_->bytes());
  }

  ManagedBudget budget_;
  std::optional<ManagedBuffer> pages_;
};

// The proof that a managed sample rests on: pages leave the process's page table when they migrate.
TEST_F(ManagedPages, are_seen_to_leave_the_host_and_to_return) {
  const ManagedBuffer& buffer = *pages_;
  const Stream stream;
  auto presence = pages_present(buffer.data(), buffer.bytes());
  ASSERT_TRUE(presence.has_value());
  EXPECT_EQ(presence->absent, 0U);
  check(prefetch(buffer.data(), buffer.bytes(), Location::gpu(0), stream.get()), "prefetch to the GPU");
  stream.synchronize();
  presence = pages_present(buffer.data(), buffer.bytes());
  EXPECT_EQ(presence->present, 0U);
  std::memset(buffer.data(), 2, buffer.bytes());
  presence = pages_present(buffer.data(), buffer.bytes());
  EXPECT_EQ(presence->absent, 0U);
}

TEST_F(ManagedPages, that_move_are_counted_by_the_driver) {
  const ManagedBuffer& buffer = *pages_;
  const Stream stream;
  std::string why_not;
  const auto counter = ManagedCounter::open(why_not);
  if (counter == nullptr) {
    GTEST_SKIP() << why_not;
  }
  EXPECT_EQ(counter->read().to_gpu_bytes, 0U);
  check(prefetch(buffer.data(), buffer.bytes(), Location::gpu(0), stream.get()), "prefetch to the GPU");
  stream.synchronize();
  EXPECT_EQ(counter->read().to_gpu_bytes, 4 * kMiB);
  EXPECT_EQ(counter->read().to_host_bytes, 0U);
  EXPECT_EQ(counter->read().gpu_faults, 0U);
  std::memset(buffer.data(), 2, buffer.bytes());
  EXPECT_EQ(counter->read().to_host_bytes, 4 * kMiB);
  static_cast<void>(find_mismatch(static_cast<const std::uint32_t*>(buffer.data()), 1, 0, stream));
  EXPECT_GT(counter->read().gpu_faults, 0U);
  EXPECT_EQ(counter->read().to_gpu_bytes % (64 * kKiB), 0U);
  EXPECT_GT(counter->read().to_gpu_bytes, 4 * kMiB);
  // Another one begins anew, and the first goes on.
  const auto other = ManagedCounter::open(why_not);
  ASSERT_NE(other, nullptr) << why_not;
  EXPECT_EQ(other->read().to_gpu_bytes, 0U);
}

}  // namespace
namespace {

class ManagedBudgets : public GpuTest {};

TEST_F(ManagedBudgets, refuses_more_than_a_quarter_of_what_is_free) {
  ManagedBudget budget;
  const std::uint64_t quarter = memory_info(0).free_bytes / 4;
  EXPECT_THROW(ManagedBuffer(budget, 0, quarter + kMiB), SkipError);
}

TEST_F(ManagedBudgets, counts_all_live_allocations_together) {
  ManagedBudget budget;
  const std::uint64_t part = memory_info(0).free_bytes / 4 / 4 * 3;
  budget.reserve(0, part);
  EXPECT_THROW(budget.reserve(0, part), SkipError);
  budget.release(0, part);
  EXPECT_NO_THROW(budget.reserve(0, part));
}

TEST_F(ManagedBudgets, gets_back_what_a_buffer_held) {
  ManagedBudget budget;
  const std::uint64_t before = budget.available(0);
  { const ManagedBuffer buffer(budget, 0, kMiB); }
  EXPECT_NEAR(static_cast<double>(budget.available(0)), static_cast<double>(before), 8.0 * kMiB);
}

TEST_F(ManagedBudgets, is_lifted_only_on_request) {
  const ManagedBudget lifted(true);
  EXPECT_EQ(lifted.available(0), UINT64_MAX);
}

}  // namespace
namespace {

class Patterns : public GpuTest {};

std::vector<std::uint32_t> read_back(const DeviceBuffer& buffer, std::size_t words) {
  std::vector<std::uint32_t> host(words);
  check(cudaMemcpy(host.data(), buffer.data(), words * 4, cudaMemcpyDeviceToHost), "read a buffer back");
  return host;
}

TEST_F(Patterns, the_gpu_writes_what_the_host_computes) {
  const Stream stream;
  for (const std::size_t words : {1U, 31U, 1000U, 300'001U}) {
    const DeviceBuffer buffer(0, words * 4);
    fill_pattern(static_cast<std::uint32_t*>(buffer.data()), words, 7, stream);
    const auto host = read_back(buffer, words);
    EXPECT_FALSE(grainscope::find_mismatch(host.data(), words, 7).has_value()) << words;
  }
}

TEST_F(Patterns, a_part_of_the_pattern_begins_where_it_is_told_to) {
  constexpr std::size_t kWords = 1000;
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 100;  // across the index's upper half
  const Stream stream;
  const DeviceBuffer buffer(0, kWords * 4);
  fill_pattern(static_cast<std::uint32_t*>(buffer.data()), kWords, 7, stream, kFirst);
  const auto host = read_back(buffer, kWords);
  for (std::size_t i = 0; i < kWords; ++i) {
    ASSERT_EQ(host[i], pattern_word(kFirst + i, 7)) << i;
  }
}

TEST_F(Patterns, a_planted_wrong_word_is_found_wherever_it_is) {
  constexpr std::size_t kWords = 300'001;
  const Stream stream;
  const DeviceBuffer buffer(0, kWords * 4);
  auto* data = static_cast<std::uint32_t*>(buffer.data());
  for (const std::size_t place : {std::size_t{0}, std::size_t{123'456}, kWords - 1}) {
    fill_pattern(data, kWords, 7, stream);
    ASSERT_FALSE(find_mismatch(data, kWords, 7, stream).has_value());
    const std::uint32_t wrong = ~pattern_word(place, 7);
    check(cudaMemcpy(data + place, &wrong, 4, cudaMemcpyHostToDevice), "plant a wrong word");
    EXPECT_EQ(find_mismatch(data, kWords, 7, stream), place);
  }
}

TEST_F(Patterns, the_first_of_several_wrong_words_is_named) {
  constexpr std::size_t kWords = 1 << 20;
  const Stream stream;
  const DeviceBuffer buffer(0, kWords * 4);
  auto* data = static_cast<std::uint32_t*>(buffer.data());
  fill_pattern(data, kWords, 7, stream);
  check(cudaMemset(data + 5000, 0, 4 * 600'000), "spoil a stretch");
  EXPECT_EQ(find_mismatch(data, kWords, 7, stream), 5000U);
}

}  // namespace
namespace {

class PeerAccesses : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    for (const PeerLink& link : runtime().peers) {
      if (link.access) {
        link_ = link;
        return;
      }
    }
  }

  // Whether kernels on the link's first GPU reach the other's memory now. Enabling it once more tells.
  [[nodiscard]] bool is_enabled() const {
    const DeviceGuard guard(link_->from);
    const cudaError_t status = cudaDeviceEnablePeerAccess(link_->to, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());
      return true;
    }
    check(status, "enable peer access");
    check(cudaDeviceDisablePeerAccess(link_->to), "disable peer access");
    return false;
  }

  std::optional<PeerLink> link_;
};

constexpr const char* kNeedsTwo = "needs two GPUs that can reach each other";

TEST_F(PeerAccesses, a_gpu_is_no_peer_of_itself) {
  try {
    const PeerAccess access(0, 0);
    FAIL() << "access to oneself was enabled";
  } catch (const SkipError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaDeviceCanAccessPeer"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(PeerAccesses, a_gpu_that_does_not_exist_is_an_error) {
  EXPECT_THROW(PeerAccess(0, 1000), FailedError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(PeerAccesses, are_there_while_it_lives_and_gone_after) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  EXPECT_FALSE(is_enabled());
  {
    const PeerAccess access(link_->from, link_->to);
    EXPECT_TRUE(access.enabled_here());
    EXPECT_TRUE(is_enabled());
  }
  EXPECT_FALSE(is_enabled());
}

TEST_F(PeerAccesses, what_was_enabled_before_stays_enabled) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  const PeerAccess outer(link_->from, link_->to);
  {
    const PeerAccess inner(link_->from, link_->to);
    EXPECT_FALSE(inner.enabled_here());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_TRUE(is_enabled());
}

TEST_F(PeerAccesses, a_kernel_writes_and_reads_the_peers_memory) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  const PeerAccess access(link_->from, link_->to);
  const DeviceBuffer memory(link_->to, 1 << 20);
  auto* words = static_cast<std::uint32_t*>(memory.data());
  {
    const DeviceGuard guard(link_->from);
    const Stream stream;
    fill_pattern(words, (1 << 20) / 4, 5, stream);
  }
  const DeviceGuard guard(link_->to);
  const Stream stream;
  EXPECT_FALSE(find_mismatch(words, (1 << 20) / 4, 5, stream).has_value());
}

TEST_F(PeerAccesses, the_device_that_was_current_stays_current) {
  if (!link_) {
    GTEST_SKIP() << kNeedsTwo;
  }
  const DeviceGuard guard(link_->to);
  { const PeerAccess access(link_->from, link_->to); }
  int current = -1;
  check(cudaGetDevice(&current), "read the current GPU");
  EXPECT_EQ(current, link_->to);
}

}  // namespace
}  // namespace grainscope::cuda
