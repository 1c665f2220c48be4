// transfer/written: what --transfer lists, how its cases are named, and how a line that cannot be here ends.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "../../testing/says.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/options.hpp"
#include "harness/run.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using test::Ended;
using test::refusal;
using test::run_program;
using test::says;

using Lines = std::vector<std::string>;

std::vector<std::string> flags_of(const Lines& lines) {
  std::vector<std::string> flags;
  for (const std::string& line : lines) {
    flags.insert(flags.end(), {"--transfer", line});
  }
  return flags;
}

std::vector<Benchmark> listed(const Machine& machine, const Lines& lines) {
  const Options options = parse_options(flags_of(lines));
  return list_all(all_families(), machine, scope_of(options, machine));
}

Benchmark only_case(const Machine& machine, const std::string& line) {
  auto cases = listed(machine, {line});
  EXPECT_EQ(cases.size(), 1U) << line;
  return cases.front();
}

class WrittenFamily : public testing::Test {
 protected:
  // The first node that this process may use, as a name has it.
  [[nodiscard]] std::string node() const { return std::to_string(machine_.topology.usable_nodes().front()); }
  [[nodiscard]] std::string name_of(const std::string& line) const {
    return only_case(machine_, line).id.name();
  }

  Machine machine_ = test::machine_with_gpus(3);
};

TEST_F(WrittenFamily, is_the_only_one_where_something_is_written_and_else_none) {
  for (const Benchmark& benchmark : listed(machine_, {"host(pinned) -> gpu:0 by copy_engine, 4KiB..16KiB"})) {
    EXPECT_EQ(benchmark.id.family, "transfer/written");
  }
  EXPECT_EQ(listed(machine_, {"host(pinned) -> gpu:0 by copy_engine, 4KiB..16KiB"}).size(), 3U);
  for (const Benchmark& benchmark : listed(machine_, {})) {
    EXPECT_NE(benchmark.id.family, "transfer/written");
  }
}

TEST_F(WrittenFamily, names_ends_engine_options_and_places) {
  const std::string at = "/numa:" + node();
  EXPECT_EQ(name_of("host(pinned,node:" + node() + ") -> gpu:1 by copy_engine, 64KiB"),
            "transfer/written/host_pinned/gpu_device/copy_engine" + at + "/gpu:1/bytes:65536");
  EXPECT_EQ(name_of("gpu:0(registers) -> host(mapped) by sm, 1MiB, width 16, flush"),
            "transfer/written/gpu_registers/host_mapped/sm" + at + "/gpu:0/flush:on/width:16/bytes:1048576");
  EXPECT_EQ(name_of("gpu:2 -> gpu:0 by copy_engine, 1MiB"),
            "transfer/written/peer_device/gpu_device/copy_engine/gpu:0/peer:2/bytes:1048576");
  EXPECT_EQ(name_of("gpu:2 -> gpu:0 by copy_engine, 1MiB, by_source"),
            "transfer/written/gpu_device/peer_device/copy_engine/gpu:2/peer:0/by_source:on/bytes:1048576");
  EXPECT_EQ(name_of("gpu:2 -> gpu:0 by copy_engine, 1MiB, no_peer_access"),
            "transfer/written/peer_device/gpu_device/copy_engine" + at +
                "/gpu:0/peer:2/no_peer_access:on/bytes:1048576");
  EXPECT_EQ(name_of("gpu:1 -> gpu:1 by sm, 1MiB, node " + node()),
            "transfer/written/gpu_device/gpu_device/sm" + at + "/gpu:1/bytes:1048576");
  EXPECT_EQ(name_of("host(pinned) -> gpu:0 by copy_engine, 1MiB; gpu:2 -> host(pinned) by sm, 4KiB, "
                    "background, repeats 3; compute(gpu:1), 2ms"),
            "transfer/written/host_pinned/gpu_device/copy_engine/peer_device/host_pinned/sm/compute_gpu_3" +
                at +
                "/gpu:0/peer:2/gpu_3:1/background_2:on/repeats_2:3/bytes_2:4096/computing_ms_3:2/"
                "bytes:1048576");
}

