// The table of a run, at the widths that terminals have.

#include "harness/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fakes.hpp"
#include "families.hpp"
#include "harness/selection.hpp"
#include "says.hpp"
#include "stored_machines.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::says;

json row_of(const Benchmark& benchmark) {
  json axes = json::object();
  for (const Axis& axis : benchmark.id.axes) {
    std::visit([&](const auto& value) { axes[axis.key] = value; }, axis.value);
  }
  json site = json::object();
  for (const Site& place : benchmark.id.site) {
    site[place.key] = place.value;
  }
  return {{"name", benchmark.id.name()},
          {"status", "ok"},
          {"label", benchmark.modelled ? "modelled" : "measured"},
          {"case", {{"family", benchmark.id.family}, {"axes", axes}, {"site", site}}},
          {"median_s", 486e-6},
          {"interval_s", {400e-6, 572e-6}},
          {"flags", {"wide_interval", "visits_differ"}}};
}

json with_rate(json row) {
  row["bandwidth_gb_s"] = 1234.0;
  row["link_fraction"] = 0.999;
  return row;
}

json of_operations(json row, int count) {
  row["operations"] = count;
  row["operation_s"] = row["median_s"].get<double>() / count;
  return row;
}

std::string table_of(const std::vector<Benchmark>& cases, const std::vector<json>& rows, const Screen& screen,
                     bool full_names = false) {
  std::ostringstream out;
  Table table(out, screen, cases, full_names);
  for (const json& row : rows) {
    table.add(row);
  }
  table.finish();
  return out.str();
}

Benchmark fake(const std::string& which, std::int64_t bytes) {
  Benchmark benchmark;
  benchmark.id = {"fake/copy",
                  {{"which", which, AxisStyle::bare}, {"bytes", bytes, AxisStyle::keyed, AxisUnit::bytes}},
                  {{"gpu", 0}}};
  return benchmark;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

TEST(Table, has_no_line_wider_than_the_screen_and_a_line_a_case) {
  test::MachineTree tree;
  const Machine machine = test::write_machine({.gpus = 2}, tree);
  const Scope scope = make_scope(Preset::quick, gpu_targets(machine, {}), true, node_targets(machine, {}));
  std::vector<Benchmark> cases = select(all_families(), machine, scope, "", 1, 1).runnable;
  ASSERT_GT(cases.size(), 500U);
  std::vector<json> rows;
  for (const Benchmark& benchmark : cases) {
    rows.push_back(rows.size() % 3 == 0 ? of_operations(row_of(benchmark), 128)
                                        : with_rate(row_of(benchmark)));
  }
  for (const std::size_t width : {40U, 60U, 80U, 100U, 160U, 200U}) {
    for (const bool utf8 : {false, true}) {
      const std::string text = table_of(cases, rows, {.width = width, .utf8 = utf8});
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(letters(line), width) << line;
      }
      EXPECT_EQ(count(text, " each\n") + count(text, " each "),
                count(text, "µs each") + count(text, "us each"));
      EXPECT_EQ(count(text, utf8 ? "µs each" : "us each"), (cases.size() + 2) / 3) << width;
      EXPECT_EQ(count(text, "GB/s"), cases.size() - (cases.size() + 2) / 3) << width;
    }
  }
}

TEST(Table, has_what_cases_share_in_the_heading_and_what_differs_in_the_field_s_form) {
  const std::vector<Benchmark> cases{fake("up", 65536), fake("up", 1 << 20)};
  const std::string text = table_of(cases, {with_rate(row_of(cases[0])), with_rate(row_of(cases[1]))}, {});
  EXPECT_TRUE(says(text, "\nfake/copy  up, gpu 0\n"));
  EXPECT_TRUE(says(text, "\n  64 KiB "));
  EXPECT_TRUE(says(text, "\n   1 MiB "));
  EXPECT_FALSE(says(text, "bytes:"));
}

TEST(Table, says_each_of_the_time_of_one_operation) {
  const std::vector<Benchmark> cases{fake("launch", 1)};
  const std::string text = table_of(cases, {of_operations(row_of(cases[0]), 128)}, {.utf8 = true});
  EXPECT_TRUE(says(text, "3.80 µs each"));
  EXPECT_FALSE(says(text, "486"));
}

TEST(Table, spells_units_as_the_screen_can_show_them) {
  const std::vector<Benchmark> cases{fake("up", 1)};
  const std::string ascii = table_of(cases, {row_of(cases[0])}, {});
  EXPECT_TRUE(says(ascii, "486 us"));
  EXPECT_TRUE(says(ascii, "+-17.7 %"));
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char letter) { return letter > 0; }));
  const std::string utf8 = table_of(cases, {row_of(cases[0])}, {.utf8 = true});
  EXPECT_TRUE(says(utf8, "486 µs"));
  EXPECT_TRUE(says(utf8, "±17.7 %"));
  EXPECT_FALSE(says(utf8, "+-"));
}

