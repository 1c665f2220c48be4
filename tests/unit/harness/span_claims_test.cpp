#include <gtest/gtest.h>

#include "fakes.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "span_cache.hpp"

namespace grainscope::harness {
namespace {

using reach::SpanKind;

constexpr SpanKey kPinned{SpanKind::host_alloc, 0, 0};
constexpr SpanKey kRegistered{SpanKind::registered, 0, 0};

// A case that claims memory, as those of reach/gather do.
Benchmark claiming(SpanCache& claims, const std::string& name, std::uint64_t bytes) {
  return test::fake_case(name, [claim = claims.claim(kPinned, 1, bytes)](Session& session) {
    claim->sessions_left = 0;
    return test::honest(session);
  });
}

TEST(SpanClaims, are_open_until_every_session_has_been) {
  SpanCache claims;
  EXPECT_FALSE(claims.open(kPinned));
  const auto claim = claims.claim(kPinned, 2, kGiB);
  EXPECT_TRUE(claims.open(kPinned));
  claim->sessions_left = 1;
  EXPECT_TRUE(claims.open(kPinned));
  claim->sessions_left = 0;
  EXPECT_FALSE(claims.open(kPinned));
}

TEST(SpanClaims, of_one_kind_gpu_and_home_say_nothing_of_another) {
  SpanCache claims;
  const auto claim = claims.claim(kPinned, 1, kGiB);
  EXPECT_FALSE(claims.open(kRegistered));
  EXPECT_FALSE(claims.open({SpanKind::host_alloc, 1, 0}));
  EXPECT_FALSE(claims.open({SpanKind::host_alloc, 0, 1}));
}

TEST(SpanClaims, know_the_most_that_will_still_be_asked_for) {
  SpanCache claims;
  const auto small = claims.claim(kPinned, 1, kMiB);
  const auto large = claims.claim(kPinned, 1, kGiB);
  EXPECT_EQ(claims.most_bytes(kPinned), kGiB);
  large->sessions_left = 0;
  EXPECT_EQ(claims.most_bytes(kPinned), kMiB);
}

TEST(SpanClaims, of_cases_that_a_filter_or_a_shard_leaves_out_are_gone) {
  const Machine machine = test::machine_without_gpu();
  const Scope scope = make_scope(Preset::smoke, {}, false, {});
  SpanCache claims;
  const auto list = [&claims](const Machine&, const Scope&, const Grids&) {
    return std::vector{claiming(claims, "small", kMiB), claiming(claims, "large", kGiB)};
  };
  const std::vector<Family> families{{"fake", "Does a claim go with its case?", {}, list}};
  {
    const Selection filtered = select(families, machine, scope, "small", 1, 1);
    EXPECT_EQ(claims.most_bytes(kPinned), kMiB);
  }
  EXPECT_FALSE(claims.open(kPinned));
  {
    const Selection second_half = select(families, machine, scope, "", 2, 2);
    EXPECT_EQ(claims.most_bytes(kPinned), kGiB);
  }
  EXPECT_FALSE(claims.open(kPinned));
}

TEST(SpanClaims, of_cases_that_a_resumed_run_has_finished_are_gone) {
  const Machine machine = test::machine_without_gpu();
  const Scope scope = make_scope(Preset::smoke, {}, false, {});
  SpanCache claims;
  const auto list = [&claims](const Machine&, const Scope&, const Grids&) {
    return std::vector{claiming(claims, "small", kMiB), claiming(claims, "large", kGiB)};
  };
  Selection selection =
      select({{"fake", "Does a claim go with its case?", {}, list}}, machine, scope, "", 1, 1);
  // As the suite does with what the journal has.
  std::erase_if(selection.runnable,
                [](const Benchmark& benchmark) { return benchmark.id.name() == test::fake_name("large"); });
  EXPECT_EQ(claims.most_bytes(kPinned), kMiB);
}

}  // namespace
}  // namespace grainscope::harness
