#include "grainscope/core/thread_team.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "grainscope/core/error.hpp"

namespace grainscope {
namespace {

using namespace std::chrono_literals;

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus;
}

TEST(ThreadTeam, every_worker_runs_once_a_run) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadTeam team(size, {});
    EXPECT_EQ(team.size(), size);
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(size));
    for (int run = 1; run <= 20; ++run) {
      static_cast<void>(team.run([&](int worker) { ++runs.at(static_cast<std::size_t>(worker)); }));
      for (const auto& count : runs) {
        ASSERT_EQ(count, run);
      }
    }
  }
}

TEST(ThreadTeam, many_runs_in_a_row_lose_none) {
  ThreadTeam team(3, {});
  std::atomic<int> runs{0};
  for (int i = 0; i < 3000; ++i) {
    static_cast<void>(team.run([&](int) { ++runs; }));
  }
  EXPECT_EQ(runs, 9000);
}

TEST(ThreadTeam, work_that_is_spread_is_done_by_all_once_between_runs_too) {
  ThreadTeam team(3, {});
  std::atomic<int> runs{0};
  for (int i = 0; i < 2000; ++i) {
    team.spread([&](int) { ++runs; });
    ASSERT_EQ(runs, 6 * i + 3);
    static_cast<void>(team.run([&](int) { ++runs; }));
  }
  EXPECT_EQ(runs, 12000);
}

TEST(ThreadTeam, workers_are_threads_of_their_own_and_the_first_is_the_caller) {
  ThreadTeam team(3, {});
  std::vector<std::thread::id> ids(3);
  static_cast<void>(
      team.run([&](int worker) { ids.at(static_cast<std::size_t>(worker)) = std::this_thread::get_id(); }));
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  EXPECT_NE(ids[2], ids[0]);
  EXPECT_NE(ids[1], ids[2]);
}

TEST(ThreadTeam, a_run_lasts_until_its_slowest_worker_ends) {
  ThreadTeam team(2, {});
  for (const int slow : {0, 1}) {
    const double elapsed_s = team.run([&](int worker) {
      if (worker == slow) {
        std::this_thread::sleep_for(20ms);
      }
    });
    EXPECT_GE(elapsed_s, 0.02) << "worker " << slow;
  }
}

TEST(ThreadTeam, what_workers_wrote_is_seen_after_the_run) {
  ThreadTeam team(4, {});
  std::vector<std::uint32_t> words(4001);
  for (std::uint32_t round = 1; round <= 50; ++round) {
    static_cast<void>(team.run([&](int worker) {
      const Share share = share_of(words.size(), worker, 4);
      for (std::size_t i = share.first; i < share.last; ++i) {
        words[i] = round;
      }
    }));
    ASSERT_EQ(words, std::vector<std::uint32_t>(words.size(), round));
  }
}

TEST(ThreadTeam, workers_are_bound_in_turn_and_so_is_the_caller_while_it_works) {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) {
    GTEST_SKIP() << "a caller that has one CPU stays there";
  }
  ThreadTeam team(4, {cpus[1], cpus[0]});
  for (const bool spread : {false, true}) {
    std::vector<std::vector<int>> bound(4);
    const auto note = [&](int worker) { bound.at(static_cast<std::size_t>(worker)) = allowed_cpus(); };
    if (spread) {
      const OnCpu placed(team.callers_cpu());
      team.spread(note);
    } else {
      static_cast<void>(team.run(note));
    }
    for (std::size_t worker = 0; worker < bound.size(); ++worker) {
      EXPECT_EQ(bound[worker], std::vector<int>{cpus[1 - worker % 2]}) << worker;
    }
    EXPECT_EQ(allowed_cpus(), cpus);
  }
}

TEST(ThreadTeam, a_caller_stays_where_it_is_bound_and_where_it_is_all_of_the_team) {
  const std::vector<int> cpus = allowed_cpus();
  std::vector<int> seen;
  const auto note = [&](int worker) {
    if (worker == 0) {
      seen = allowed_cpus();
    }
  };
  static_cast<void>(ThreadTeam(1, {cpus.back()}).run(note));
  EXPECT_EQ(seen, cpus);
  std::thread([&] {
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(static_cast<std::size_t>(cpus.back()), &last);
    ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(last), &last), 0);
    static_cast<void>(ThreadTeam(2, {cpus.front()}).run(note));
  }).join();
  EXPECT_EQ(seen, std::vector<int>{cpus.back()});
}

TEST(ThreadTeam, ends_without_a_run) {
  EXPECT_NO_THROW(ThreadTeam(4, {}));
}

TEST(ThreadTeam, a_size_below_one_is_refused) {
  EXPECT_THROW(ThreadTeam(0, {}), UsageError);
  EXPECT_THROW(ThreadTeam(-2, {}), UsageError);
}

TEST(ShareOf, shares_partition_exactly_and_differ_by_one_at_most) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 64U, 1001U, 4097U}) {
    for (int size = 1; size <= 17; ++size) {
      std::size_t next = 0;
      for (int i = 0; i < size; ++i) {
        const Share share = share_of(count, i, size);
        ASSERT_EQ(share.first, next) << count << " in " << size;
        const std::size_t length = share.last - share.first;
        ASSERT_LE(length, count / static_cast<std::size_t>(size) + 1);
        ASSERT_GE(length, count / static_cast<std::size_t>(size));
        next = share.last;
      }
      ASSERT_EQ(next, count);
    }
  }
}

TEST(ShareOf, the_largest_count_does_not_overflow) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(share_of(kMost, 2, 3).last, kMost);
  EXPECT_EQ(share_of(kMost, 1, 3).first, share_of(kMost, 0, 3).last);
}

}  // namespace
}  // namespace grainscope