TEST_F(WrittenFamily, asks_the_same_question_of_every_gpu) {
  const auto axes_of = [&](const std::string& line) {
    std::string text;
    for (const Axis& axis : only_case(machine_, line).id.axes) {
      text += axis.key + "=" + to_string(axis.value) + " ";
    }
    return text;
  };
  EXPECT_EQ(axes_of("host(pinned) -> gpu:0 by sm, 4KiB"), axes_of("host(pinned) -> gpu:2 by sm, 4KiB"));
  EXPECT_EQ(axes_of("gpu:0 -> gpu:1 by sm, 4KiB"), axes_of("gpu:2 -> gpu:0 by sm, 4KiB"));
  EXPECT_NE(axes_of("gpu:0 -> gpu:1 by sm, 4KiB"), axes_of("gpu:0 -> gpu:1 by sm, 4KiB, by_source"));
  EXPECT_NE(axes_of("host(pinned) -> gpu:0 by sm, 4KiB"), axes_of("host(mapped) -> gpu:0 by sm, 4KiB"));
}

TEST_F(WrittenFamily, says_which_way_bytes_go_and_what_stands_between) {
  const auto axis = [&](const std::string& line, const std::string& key) {
    return test::text_of(only_case(machine_, line), key);
  };
  EXPECT_EQ(axis("host(pinned) -> gpu:0 by sm, 4KiB", "path"), "host_to_gpu");
  EXPECT_EQ(axis("gpu:0 -> host(pinned) by sm, 4KiB", "path"), "gpu_to_host");
  EXPECT_EQ(axis("gpu:0 -> gpu:1 by sm, 4KiB", "direction"), "read");
  EXPECT_EQ(axis("gpu:0 -> gpu:1 by sm, 4KiB, by_source", "direction"), "write");
  EXPECT_FALSE(axis("gpu:0 -> gpu:1 by sm, 4KiB", "link").empty());
  EXPECT_FALSE(axis("host(pinned) -> gpu:0 by sm, 4KiB", "locality").empty());
}

TEST_F(WrittenFamily, needs_the_memory_of_all_its_lanes) {
  const Needs needs = only_case(machine_,
                                "host(pinned) -> gpu:0 by sm, 1MiB; gpu:0 -> host(pinned) by sm; "
                                "host(managed) -> gpu:0 by fault")
                          .needs;
  EXPECT_EQ(needs.host_bytes, 3 * kMiB);
  EXPECT_EQ(needs.device_bytes, 2 * kMiB);
  EXPECT_EQ(needs.managed_bytes, kMiB);
}

TEST_F(WrittenFamily, can_be_explained_and_run) {
  const Benchmark benchmark = only_case(machine_, "host(pinned) -> gpu:0 by sm, 1MiB");
  EXPECT_TRUE(says(benchmark.explanation.measures, "host(pinned) -> gpu:0(device) by sm, 1048576"));
  EXPECT_TRUE(says(benchmark.explanation.source, "TransferBench"));
  EXPECT_TRUE(static_cast<bool>(benchmark.run));
  EXPECT_EQ(benchmark.skip, "");
}

TEST_F(WrittenFamily, keeps_to_the_range_of_sizes) {
  const Options options = parse_options(
      {"--transfer", "host(pinned) -> gpu:0 by sm, 4KiB..16KiB", "--min-bytes=8KiB", "--max-bytes=8KiB"});
  const auto cases = list_all(all_families(), machine_, scope_of(options, machine_));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(test::text_of(cases.front(), "bytes"), "8192");
}

std::string refused(const Machine& machine, const Lines& lines) {
  return refusal<UsageError>([&] { static_cast<void>(listed(machine, lines)); });
}

