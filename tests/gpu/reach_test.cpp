// Gathers of rows far apart: memory of every kind, lists, sums, and a case as the suite would run it.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../testing/oracles.hpp"
#include "claim_cache.hpp"
#include "families.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/reach/row_gather.hpp"
#include "grainscope/system/topology.hpp"
#include "harness/link_peaks.hpp"
#include "harness/selection.hpp"

namespace grainscope::reach {
namespace {

// Small, so that spans of a few MiB lie in several: a transparent huge page.
constexpr std::uint64_t kChunk = 2 * kMiB;

// Any GPU that the first can read.
std::optional<int> peer_of_first(const cuda::RuntimeReport& runtime) {
  for (const cuda::PeerLink& link : runtime.peers) {
    if (link.from == 0 && link.access) {
      return link.to;
    }
  }
  return std::nullopt;
}

class Reach : public GpuTest {
 protected:
  [[nodiscard]] SpanRequest request_of(cuda::MemoryKind kind) const {
    SpanRequest request;
    request.memory.kind = kind;
    request.memory.home = kind == cuda::MemoryKind::peer ? peer_of_first(runtime()).value_or(0)
                                                         : topology_.usable_nodes().front();
    request.chunk_bytes = kChunk;
    return request;
  }

  // Memory of a kind, grown; nullptr, told of on the terminal, where this machine has none of it.
  [[nodiscard]] std::unique_ptr<SpanMemory> memory_of(cuda::MemoryKind kind, std::uint64_t bytes) const {
    if (kind == cuda::MemoryKind::peer && !peer_of_first(runtime())) {
      std::cout << "peer: there is no other GPU that the first can read\n";
      return nullptr;
    }
    auto memory = std::make_unique<SpanMemory>(surroundings(), request_of(kind));
    try {
      memory->grow(bytes);
    } catch (const SkipError& error) {
      std::cout << name(kind) << ": " << error.what() << '\n';
      return nullptr;
    } catch (const EnvironmentError& error) {
      std::cout << name(kind) << ": " << error.what() << '\n';
      return nullptr;
    }
    return memory;
  }

  // Words of a memory, as the copy engine sees them.
  [[nodiscard]] static std::vector<std::uint32_t> words_of(const SpanMemory& memory, std::size_t chunk) {
    std::vector<std::uint32_t> words(memory.request().chunk_bytes / 4);
    cuda::check(
        cudaMemcpy(words.data(), memory.device_chunks().at(chunk), words.size() * 4, cudaMemcpyDefault),
        "read a chunk");
    return words;
  }

  // Overwrites one word of the memory, counted from its beginning.
  static void plant(const SpanMemory& memory, std::uint64_t word, std::uint32_t value) {
    const std::uint64_t in_chunk = memory.request().chunk_bytes / 4;
    auto* chunk = static_cast<std::uint32_t*>(memory.device_chunks().at(word / in_chunk));
    cuda::check(cudaMemcpy(chunk + word % in_chunk, &value, 4, cudaMemcpyDefault), "plant a word");
  }

  // Everything that a gather must get right, against the oracle.
  static void expect_right(const SpanMemory& memory, const GatherRequest& request) {
    SCOPED_TRACE(std::string(name(memory.request().memory.kind)) + ", " + std::to_string(request.rows) +
                 " rows of " + std::to_string(request.row_bytes) +
                 (request.sorted ? " sorted" : " as asked"));
    const auto gather = make_row_gather(memory, request);
    std::uint64_t fewest = UINT64_MAX;
    for (int list = 0; list < kLists; ++list) {
      const std::vector<std::uint64_t> rows = row_list(request, list);
      EXPECT_EQ(gather->rows_of(list), rows);
      EXPECT_EQ(gather->sum_of(list), sum_of_rows(rows, request.row_bytes, kSpanSeed));
      fewest = std::min(fewest, distinct_rows(rows));
    }
    EXPECT_EQ(gather->unique_rows(), fewest);
    for (int turn = 0; turn < kLists + 1; ++turn) {
      EXPECT_GT(sample(*gather), 0);
    }
    EXPECT_FALSE(gather->verify().empty());
    EXPECT_TRUE(gather->timing().gated);
  }

