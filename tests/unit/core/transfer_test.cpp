#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "every_transfer.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kBytes = 64 * kMiB;
constexpr bool kKept = false;  // the GPU's caches keep every sector
constexpr bool kLost = true;   // and keep none

using BySize = std::map<int, std::uint64_t>;

Walk merged(int offset_bytes, int width_bytes = 4) {
  Walk walk;
  walk.offset_bytes = offset_bytes;
  walk.width_bytes = width_bytes;
  return walk;
}

Walk strided(int width_bytes = 4) {
  Walk walk;
  walk.pattern = Walk::Pattern::strided;
  walk.width_bytes = width_bytes;
  return walk;
}

void expect_traffic(const Traffic& traffic, const BySize& by_size, double amplification) {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  for (const auto& [size, count] : by_size) {
    requests += count;
    bytes += count * static_cast<std::uint64_t>(size);
  }
  EXPECT_EQ(traffic.requests_by_size, by_size);
  EXPECT_EQ(traffic.requests, requests);
  EXPECT_EQ(traffic.bytes, bytes);
  EXPECT_DOUBLE_EQ(traffic.amplification, amplification);
  EXPECT_FALSE(traffic.counted);
}

TEST(WalkTraffic, aligned_is_one_request_of_128_bytes_a_line) {
  expect_traffic(walk_traffic(merged(0), kBytes, kLost), {{128, 524'288}}, 1);
  expect_traffic(walk_traffic(merged(0), kBytes, kKept), {{128, 524'288}}, 1);
}

TEST(WalkTraffic, off_by_32_bytes_is_two_requests_of_96_and_32) {
  expect_traffic(walk_traffic(merged(32), kBytes, kLost), {{32, 524'288}, {96, 524'288}}, 1);
  expect_traffic(walk_traffic(merged(32), kBytes, kKept), {{32, 524'288}, {96, 524'288}}, 1);
}

TEST(WalkTraffic, off_by_64_bytes_is_two_requests_of_64) {
  expect_traffic(walk_traffic(merged(64), kBytes, kLost), {{64, 1'048'576}}, 1);
}

TEST(WalkTraffic, off_by_4_bytes_reads_a_sector_twice_unless_a_cache_keeps_it) {
  expect_traffic(walk_traffic(merged(4), kBytes, kLost), {{32, 524'288}, {128, 524'288}}, 1.25);
  expect_traffic(walk_traffic(merged(4), kBytes, kKept), {{32, 524'288}, {96, 524'288}}, 1);
}

TEST(WalkTraffic, wider_accesses_of_a_warp_span_several_lines) {
  expect_traffic(walk_traffic(merged(0, 8), kBytes, kLost), {{128, 524'288}}, 1);
  expect_traffic(walk_traffic(merged(0, 16), kBytes, kLost), {{128, 524'288}}, 1);
  const Traffic one_warp_of_8 = walk_traffic(merged(0, 8), 256, kLost);
  EXPECT_EQ(one_warp_of_8.requests, 2U);
  const Traffic one_warp_of_16 = walk_traffic(merged(0, 16), 512, kLost);
  expect_traffic(one_warp_of_16, {{128, 4}}, 1);
}

TEST(WalkTraffic, wider_accesses_off_by_32_bytes_share_the_two_cut_requests) {
  // 512 bytes from byte 32 on: three sectors, three whole lines, one sector.
  expect_traffic(walk_traffic(merged(32, 16), kBytes, kLost), {{32, 131'072}, {96, 131'072}, {128, 393'216}},
                 1);
}

TEST(WalkTraffic, strided_is_a_request_a_sector_where_a_cache_keeps_them) {
  for (const int width : {4, 8, 16}) {
    expect_traffic(walk_traffic(strided(width), kBytes, kKept), {{32, 2'097'152}}, 1);
  }
}

TEST(WalkTraffic, strided_is_a_request_an_element_without_a_cache) {
  expect_traffic(walk_traffic(strided(4), kBytes, kLost), {{32, 16'777'216}}, 8);
  expect_traffic(walk_traffic(strided(8), kBytes, kLost), {{32, 8'388'608}}, 4);
  expect_traffic(walk_traffic(strided(16), kBytes, kLost), {{32, 4'194'304}}, 2);
}

TEST(WalkTraffic, without_a_cache_is_never_less) {
  for (const int offset : {0, 16, 32, 48, 64, 96, 112}) {
    for (const int width : {4, 8, 16}) {
      EXPECT_GE(walk_traffic(merged(offset, width), kBytes, kLost).bytes,
                walk_traffic(merged(offset, width), kBytes, kKept).bytes);
      EXPECT_EQ(walk_traffic(merged(offset, width), kBytes, kKept).bytes, kBytes);
    }
  }
}

TEST(AccessName, tells_strided_merged_and_aligned_apart) {
  EXPECT_STREQ(access_name(strided()), "strided");
  EXPECT_STREQ(access_name(merged(0)), "merged_aligned");
  EXPECT_STREQ(access_name(merged(4)), "merged");
  EXPECT_STREQ(access_name(merged(64)), "merged");
}

TEST(Transfer, knows_its_ends_in_both_directions) {
  Transfer copy;
  copy.source = Endpoint::host(Placement::pinned, 1);
  copy.destination = Endpoint::gpu(Placement::device, 2);
  EXPECT_TRUE(copy.to_gpu());
  EXPECT_EQ(copy.host_end().id, 1);
  EXPECT_EQ(copy.gpu_end().id, 2);
  std::swap(copy.source, copy.destination);
  EXPECT_FALSE(copy.to_gpu());
  EXPECT_EQ(copy.host_end().id, 1);
  EXPECT_EQ(copy.gpu_end().id, 2);
}

TEST(PlacementName, every_placement_has_its_own) {
  EXPECT_STREQ(name(Placement::pageable), "pageable");
  EXPECT_STREQ(name(Placement::pinned), "pinned");
  EXPECT_STREQ(name(Placement::registered), "registered");
  EXPECT_STREQ(name(Placement::write_combined), "write_combined");
  EXPECT_STREQ(name(Placement::mapped), "mapped");
  EXPECT_STREQ(name(Placement::managed), "managed");
  EXPECT_STREQ(name(Placement::device), "device");
}

TEST(AllocationName, every_allocation_has_its_own) {
  EXPECT_STREQ(name(Allocation::host_alloc), "host_alloc");
  EXPECT_STREQ(name(Allocation::registered), "registered");
  EXPECT_STREQ(name(Allocation::accessed_by), "accessed_by");
}

}  // namespace
namespace {

// The pure parts of transfers that run at once: time spans, what can be, the shuffle of a scattered walk.

TEST(Spans, any_is_the_union_and_all_the_intersection) {
  EXPECT_DOUBLE_EQ(time_any_ran({{0, 2}, {1, 3}}), 3);
  EXPECT_DOUBLE_EQ(time_all_ran({{0, 2}, {1, 3}}), 1);
  EXPECT_DOUBLE_EQ(time_any_ran({{5, 6}, {0, 1}}), 2);  // the gap between them does not count
  EXPECT_DOUBLE_EQ(time_all_ran({{5, 6}, {0, 1}}), 0);
  EXPECT_DOUBLE_EQ(time_any_ran({{0, 4}, {1, 2}}), 4);
  EXPECT_DOUBLE_EQ(time_all_ran({{0, 4}, {1, 2}}), 1);
  EXPECT_DOUBLE_EQ(time_any_ran({{-1, 1}}), 2);
  EXPECT_DOUBLE_EQ(time_any_ran({}), 0);
  EXPECT_DOUBLE_EQ(time_all_ran({}), 0);
}

TEST(Scatter, sends_each_number_to_a_place_of_its_own) {
  for (int bits = 0; bits <= 14; ++bits) {
    const std::uint64_t count = std::uint64_t{1} << bits;
    std::set<std::uint64_t> places;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t place = grainscope::scattered(i, bits);
      EXPECT_LT(place, count);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), count) << bits;
  }
}

TEST(Scatter, leaves_few_neighbours_together) {
  constexpr int kBits = 14;
  int together = 0;
  for (std::uint64_t i = 0; i + 1 < (std::uint64_t{1} << kBits); ++i) {
    together += grainscope::scattered(i, kBits) + 1 == grainscope::scattered(i + 1, kBits) ? 1 : 0;
  }
  EXPECT_LT(together, 20);
}

Transfer peers() {
  Transfer transfer;
  transfer.source = Endpoint::gpu(Placement::device, 1);
  transfer.destination = Endpoint::gpu(Placement::device, 0);
  transfer.bytes = kMiB;
  return transfer;
}

TEST(PossibleTransfers, pass) {
  EXPECT_NO_THROW(require_possible(peers()));
  Transfer walk = peers();
  walk.engine = Engine::sm;
  walk.destination.placement = Placement::registers;
  EXPECT_NO_THROW(require_possible(walk));
}

// Comm|Scope reported 37,197 GB/s for pages that GPU 0 demanded from GPU 0.
TEST(PossibleTransfers, managed_pages_of_a_gpu_do_not_go_to_that_gpu) {
  Transfer transfer = peers();
  transfer.engine = Engine::fault;
  transfer.source = transfer.destination = Endpoint::gpu(Placement::managed, 0);
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer.source.id = 1;
  EXPECT_NO_THROW(require_possible(transfer));
  transfer.by_source = true;
  EXPECT_THROW(require_possible(transfer), UsageError);
}

TEST(PossibleTransfers, others_are_refused) {
  Transfer transfer = peers();
  transfer.bytes = 0;
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer = peers();
  transfer.source = transfer.destination = Endpoint::host(Placement::pinned, 0);
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer = peers();
  transfer.engine = Engine::sm;
  transfer.peer_access = false;
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer = peers();
  transfer.destination.placement = Placement::registers;
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer.engine = Engine::sm;
  transfer.walk.pattern = Walk::Pattern::scattered;
  for (const std::uint64_t piece : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{96}, 2 * kMiB}) {
    transfer.walk.piece_bytes = piece;
    EXPECT_THROW(require_possible(transfer), UsageError) << piece;
  }
  transfer.walk.piece_bytes = 128;
  EXPECT_NO_THROW(require_possible(transfer));
}

TEST(PeerTransfers, are_issued_by_the_end_that_was_asked) {
  Transfer transfer = peers();
  EXPECT_EQ(transfer.gpu(), 0);
  EXPECT_EQ(transfer.peer(), 1);
  transfer.by_source = true;
  EXPECT_EQ(transfer.gpu(), 1);
  EXPECT_EQ(transfer.peer(), 0);
  EXPECT_FALSE(transfer.within_gpu());
}

TEST(ScatteredWalks, ask_for_as_many_requests_as_their_pieces_need) {
  Walk walk{Walk::Pattern::scattered, 0, 16};
  walk.piece_bytes = 32;
  Traffic traffic = walk_traffic(walk, kMiB, false);
  EXPECT_EQ(traffic.requests, kMiB / 32);
  EXPECT_EQ(traffic.bytes, kMiB);
  walk.piece_bytes = 128;
  traffic = walk_traffic(walk, kMiB, false);
  EXPECT_EQ(traffic.requests, kMiB / 128);
}

}  // namespace
}  // namespace grainscope::transfer

namespace grainscope {
namespace {

// Does the 95 % interval of a session cover the true median in 95 % of sessions, although the session
// chooses its own length by looking at that interval?

constexpr int kSessions = 2000;

struct Source {
  std::string name;
  double true_median;
  std::function<double(std::mt19937_64&)> draw;
};

std::vector<Source> sources() {
  return {
      {"normal", 1.0, [](auto& random) { return std::normal_distribution<double>(1, 0.05)(random); }},
      {"lognormal", 1.0, [](auto& random) { return std::lognormal_distribution<double>(0, 0.2)(random); }},
      {"exponential tail", 1.0 + 0.1 * std::log(2.0),
       [](auto& random) { return 1 + std::exponential_distribution<double>(10)(random); }},
      {"uniform", 1.0, [](auto& random) { return std::uniform_real_distribution<double>(0.9, 1.1)(random); }},
  };
}

double covered_share(const Source& source, const SamplingPlan& plan, double wall_s_per_sample) {
  std::mt19937_64 random(97);
  int covered = 0;
  for (int session = 0; session < kSessions; ++session) {
    double now_s = 0;
    const auto one_sample = [&] {
      now_s += wall_s_per_sample;
      return source.draw(random);
    };
    const Samples samples = draw_samples(
        plan, one_sample, [&] { return now_s; }, [] { return false; });
    const Interval& interval = *samples.summary.ci95;
    covered += interval.low <= source.true_median && source.true_median <= interval.high ? 1 : 0;
  }
  return static_cast<double>(covered) / kSessions;
}

// The plans of the presets `quick` and `full`.
constexpr SamplingPlan kQuick{.ci_target = 0.02,
                              .budget_s = 0.5,
                              .max_samples = 512,
                              .warmups = 2,
                              .warmup_s = 0.005,
                              .patience_s = 0.05};
constexpr SamplingPlan kFull{.ci_target = 0.01,
                             .budget_s = 0.5,
                             .max_samples = 512,
                             .warmups = 2,
                             .warmup_s = 0.005,
                             .patience_s = 0.05};

// A sample of half a millisecond ends at the target or at the most samples, one of four at the budget.
constexpr double kShort_s = 0.0005;
constexpr double kMiddling_s = 0.004;

// A session that gives up does so mostly at 16 samples, whose ranks 4 to 13 miss with a chance of 2.1 %, and
// because its interval is wider than most: that holds the median more often, never less.
constexpr double kMostCovered = 0.995;

TEST(IntervalCoverage, is_95_percent_or_more_where_sessions_choose_their_own_length) {
  for (const Source& source : sources()) {
    for (const SamplingPlan& plan : {kQuick, kFull}) {
      for (const double wall_s : {kShort_s, kMiddling_s}) {
        const double covered = covered_share(source, plan, wall_s);
        EXPECT_GE(covered, 0.94) << source.name << ", target " << plan.ci_target << ", sample " << wall_s;
        EXPECT_LE(covered, kMostCovered)
            << source.name << ", target " << plan.ci_target << ", sample " << wall_s;
      }
    }
  }
}

// From rank 1 to rank 8 an interval misses with a chance of 2 / 2^8 alone; it cannot be made narrower.
TEST(IntervalCoverage, is_above_99_percent_where_the_budget_ends_at_eight_samples) {
  for (const Source& source : sources()) {
    EXPECT_NEAR(covered_share(source, kQuick, 1.0), 1 - 2.0 / 256, 0.005) << source.name;
  }
}

// 8 / 40 to 33 / 40, whose chance to miss is 1.7 %: whole ranks are coarse at such an n.
TEST(IntervalCoverage, is_about_98_percent_where_the_budget_ends_at_forty_samples) {
  for (const Source& source : sources()) {
    EXPECT_NEAR(covered_share(source, kFull, 0.02), 0.983, 0.008) << source.name;
  }
}

}  // namespace
}  // namespace grainscope

namespace grainscope::transfer {
namespace {

// Which transfers there are: every kind of memory to every other by every engine either can be, or is refused
// for what stands in the way.

std::string text(const Endpoint& end) {
  return (end.on_host() ? "host" : "gpu" + std::to_string(end.id)) + ":" + name(end.placement);
}

std::string text(const Transfer& transfer) {
  return text(transfer.source) + " -> " + text(transfer.destination) + " by " + name(transfer.engine) +
         (transfer.by_source ? ", by source" : "");
}

// What can be, written down once more without the library's help.
std::set<std::string> what_can_be() {
  std::set<std::string> all;
  const auto add = [&](const std::string& from, const std::string& to, const char* engine) {
    all.insert(from + " -> " + to + " by " + engine);
  };
  const auto both_ways = [&](const std::string& a, const std::string& b, const char* engine) {
    add(a, b, engine);
    add(b, a, engine);
  };
  for (const std::string own : {"gpu0", "gpu1"}) {
    const std::string other = own == "gpu0" ? "gpu1" : "gpu0";
    for (const char* host : {"pageable", "pinned", "registered", "write_combined", "mapped"}) {
      both_ways(std::string("host:") + host, own + ":device", "copy_engine");
    }
    for (const char* host : {"pinned", "registered", "write_combined", "mapped"}) {
      both_ways(std::string("host:") + host, own + ":device", "sm");
      both_ways(std::string("host:") + host, own + ":registers", "sm");
    }
    for (const char* engine : {"copy_engine", "sm"}) {
      add(own + ":device", own + ":device", engine);
      for (const char* issuer : {"", ", by source"}) {
        all.insert(own + ":device -> " + other + ":device by " + engine + issuer);
      }
    }
    both_ways(own + ":device", own + ":registers", "sm");
    add(other + ":device", own + ":registers", "sm");
    all.insert(own + ":registers -> " + other + ":device by sm, by source");
    for (const char* engine : {"fault", "prefetch"}) {
      both_ways("host:managed", own + ":managed", engine);
      add(own + ":managed", other + ":managed", engine);
    }
  }
  return all;
}

// Why something cannot be. Another reason is a mistake, and so is one that nothing is refused for.
const std::set<std::string> kReasons{
    "device memory is on a GPU; memory of the host is pageable, pinned",
    "registers are on a GPU; memory of the host is pageable, pinned",
    "pageable memory is on the host; a GPU has",
    "pinned memory is on the host; a GPU has",
    "registered memory is on the host; a GPU has",
    "write_combined memory is on the host; a GPU has",
    "mapped memory is on the host; a GPU has",
    "bytes that stay on the host cross no link",
    "only a kernel (sm) moves bytes to or from registers",
    "moves pages of managed memory: both ends must be managed",
    "managed memory moves by fault or prefetch",
    "a kernel cannot address pageable memory: page-lock it",
    "has nowhere to go there",
    "the source cannot send them",
    "the GPU that has the registers runs the kernel",
};

TEST(EveryTransfer, can_be_or_is_refused_for_what_stands_in_the_way) {
  std::set<std::string> possible;
  std::set<std::string> said;
  for (const Transfer& transfer : test::every_transfer(kMiB, 0)) {
    try {
      require_possible(transfer);
      possible.insert(text(transfer));
    } catch (const UsageError& refused) {
      const std::string message = refused.what();
      const auto reason = std::find_if(kReasons.begin(), kReasons.end(), [&](const std::string& one) {
        return message.find(one) != std::string::npos;
      });
      ASSERT_NE(reason, kReasons.end()) << text(transfer) << " is refused because " << message;
      said.insert(*reason);
    }
  }
  EXPECT_EQ(possible, what_can_be());
  EXPECT_EQ(said, kReasons);
}

Transfer pinned_copy() {
  Transfer copy;
  copy.source = Endpoint::host(Placement::pinned, 0);
  copy.destination = Endpoint::gpu(Placement::device, 0);
  copy.bytes = kMiB;
  return copy;
}

void expect_refused(const Transfer& transfer, const std::string& said) {
  try {
    require_possible(transfer);
    ADD_FAILURE() << "this can be, instead of: " << said;
  } catch (const UsageError& refused) {
    EXPECT_NE(std::string(refused.what()).find(said), std::string::npos) << refused.what();
  }
}

TEST(PossibleSizes, are_below_what_any_machine_has) {
  Transfer copy = pinned_copy();
  copy.bytes = kMostBytes;
  EXPECT_NO_THROW(require_possible(copy));
  copy.bytes += 4;
  expect_refused(copy, "from 4 B to 1024 TiB");
  copy.bytes = 6;
  expect_refused(copy, "multiple of 4");
}

TEST(PossiblePieces, are_no_larger_than_the_whole_and_no_more_than_a_gate_holds) {
  Transfer copy = pinned_copy();
  copy.piece_bytes = 2 * kMiB;
  expect_refused(copy, "no larger than the whole");
  copy.piece_bytes = kMiB / 512;
  EXPECT_NO_THROW(require_possible(copy));
  copy.bytes += 4;
  expect_refused(copy, "a stream takes 512 copies");
  copy.source.placement = Placement::pageable;  // copied within the calls: none waits
  EXPECT_NO_THROW(require_possible(copy));
}

TEST(PossibleFaults, do_not_lie_in_more_memory_than_there_is) {
  Transfer demand = pinned_copy();
  demand.engine = Engine::fault;
  demand.source.placement = demand.destination.placement = Placement::managed;
  demand.piece_bytes = 16;
  demand.stride_bytes = kMostBytes;
  expect_refused(demand, "more than 1024 TiB");
}

Transfer managed_pages(Engine engine) {
  Transfer transfer = pinned_copy();
  transfer.engine = engine;
  transfer.source.placement = transfer.destination.placement = Placement::managed;
  return transfer;
}

TEST(PossibleHints, are_of_whole_pages_on_the_host_that_a_gpu_asks_for) {
  for (const cuda::Hint hint : cuda::kHints) {
    Transfer demand = managed_pages(Engine::fault);
    demand.hint = hint;
    EXPECT_NO_THROW(require_possible(demand)) << cuda::name(hint);
    if (hint == cuda::Hint::none) {
      continue;
    }
    std::swap(demand.source, demand.destination);
    expect_refused(demand, "that a GPU asks for");
    demand = managed_pages(Engine::prefetch);
    demand.hint = hint;
    expect_refused(demand, "that a GPU asks for");
    demand = managed_pages(Engine::fault);
    demand.hint = hint;
    demand.piece_bytes = demand.stride_bytes = demand.bytes;
    expect_refused(demand, "no pieces");
  }
}

// What is said of a hint decides which residency a sample has to prove.
TEST(PossibleHints, are_of_pages_that_move_are_read_in_place_or_are_copied) {
  std::set<std::string> names;
  std::set<std::string> moving;
  std::set<std::string> in_place;
  for (const cuda::Hint hint : cuda::kHints) {
    names.insert(cuda::name(hint));
    if (cuda::migrates(hint)) {
      moving.insert(cuda::name(hint));
    }
    if (cuda::is_read_in_place(hint)) {
      in_place.insert(cuda::name(hint));
    }
  }
  EXPECT_EQ(names.size(), std::size(cuda::kHints));
  EXPECT_EQ(moving, (std::set<std::string>{"none", "preferred_gpu", "prefetch"}));
  EXPECT_EQ(in_place, (std::set<std::string>{"preferred_host", "accessed_by"}));
}

TEST(PossiblePageCalls, are_of_pages_of_the_host_or_one_gpu) {
  for (const PageCall call : {PageCall::prefetch_batch, PageCall::discard, PageCall::discard_and_prefetch}) {
    Transfer transfer = managed_pages(Engine::prefetch);
    transfer.page_call = call;
    EXPECT_NO_THROW(require_possible(transfer)) << name(call);
    EXPECT_EQ(transfer.discards(), call != PageCall::prefetch_batch) << name(call);
    transfer.piece_bytes = 12 * kKiB;
    EXPECT_EQ(transfer.pieces(), (transfer.bytes + 12 * kKiB - 1) / (12 * kKiB));
    std::swap(transfer.source, transfer.destination);
    EXPECT_NO_THROW(require_possible(transfer)) << name(call);
    transfer.source = Endpoint::gpu(Placement::managed, 1);
    transfer.destination = Endpoint::gpu(Placement::managed, 0);
    expect_refused(transfer, "the host or one GPU");
    transfer = managed_pages(Engine::fault);
    transfer.page_call = call;
    expect_refused(transfer, "the engine is prefetch");
  }
}

TEST(PossibleSubmissions, are_of_what_the_gpu_does_alone) {
  Transfer copy = pinned_copy();
  copy.submission_only = true;
  EXPECT_NO_THROW(require_possible(copy));
  copy.source.placement = Placement::pageable;
  expect_refused(copy, "waits at a closed gate");
  copy.source = Endpoint::gpu(Placement::device, 1);
  copy.peer_access = false;
  expect_refused(copy, "waits at a closed gate");
}

TEST(PossibleWalks, are_of_whole_warps) {
  Transfer walk = pinned_copy();
  walk.engine = Engine::sm;
  walk.destination.placement = Placement::registers;
  for (const int threads : {0, 16, 48, 1056, -32}) {
    walk.walk.threads = threads;
    expect_refused(walk, "whole warps");
  }
  walk.walk.threads = 32;
  EXPECT_NO_THROW(require_possible(walk));
}

Transfer in_bulk(Placement host, Placement gpu) {
  Transfer transfer;
  transfer.engine = Engine::sm;
  transfer.source = Endpoint::host(host, 0);
  transfer.destination = Endpoint::gpu(gpu, 0);
  transfer.bytes = kMiB;
  transfer.walk.load = Load::bulk;
  return transfer;
}

TEST(PossibleBulkCopies, are_a_kernels_of_whole_lines_and_no_more_stages_than_a_block_has_warps) {
  EXPECT_NO_THROW(require_possible(in_bulk(Placement::pinned, Placement::device)));
  EXPECT_NO_THROW(require_possible(in_bulk(Placement::mapped, Placement::registers)));
  const auto refused = [](auto change) {
    Transfer transfer = in_bulk(Placement::pinned, Placement::device);
    change(transfer);
    EXPECT_THROW(require_possible(transfer), UsageError);
  };
  refused([](Transfer& transfer) { transfer.engine = Engine::copy_engine; });
  refused([](Transfer& transfer) { transfer.walk.chunk_bytes = 0; });
  refused([](Transfer& transfer) { transfer.walk.chunk_bytes = 192 + 8; });
  refused([](Transfer& transfer) { transfer.walk.chunk_bytes = kMostChunkBytes + 128; });
  refused([](Transfer& transfer) { transfer.walk.stages = 0; });
  refused([](Transfer& transfer) { transfer.walk.stages = kMostStages + 1; });
}

TEST(PossibleBulkCopies, walk_neighbouring_bytes_from_a_line_on) {
  Transfer walk = in_bulk(Placement::mapped, Placement::registers);
  walk.walk.offset_bytes = 32;
  EXPECT_THROW(require_possible(walk), UsageError);
  walk.walk.offset_bytes = 0;
  walk.walk.pattern = Walk::Pattern::strided;
  EXPECT_THROW(require_possible(walk), UsageError);
}

TEST(PossibleMappings, are_made_in_several_ways_only_for_walks) {
  Transfer copy = pinned_copy();
  copy.allocation = Allocation::accessed_by;
  expect_refused(copy, "only mapped memory");
  copy.engine = Engine::sm;
  copy.destination.placement = Placement::registers;
  expect_refused(copy, "only mapped memory");
  copy.source.placement = Placement::mapped;
  EXPECT_NO_THROW(require_possible(copy));
}

Transfer relayed(std::uint64_t bytes, std::uint64_t gpus = 2, int share = 50) {
  Transfer copy = pinned_copy();
  copy.bytes = bytes;
  copy.relay.gpus = gpus;
  copy.relay.share = share;
  return copy;
}

TEST(Relays, pass_on_equal_parts_in_whole_blocks) {
  for (const std::uint64_t gpus : {2U, 6U, 0xfeU}) {
    const auto count = static_cast<std::uint64_t>(std::popcount(gpus));
    for (const std::uint64_t bytes : {8 * kKiB * count, 8 * kKiB * count + 4, kMiB + 20, 4 * kGiB + 4}) {
      for (const int share : {1, 33, 50, 99}) {
        SCOPED_TRACE(std::to_string(gpus) + " " + std::to_string(bytes) + " " + std::to_string(share));
        const Transfer copy = relayed(bytes, gpus, share);
        ASSERT_NO_THROW(require_possible(copy));
        const std::uint64_t part = relayed_bytes(copy) / count;
        EXPECT_EQ(part * count, relayed_bytes(copy));
        EXPECT_GE(part, 4 * kKiB);
        EXPECT_EQ(part % (4 * kKiB), 0U);
        EXPECT_LE(relayed_bytes(copy), bytes);
        EXPECT_EQ(relay_chunk_bytes(copy) % (4 * kKiB), 0U);
        EXPECT_LE((part - 1) / relay_chunk_bytes(copy) + 1, kMostRelayed);
        if (bytes > kMiB) {
          EXPECT_NEAR(static_cast<double>(relayed_bytes(copy)), static_cast<double>(bytes) * share / 100,
                      static_cast<double>(4 * kKiB * count) + 100);
        }
      }
    }
  }
}

TEST(Relays, are_of_copies_between_page_locked_memory_and_a_gpu) {
  const auto refused = [](auto change, const std::string& why) {
    Transfer copy = relayed(kMiB);
    change(copy);
    expect_refused(copy, why);
  };
  refused([](Transfer& copy) { copy.source.placement = Placement::pageable; }, "page-locked memory");
  refused([](Transfer& copy) { copy.source.placement = Placement::managed_host; }, "page-locked memory");
  refused([](Transfer& copy) { copy.source = Endpoint::gpu(Placement::device, 1); }, "page-locked memory");
  refused([](Transfer& copy) { copy.relay.gpus = 1; }, "is an end of the copy");
  refused([](Transfer& copy) { copy.piece_bytes = 4 * kKiB; }, "neither pieces");
  refused([](Transfer& copy) { copy.relay.share = 0; }, "1 to 99 percent");
  refused([](Transfer& copy) { copy.relay.share = 100; }, "1 to 99 percent");
  refused([](Transfer& copy) { copy.bytes = 4 * kKiB; }, "8 KiB or more");
  refused([](Transfer& copy) { copy.relay.chunk_bytes = 1000; }, "multiple of 4 KiB");
  refused([](Transfer& copy) { copy.relay.buffers = 0; }, "1 to 64 buffers");
  refused([](Transfer& copy) { copy.bytes = kGiB, copy.relay.chunk_bytes = 4 * kKiB; }, "256 chunks at most");
  refused(
      [](Transfer& copy) {
        copy.engine = Engine::sm;
        copy.relay.chunk_bytes = 64 * kKiB;
      },
      "kernels of other GPUs copy straight");
}

TEST(PossiblePeers, do_without_access_only_where_there_is_some) {
  Transfer copy = pinned_copy();
  copy.peer_access = false;
  expect_refused(copy, "peer access is between two GPUs");
}

}  // namespace
}  // namespace grainscope::transfer