TEST_F(WrittenFamily, refuses_gpus_and_nodes_that_are_not_here) {
  const std::string gpu = refused(machine_, {"host(pinned) -> gpu:7 by sm, 4KiB"});
  EXPECT_TRUE(says(gpu, "--transfer 'host(pinned) -> gpu:7"));
  EXPECT_TRUE(says(gpu, "there is no GPU 7: this machine has GPUs 0, 1, 2"));
  const std::string node = refused(machine_, {"host(pinned,node:4711) -> gpu:0 by sm, 4KiB"});
  EXPECT_TRUE(says(node, "NUMA node 4711"));
  EXPECT_TRUE(says(node, "usable: "));
  EXPECT_TRUE(says(refused(machine_, {"gpu:0 -> gpu:9 by sm, 4KiB"}), "there is no GPU 9"));
  EXPECT_TRUE(says(refused(machine_, {"gpu:0 -> gpu:1 by sm, 4KiB, node 4711"}), "NUMA node 4711"));
  EXPECT_TRUE(
      says(refused(machine_, {"gpu:0 -> gpu:1 by sm, 4KiB; compute(gpu:8), 1ms"}), "there is no GPU 8"));
}

TEST_F(WrittenFamily, refuses_what_is_written_twice) {
  for (const Lines& lines :
       {Lines{"host(pinned) -> gpu:0 by sm, 4KiB", "host(pinned) -> gpu:0(device) by sm, 4096"},
        Lines{"host(pinned) -> gpu:0 by sm, 4KiB",
              "host(pinned,node:" + node() + ") -> gpu:0 by sm, 2KiB..8KiB"}}) {
    EXPECT_TRUE(says(refused(machine_, lines), "it is written twice"));
  }
}

TEST_F(WrittenFamily, is_skipped_for_the_reason_that_families_give) {
  const auto skip_of = [&](const std::string& line) { return only_case(machine_, line).skip; };
  machine_.environment.gpus[0].cuda->can_map_host_memory = false;
  machine_.environment.gpus[0].cuda->concurrent_managed_access = false;
  for (cuda::PeerLink& peer : machine_.runtime.peers) {
    peer.access = peer.from != 1;
  }
  EXPECT_TRUE(says(skip_of("host(registered) -> gpu:0 by sm, 4KiB"), "cannot map"));
  EXPECT_EQ(skip_of("host(registered) -> gpu:0 by copy_engine, 4KiB"), "");
  EXPECT_EQ(skip_of("gpu:0 -> gpu:0 by sm, 4KiB"), "");
  EXPECT_TRUE(says(skip_of("host(managed) -> gpu:0 by fault, 4KiB"), "does not migrate"));
  EXPECT_TRUE(says(skip_of("gpu:0 -> gpu:1 by sm, 4KiB"), "GPU 1 cannot reach the memory of GPU 0"));
  EXPECT_EQ(skip_of("gpu:0 -> gpu:1 by sm, 4KiB, by_source"), "");
  EXPECT_EQ(skip_of("gpu:0 -> gpu:1 by copy_engine, 4KiB, no_peer_access"), "");
  EXPECT_TRUE(says(skip_of("gpu:2 -> gpu:0 by sm, 4KiB; host(pinned) -> gpu:0 by sm"), "cannot map"));
}

TEST_F(WrittenFamily, without_a_gpu_lists_what_is_written_and_skips_it) {
  const Machine none = test::machine_without_gpu();
  for (const char* line : {"host(pinned) -> gpu:5 by sm, 4KiB", "gpu:0 -> gpu:1 by prefetch, 4KiB",
                           "host(pinned) -> gpu:0 by copy_engine, 4KiB; compute(gpu:0), 1ms"}) {
    EXPECT_EQ(only_case(none, line).skip, none.runtime.why_none) << line;
  }
}