  [[nodiscard]] cuda::Surroundings surroundings() const { return {&topology_, &budget_}; }

  const Topology topology_ = Topology::read();
  mutable cuda::ManagedBudget budget_;
};

GatherRequest gather_of(std::uint64_t row, std::uint64_t rows, std::uint64_t span, bool sorted = false) {
  GatherRequest request;
  request.row_bytes = row;
  request.rows = rows;
  request.span_bytes = span;
  request.sorted = sorted;
  return request;
}

TEST_F(Reach, every_row_and_order_from_every_memory_is_what_the_oracle_reads) {
  for (const cuda::MemoryKind kind : cuda::kMemoryKinds) {
    const auto memory = memory_of(kind, 4 * kChunk);
    for (std::uint64_t row = kSmallestRow; memory != nullptr && row <= kLargestRow; row *= 2) {
      for (const bool sorted : {false, true}) {
        expect_right(*memory, gather_of(row, 5000, 4 * kChunk, sorted));
      }
    }
  }
}

TEST_F(Reach, managed_memory_that_left_the_host_is_found_out) {
  const auto memory = memory_of(cuda::MemoryKind::managed_host, 4 * kChunk);
  if (memory == nullptr) {
    GTEST_SKIP() << "no managed memory is read in place here";
  }
  expect_right(*memory, gather_of(128, 5000, 4 * kChunk));
  EXPECT_NO_THROW(memory->expect_on_host());
  const cuda::Stream stream;
  cuda::check(cuda::prefetch(memory->device_chunks().at(2), kChunk, cuda::Location::gpu(0), stream.get()),
              "bring a chunk to the GPU");
  stream.synchronize();
  EXPECT_THROW(memory->expect_on_host(), FailedError);
}

TEST_F(Reach, several_gpus_read_one_memory_at_once_each_rows_of_its_own) {
  // Twice the same GPU where there is no other: two streams that one gate lets begin.
  const int other = runtime().devices.size() > 1 ? 1 : 0;
  for (const cuda::MemoryKind kind : {cuda::MemoryKind::host_alloc, cuda::MemoryKind::managed_host}) {
    SpanRequest request = request_of(kind);
    request.memory.others = std::uint64_t{1} << other;
    const std::uint64_t before_of_other = budget_.available(other, cuda::ManagedUse::stays_on_host);
    SpanMemory memory(surroundings(), request);
    try {
      memory.grow(4 * kChunk);
    } catch (const SkipError& error) {
      std::cout << cuda::name(kind) << ": " << error.what() << '\n';
      continue;
    }
    if (kind == cuda::MemoryKind::managed_host && other != 0) {
      EXPECT_EQ(budget_.available(other, cuda::ManagedUse::stays_on_host) + 4 * kChunk, before_of_other);
    }
    const GatherRequest rows = gather_of(128, 5000, 4 * kChunk);
    const auto both = make_row_gather(memory, rows, {other});
    const auto alone = make_row_gather(memory, rows);
    EXPECT_GT(both->unique_rows(), alone->unique_rows());
    EXPECT_NE(both->sum_of(0), 2 * alone->sum_of(0)) << "the same rows on both";
    EXPECT_THROW(static_cast<void>(both->verify()), FailedError) << "nothing was read";
    for (int turn = 0; turn < kLists + 1; ++turn) {
      EXPECT_GT(sample(*both), 0);
    }
    EXPECT_FALSE(both->verify().empty());
    memory.expect_on_host();
  }
}

TEST_F(Reach, managed_memory_goes_back_to_its_budget) {
  const std::uint64_t before = budget_.available(0, cuda::ManagedUse::stays_on_host);
  {
    const auto memory = memory_of(cuda::MemoryKind::managed_host, 4 * kChunk);
    if (memory == nullptr) {
      GTEST_SKIP() << "no managed memory is read in place here";
    }
    EXPECT_LT(budget_.available(0, cuda::ManagedUse::stays_on_host), before);
  }
  EXPECT_GE(budget_.available(0, cuda::ManagedUse::stays_on_host) + kMiB, before);
}

TEST_F(Reach, cudahostalloc_and_registered_memory_exist_wherever_a_gpu_does) {
  EXPECT_NE(memory_of(cuda::MemoryKind::host_alloc, kChunk), nullptr);
  EXPECT_NE(memory_of(cuda::MemoryKind::registered, kChunk), nullptr);
}

TEST_F(Reach, lists_and_spans_of_odd_lengths_are_right_too) {
  const auto memory = memory_of(cuda::MemoryKind::host_alloc, 4 * kChunk);
  for (const std::uint64_t row : {32U, 128U, 512U, 4096U}) {
    for (const std::uint64_t rows : {1U, 2U, 31U, 127U, 1001U, 70'001U}) {
      expect_right(*memory, gather_of(row, rows, 3 * kChunk + 5 * row, rows % 2 == 1));
    }
    expect_right(*memory, gather_of(row, 1000, row));  // every row is row 0
  }
}

TEST_F(Reach, rows_lie_whole_in_a_chunk_however_small_it_is) {
  SpanRequest request = request_of(cuda::MemoryKind::host_alloc);
  request.chunk_bytes = 4 * kKiB;
  SpanMemory memory(surroundings(), request);
  memory.grow(kMiB);
  EXPECT_EQ(memory.device_chunks().size(), 256U);
  for (const std::uint64_t row : {32U, 512U, 4096U}) {
    expect_right(memory, gather_of(row, 3000, kMiB));
    expect_right(memory, gather_of(row, 3000, kMiB, true));
  }
}

TEST_F(Reach, one_wrong_word_in_a_row_that_is_read_is_caught) {
  const auto memory = memory_of(cuda::MemoryKind::host_alloc, 4 * kChunk);
  const GatherRequest request = gather_of(128, 1000, 4 * kChunk);
  const auto gather = make_row_gather(*memory, request);
  // The last word of a row of the first list, and of no other row.
  const std::uint64_t word = row_list(request, 0).at(500) * 32 + 31;
  plant(*memory, word, pattern_word(word, kSpanSeed) ^ 1U);
  static_cast<void>(sample(*gather));
  EXPECT_THROW(static_cast<void>(gather->verify()), FailedError);
  plant(*memory, word, pattern_word(word, kSpanSeed));
  const auto again = make_row_gather(*memory, request);
  static_cast<void>(sample(*again));
  EXPECT_NO_THROW(static_cast<void>(again->verify()));
}

TEST_F(Reach, what_is_done_once_more_for_a_profiler_is_checked_too) {
  const auto memory = memory_of(cuda::MemoryKind::host_alloc, kChunk);
  const auto gather = make_row_gather(*memory, gather_of(128, 1000, kChunk));
  static_cast<void>(sample(*gather));
  gather->prepare();
  gather->run_counted();
  EXPECT_NO_THROW(static_cast<void>(gather->verify()));
}

TEST_F(Reach, a_gather_that_read_nothing_is_caught) {
  const auto memory = memory_of(cuda::MemoryKind::host_alloc, kChunk);
  const auto gather = make_row_gather(*memory, gather_of(128, 1000, kChunk));
  EXPECT_THROW(static_cast<void>(gather->verify()), FailedError);
}

TEST_F(Reach, a_gather_beyond_its_memory_is_refused) {
  const auto memory = memory_of(cuda::MemoryKind::host_alloc, kChunk);
  EXPECT_THROW(static_cast<void>(make_row_gather(*memory, gather_of(128, 1, 2 * kChunk))), UsageError);
  EXPECT_THROW(static_cast<void>(make_row_gather(*memory, gather_of(48, 1, kChunk))), UsageError);
}

TEST_F(Reach, memory_grows_by_chunks_and_keeps_what_is_in_it) {
  for (const cuda::MemoryKind kind : cuda::kMemoryKinds) {
    SCOPED_TRACE(name(kind));
    const auto memory = memory_of(kind, 1);
    if (memory == nullptr) {
      continue;
    }
    EXPECT_EQ(memory->bytes(), kChunk);
    const std::vector<void*> before = memory->device_chunks();
    plant(*memory, 77, 0xdeadbeef);
    memory->grow(3 * kChunk);
    EXPECT_EQ(memory->bytes(), 3 * kChunk);
    EXPECT_EQ(memory->device_chunks().front(), before.front());
    memory->grow(kChunk);
    EXPECT_EQ(memory->bytes(), 3 * kChunk);
    for (std::size_t chunk = 0; chunk < 3; ++chunk) {
      const std::vector<std::uint32_t> words = words_of(*memory, chunk);
      for (std::size_t i = 0; i < words.size(); ++i) {
        const bool planted = chunk == 0 && i == 77;
        ASSERT_EQ(words[i], planted ? 0xdeadbeef : pattern_word(chunk * words.size() + i, kSpanSeed))
            << chunk << ' ' << i;
      }
    }
  }
}

TEST_F(Reach, memory_that_is_not_there_is_skipped_with_the_numbers_and_what_was_taken_stays) {
  SpanRequest request = request_of(cuda::MemoryKind::host_alloc);
  request.chunk_bytes = 32 * kMiB;
  // Nine tenths less 2 GiB: 72 MiB can be taken, two chunks.
  request.available = [] {
    AvailableMemory available;
    available.cgroup_bytes = (2 * kGiB + 72 * kMiB) / 9 * 10 + 10;
    return available;
  };
  SpanMemory memory(surroundings(), request);
  try {
    memory.grow(256 * kMiB);
    FAIL() << "more was taken than there is";
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "needs 256 MiB of host memory; 72 MiB can be taken");
  }
  EXPECT_EQ(memory.bytes(), 64 * kMiB);
  expect_right(memory, gather_of(128, 10'000, 64 * kMiB));
}

TEST_F(Reach, a_span_of_more_chunks_than_a_kernel_can_be_told_of_is_skipped) {
  SpanMemory memory(surroundings(), request_of(cuda::MemoryKind::host_alloc));
  EXPECT_THROW(memory.grow((kMostChunks + 1) * kChunk), SkipError);
  EXPECT_EQ(memory.bytes(), 0U);
}

TEST_F(Reach, chunks_that_are_no_power_of_two_are_refused) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{2048}, 3 * kMiB}) {
    SpanRequest request = request_of(cuda::MemoryKind::host_alloc);
    request.chunk_bytes = bytes;
    EXPECT_THROW(SpanMemory(surroundings(), request), UsageError) << bytes;
  }
}

TEST_F(Reach, memory_of_the_driver_is_one_address_for_the_gpu_and_the_host) {
  std::unique_ptr<cuda::HostVmmBuffer> buffer;
  try {
    buffer = std::make_unique<cuda::HostVmmBuffer>(0, topology_.usable_nodes().front(), 3 * kMiB);
  } catch (const SkipError& error) {
    GTEST_SKIP() << error.what();
  }
  ASSERT_GE(buffer->bytes(), 3 * kMiB);
  auto* words = static_cast<std::uint32_t*>(buffer->data());
  words[0] = 1;
  words[buffer->bytes() / 4 - 1] = 2;
  std::uint32_t last = 0;
  cuda::check(cudaMemcpy(&last, words + buffer->bytes() / 4 - 1, 4, cudaMemcpyDefault), "read a word");
  EXPECT_EQ(last, 2U);
  cuda::check(cudaMemset(words, 0xff, 4), "write a word from the GPU");
  cuda::check(cudaDeviceSynchronize(), "wait for the GPU");
  EXPECT_EQ(words[0], 0xffffffffU);
}

TEST_F(Reach, memory_of_the_driver_on_a_node_that_is_not_there_is_skipped_with_the_drivers_words) {
  try {
    const cuda::HostVmmBuffer buffer(0, 4095, kMiB);
    FAIL() << "there is no such node";
  } catch (const SkipError& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace grainscope::reach

namespace grainscope::harness {
namespace {

class ReachSessions : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      machine_ = std::make_unique<Machine>(read_machine());
      key_.home = machine_->topology.usable_nodes().front();
    }
  }

  std::unique_ptr<Machine> machine_;
  SpanKey key_;
  cuda::ManagedBudget managed_;
};

TEST_F(ReachSessions, every_case_of_the_smoke_preset_is_measured_or_skipped_with_a_reason) {
  const Scope scope =
      make_scope(Preset::smoke, gpu_targets(*machine_, {}), false, node_targets(*machine_, {}));
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  std::size_t measured = 0;
  for (const Benchmark& benchmark : list_all({reach_gather()}, *machine_, scope)) {
    SCOPED_TRACE(benchmark.id.name());
    if (!benchmark.skip.empty()) {
      continue;
    }
    Session session(*machine_, scope.sampling, peaks, &managed_, [] { return false; });
    try {
      const Measurement measurement = benchmark.run(session);
      EXPECT_EQ(why_impossible(measurement), "");
      EXPECT_GT(*measurement.link_bytes_least, 0U);
      EXPECT_LE(*measurement.link_bytes_least, measurement.bytes);
      EXPECT_EQ(measurement.counters.at("unique_bytes"), static_cast<double>(*measurement.link_bytes_least));
      EXPECT_EQ(measurement.counters.at("link_gb_s"), measurement.counters.at("unique_gb_s"));
      const bool on_host = to_string(benchmark.id.axis("memory")) != "peer";
      EXPECT_EQ(measurement.traffic.has_value(), on_host);
      if (on_host) {
        EXPECT_GE(measurement.traffic->bytes, *measurement.link_bytes_least / 2)
            << "of the first of four lists";
      }
      // Every row is asked for twice over this span, 1 Mi rows of 64 MiB: about 1 - 1/e² of them at least
      // once.
      if (std::get<std::int64_t>(benchmark.id.axis("row")) == 128) {
        EXPECT_NEAR(measurement.counters.at("unique_rows"), 0.8647 * 524288, 2000);
        EXPECT_EQ(measurement.counters.at("rows_per_granule"), 1024);
      }
      ++measured;
    } catch (const SkipError& skip) {
      EXPECT_FALSE(std::string(skip.what()).empty());
    } catch (const EnvironmentError& missing) {
      EXPECT_FALSE(std::string(missing.what()).empty());
    }
  }
  EXPECT_GE(measured, 4U);
}

TEST_F(ReachSessions, shared_memory_grows_and_goes_with_the_last_case_that_needs_it) {
  SpanCache cache;
  const auto small = cache.claim(key_, 2, kMiB);
  const auto large = cache.claim(key_, 1, 8 * kMiB);
  for (int session = 0; session < 2; ++session) {
    const SpanLease lease(cache, *small, {&machine_->topology});
    EXPECT_GE(lease.memory().bytes(), kMiB);
  }
  EXPECT_TRUE(cache.holds());
  {
    const SpanLease lease(cache, *large, {&machine_->topology});
    EXPECT_EQ(lease.memory().bytes(), 8 * kMiB);
  }
  EXPECT_FALSE(cache.holds());
}

TEST_F(ReachSessions, shared_memory_of_another_kind_takes_the_place_of_the_first) {
  SpanCache cache;
  const auto first = cache.claim(key_, 2, kMiB);
  SpanKey other = key_;
  other.kind = cuda::MemoryKind::registered;
  const auto second = cache.claim(other, 1, 2 * kMiB);
  { const SpanLease lease(cache, *first, {&machine_->topology}); }
  EXPECT_TRUE(cache.holds());
  {
    const SpanLease lease(cache, *second, {&machine_->topology});
    EXPECT_EQ(lease.memory().bytes(), 2 * kMiB);
    EXPECT_EQ(lease.memory().request().memory.kind, cuda::MemoryKind::registered);
  }
  EXPECT_FALSE(cache.holds());
}

TEST_F(ReachSessions, a_session_that_gets_no_memory_counts_as_one_that_was) {
  SpanCache cache;
  // Chunks larger than any memory: skipped before anything is taken.
  const auto claim = cache.claim(key_, 1, std::uint64_t{1} << 60);
  EXPECT_THROW(SpanLease(cache, *claim, {&machine_->topology}), SkipError);
  EXPECT_EQ(claim->sessions_left, 0);
  EXPECT_FALSE(cache.holds());
}

}  // namespace
}  // namespace grainscope::harness