TEST(Table, waits_until_a_group_is_whole_and_prints_the_rest_at_the_end) {
  const std::vector<Benchmark> cases{fake("up", 1), fake("up", 2)};
  std::ostringstream out;
  Table table(out, {}, cases, false);
  table.add(row_of(cases[1]));
  EXPECT_EQ(out.str(), "");
  table.finish();
  EXPECT_TRUE(says(out.str(), "2 B"));
  EXPECT_FALSE(says(out.str(), "\n  1 B"));
}

TEST(Table, has_what_is_modelled_in_a_block_of_its_own) {
  std::vector<Benchmark> cases{fake("modelled", 1), fake("measured", 2)};
  cases[0].modelled = true;
  const std::string text = table_of(cases, {row_of(cases[0]), row_of(cases[1])}, {});
  const auto block = text.find("MODELLED, NOT MEASURED");
  EXPECT_LT(text.find("measured, gpu 0"), block);
  EXPECT_GT(text.find("modelled, gpu 0"), block);
  EXPECT_NE(block, std::string::npos);
}

TEST(Table, shows_failed_lines_in_red_flagged_ones_in_yellow_and_no_skipped_ones) {
  const std::vector<Benchmark> cases{fake("up", 1), fake("up", 2), fake("up", 4)};
  std::vector<json> rows{row_of(cases[0]), row_of(cases[1]), row_of(cases[2])};
  rows[1] = {{"name", rows[1]["name"]}, {"status", "failed"}, {"reason", "word 7 is wrong"}};
  rows[2]["status"] = "skipped";
  const std::string text = table_of(cases, rows, {.color = true});
  EXPECT_TRUE(says(text, "\033[33m    1 B"));
  EXPECT_TRUE(says(text, "\033[31m    2 B"));
  EXPECT_TRUE(says(text, "word 7 is wrong\033[0m\n"));
  EXPECT_FALSE(says(text, "4 B"));
}

TEST(Table, has_whole_names_where_they_are_asked_for) {
  const std::vector<Benchmark> cases{fake("up", 65536)};
  EXPECT_TRUE(says(table_of(cases, {row_of(cases[0])}, {.width = 40}, true), cases[0].id.name() + "  "));
}

TEST(Table, takes_a_row_of_a_case_that_is_no_longer_listed) {
  const std::string text = table_of({}, {row_of(fake("up", 1))}, {});
  EXPECT_TRUE(says(text, fake("up", 1).id.name()));
}

TEST(Headlines, are_the_best_of_what_a_run_has) {
  Benchmark slow = fake("pinned_to_gpu", 1 << 20);
  slow.id.family = "transfer/memcpy";
  slow.id.axes.push_back({"path", "pinned_to_gpu"});
  slow.id.axes.push_back({"timed", "copy"});
  json good = with_rate(row_of(slow));
  json bad = good;
  bad["bandwidth_gb_s"] = 1.0;
  const std::string text = headlines_text({bad, good, bad}, {});
  EXPECT_TRUE(says(text, "pinned copy to the GPU"));
  EXPECT_TRUE(says(text, "1234 GB/s"));
  EXPECT_TRUE(says(text, "1 MiB, gpu 0"));
  EXPECT_EQ(count(text, "\n"), 1U);
  EXPECT_EQ(headlines_text({row_of(fake("up", 1))}, {}), "");
}

TEST(Reasons, that_differ_in_numbers_alone_are_one_line) {
  const std::string text = reasons_text({{"needs 3 GiB", 2}, {"needs 12 GiB", 3}, {"no driver", 1}}, "", 100);
  EXPECT_EQ(text,
            "5 cases skipped: needs 12 GiB (others differ in the numbers)\n"
            "1 case skipped: no driver\n");
}

TEST(Reasons, of_most_cases_are_told_and_the_others_counted) {
  std::map<std::string, int> many;
  for (int i = 0; i < 8; ++i) {
    many[std::string("because ") + static_cast<char>('a' + i)] = 10 - i;
  }
  const std::string text = reasons_text(many, "", 100);
  EXPECT_EQ(count(text, "\n"), 6U);
  EXPECT_TRUE(says(text, "6 cases skipped: because e\n12 cases skipped for 3 other reasons\n")) << text;
}

}  // namespace
}  // namespace grainscope::harness