// The combinations of tests/unit/core/transfer_test.cpp that no family lists, by what their cases
// would be called.
TEST_F(WrittenFamily, reaches_what_no_family_has) {
  for (const Family& family : all_families()) {
    if (!family.name.starts_with("transfer/") || family.written) {
      continue;
    }
    for (const Benchmark& benchmark : test::listed({family}, machine_, Preset::paper, true)) {
      const std::string name = benchmark.id.name();
      const bool copied = family.name == "transfer/memcpy";
      EXPECT_TRUE(copied || name.find("write_combined") == std::string::npos) << name;
      EXPECT_TRUE(copied || name.find("/registered_to") == std::string::npos) << name;
      EXPECT_TRUE(!copied || name.find("mapped") == std::string::npos) << name;
    }
  }
  for (const char* line :
       {"host(registered) -> gpu:0 by sm, 1MiB", "host(write_combined) -> gpu:0 by sm, 1MiB",
        "host(write_combined) -> gpu:0(registers) by sm, 1MiB",
        "gpu:0(registers) -> host(write_combined) by sm, 1MiB", "host(mapped) -> gpu:0 by copy_engine, 1MiB",
        "gpu:0 -> host(mapped) by copy_engine, 1MiB"}) {
    EXPECT_EQ(only_case(machine_, line).skip, "") << line;
  }
}

// The lines of docs/transfer.md behind --transfer.
Lines lines_of_guide() {
  const std::string guide = test::read_text(GRAINSCOPE_TRANSFER_GUIDE);
  const std::string flag = "--transfer '";
  Lines lines;
  for (std::size_t at = guide.find(flag); at != std::string::npos; at = guide.find(flag, at)) {
    at += flag.size();
    lines.push_back(guide.substr(at, guide.find('\'', at) - at));
  }
  return lines;
}

TEST_F(WrittenFamily, runs_every_example_of_the_guide_which_names_every_option) {
  const Lines lines = lines_of_guide();
  EXPECT_GT(lines.size(), 5U);
  for (const std::string& line : lines) {
    EXPECT_FALSE(listed(machine_, {line}).empty()) << line;
  }
  const std::string guide = test::read_text(GRAINSCOPE_TRANSFER_GUIDE);
  for (const char* option :
       {"flush", "pieces SIZE", "stride SIZE", "submission", "accessed_by", "access merged", "offset N",
        "width N", "blocks N", "threads N", "host_threads N", "by_source", "no_peer_access", "node N",
        "background", "repeats N"}) {
    EXPECT_TRUE(says(guide, std::string("`") + option));
  }
}

TEST(WrittenFlags, come_back_as_they_were_given) {
  const Options first =
      parse_options({"--transfer", "host(pinned) -> gpu:0 by sm, 4KiB, 8KiB; gpu:0 -> host(pinned) by sm",
                     "--transfer=gpu:0 -> gpu:1 by copy_engine, 1MiB", "--preset=smoke"});
  const Options again = parse_options(first.selection_flags);
  EXPECT_EQ(first.selection_flags.size(), 3U);
  EXPECT_EQ(again.selection_flags, first.selection_flags);
  ASSERT_EQ(first.transfers.size(), 3U);
  ASSERT_EQ(again.transfers.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(to_text(again.transfers[i]), to_text(first.transfers[i]));
  }
}

TEST(WrittenFlags, say_the_gpus_and_nodes_themselves) {
  for (const char* flag : {"--gpu=0", "--numa=0"}) {
    EXPECT_TRUE(says(refusal<UsageError>([&] {
                       static_cast<void>(parse_options({"--transfer", "gpu:0 -> gpu:0 by sm, 4KiB", flag}));
                     }),
                     "leave out --gpu and --numa"));
  }
}

TEST(WrittenFlags, say_all_of_what_moves) {
  for (const char* flag : {"--axis=bytes=4KiB", "--graph=kron:10"}) {
    EXPECT_TRUE(says(refusal<UsageError>([&] {
                       static_cast<void>(parse_options({"--transfer", "gpu:0 -> gpu:0 by sm, 4KiB", flag}));
                     }),
                     "leave out --axis and --graph"));
  }
}

void expect_status_2(const std::vector<std::string>& arguments, const std::string& said) {
  const Ended ended = run_program(arguments);
  EXPECT_EQ(ended.status, 2) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(says(ended.err, said));
}

TEST(WrittenProgram, ends_with_2_and_a_sentence_and_runs_nothing) {
  const test::TemporaryDirectory directory;
  const std::string out = "--out=" + (directory / "run").string();
  expect_status_2({"--transfer", "host(pined) -> gpu:0 by sm, 4KiB", out}, "the nearest is pinned");
  expect_status_2({"--transfer", "host(pageable) -> gpu:0 by sm, 4KiB", out}, "page-lock it");
  expect_status_2({"--transfer", "host(pinned) -> gpu:0 by sm, 0", out}, "from 4 B to 1024 TiB");
  expect_status_2({"--transfer", "", out}, "the word after --transfer is empty");
  expect_status_2({"--transfer=", out}, "--transfer= has no value");
  expect_status_2({"--transfer", " ", out}, "a transfer is missing");
  expect_status_2(
      {"--transfer", "gpu:0 -> gpu:0 by sm, 4KiB", "--transfer", "gpu:0 -> gpu:0 by sm, 4096", out},
      "it is written twice");
  expect_status_2({"--transfer", "host(pinned,node:4711) -> gpu:0 by sm, 4KiB", out}, "NUMA node 4711");
  expect_status_2({"--transfer", "gpu:0 -> gpu:0 by sm, 4KiB", "--benchmark_filter=memcpy", out},
                  "no case matches 'memcpy'");
  EXPECT_FALSE(std::filesystem::exists(directory / "run"));
}

TEST(WrittenProgram, without_a_gpu_plans_explains_keeps_and_resumes) {
  const test::Variables hidden{{"CUDA_VISIBLE_DEVICES", "-1"}};
  const std::string line = "host(registered) -> gpu:0 by sm, 64KiB, 1MiB";
  const Ended plan = run_program({"--plan", "--transfer", line}, hidden);
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_TRUE(says(plan.out, "2 cases skipped: "));
  const Ended explained = run_program({"--explain", "transfer/written", "--transfer", line}, hidden);
  EXPECT_TRUE(says(explained.out, "TransferBench"));
  EXPECT_TRUE(
      says(run_program({"--benchmark_list_tests", "--transfer", line}, hidden).err, "2 more cases match"));

  const test::TemporaryDirectory directory;
  const auto folder = directory / "run";
  EXPECT_EQ(run_program({"--transfer", line, "--out=" + folder.string()}, hidden).status, 0);
  const nlohmann::json result = test::read_result(folder);
  EXPECT_EQ(test::result_errors(result), "");
  EXPECT_EQ(result["context"]["run"]["flags"], (nlohmann::json{"--transfer=" + line}));
  ASSERT_EQ(result["benchmarks"].size(), 2U);
  for (const auto& row : result["benchmarks"]) {
    EXPECT_EQ(row["status"], "skipped");
    EXPECT_EQ(row["case"]["axes"]["from"], "host_registered");
    EXPECT_EQ(row["case"]["axes"]["engine"], "sm");
  }
  EXPECT_EQ(run_program({"--resume=" + folder.string()}, hidden).status, 0);
  EXPECT_EQ(test::read_result(folder)["benchmarks"], result["benchmarks"]);
}

TEST(WrittenProgram, has_its_grammar_in_the_help) {
  EXPECT_TRUE(says(run_program({"--help=transfers"}).out, transfer::written_grammar()));
  EXPECT_TRUE(says(run_program({"--help=all"}).out, transfer::written_grammar()));
  EXPECT_TRUE(says(run_program({"--help"}).out, "transfers"));
}

}  // namespace
}  // namespace grainscope::harness
