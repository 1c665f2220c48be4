// What is said before and while a run measures, of machines that are not at hand: the plan's screen, and the
// time left.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "fakes.hpp"
#include "families.hpp"
#include "harness/screen.hpp"
#include "harness/selection.hpp"
#include "harness/show.hpp"
#include "harness/visits.hpp"
#include "stored_machines.hpp"

namespace grainscope::harness {
namespace {

struct Chosen {
  Scope scope;
  Selection selection;
};

Chosen choose(const Machine& machine, Preset preset) {
  Chosen chosen{make_scope(preset, gpu_targets(machine, {}), false, node_targets(machine, {})), {}};
  chosen.selection = select(all_families(), machine, chosen.scope, "", 1, 1);
  return chosen;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(Plan, fits_a_screen_for_every_preset_on_every_machine) {
  for (const auto& [name_of_machine, described] : test::stored_machines()) {
    test::MachineTree tree;
    const Machine machine = test::write_machine(described, tree);
    for (const Preset preset : kAllPresets) {
      if (described.gpus > 4 && preset == Preset::paper) {
        continue;  // takes a minute to list
      }
      const Chosen chosen = choose(machine, preset);
      const std::string text = plan_text(chosen.selection, chosen.scope, 100, false);
      const std::vector<std::string> lines = lines_of(text);
      EXPECT_LE(lines.size(), 40U) << name_of_machine << ' ' << name(preset) << '\n' << text;
      for (const std::string& line : lines) {
        EXPECT_LE(letters(line), 100U) << name_of_machine << ' ' << name(preset) << ": " << line;
      }
      EXPECT_NE(text.find("\nall "), std::string::npos) << text;
    }
  }
}

TEST(Plan, says_each_reason_once_with_all_its_cases) {
  test::MachineTree tree;
  const Chosen chosen = choose(test::write_machine({.sockets = 2}, tree), Preset::quick);
  const std::string text = plan_text(chosen.selection, chosen.scope, 100, false);
  const std::string reason = "cases skipped: there is no driver";
  const auto at = text.find(reason);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find(reason, at + 1), std::string::npos) << text;
  const auto all =
      std::count_if(chosen.selection.skipped.begin(), chosen.selection.skipped.end(),
                    [](const Benchmark& benchmark) { return benchmark.skip == "there is no driver"; });
  EXPECT_NE(text.find(std::to_string(all) + " " + reason), std::string::npos) << text;
  const std::string whole = plan_text(chosen.selection, chosen.scope, 100, true);
  EXPECT_NE(whole.find("\n  " + chosen.selection.skipped.front().id.name() + "\n"), std::string::npos);
  EXPECT_NE(whole.find("\nhost/memcpy "), std::string::npos);
}

// What the visits of a stored run took, by case, and the seed of their order.
struct Stored {
  std::uint64_t seed = 0;
  std::map<std::string, std::vector<double>> visits_s;
};

Stored read_durations(const std::string& file) {
  std::ifstream stream(GRAINSCOPE_GOLDEN_FOLDER + file);
  Stored stored;
  double wall_s = 0;
  stream >> stored.seed >> wall_s;
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (double seconds = 0; words >> seconds;) {
      stored.visits_s[name].push_back(seconds);
    }
  }
  return stored;
}

// Replays a stored run; the worst error of the time left, as a part of the whole run, after a tenth of it and
// until nine tenths are over.
double worst_error(const Machine& machine, const std::string& file) {
  const Stored stored = read_durations(file);
  Chosen chosen = choose(machine, Preset::quick);
  std::vector<Benchmark>& cases = chosen.selection.runnable;
  const std::size_t listed = stored.visits_s.size();
  std::erase_if(cases,
                [&](const Benchmark& benchmark) { return !stored.visits_s.contains(benchmark.id.name()); });
  EXPECT_GT(cases.size(), listed * 9 / 10) << file;
  TimeLeft left;
  double all_s = 0;
  for (const Benchmark& benchmark : cases) {
    const auto& visits_s = stored.visits_s.at(benchmark.id.name());
    left.expect(benchmark.id.name(), benchmark.id.family, visit_estimate_s(benchmark, chosen.scope),
                visits_to(benchmark, chosen.scope));
    for (const double seconds : visits_s) {
      all_s += seconds;
    }
  }
  double passed_s = 0;
  double worst = 0;
  std::map<std::string, std::size_t> done;
  for (int round = 1; round <= chosen.scope.visits; ++round) {
    for (const std::size_t i : visit_order(cases, stored.seed, round)) {
      const std::string name_of_case = cases[i].id.name();
      const auto& visits_s = stored.visits_s.at(name_of_case);
      const std::size_t visit = done[name_of_case]++;
      if (visit >= visits_s.size()) {
        continue;
      }
      passed_s += visits_s[visit];
      left.finished(name_of_case, visits_s[visit]);
      if (passed_s > 0.1 * all_s && passed_s < 0.9 * all_s) {
        const double error = std::abs(passed_s + left.seconds() - all_s) / all_s;
        if (std::getenv("GRAINSCOPE_SHOW_ERRORS") != nullptr && error > worst) {
          std::printf("%s: at %.0f %% %.1f %% off\n", file.c_str(), 100 * passed_s / all_s,
                      100 * (passed_s + left.seconds() - all_s) / all_s);
        }
        worst = std::max(worst, error);
      }
    }
  }
  return worst;
}

TEST(TimeLeft, of_a_stored_run_is_right_by_15_percent_after_a_tenth) {
  test::MachineTree with_gpu;
  EXPECT_LT(worst_error(test::write_machine({.gpus = 1}, with_gpu), "durations_one_h200.txt"), 0.15);
  test::MachineTree without;
  EXPECT_LT(worst_error(test::write_machine({}, without), "durations_no_gpu.txt"), 0.15);
}

TEST(TimeLeft, is_the_plan_at_first_and_what_visits_took_at_last) {
  TimeLeft left;
  left.expect("a", "family", 1, 2);
  left.expect("b", "family", 1, 2);
  EXPECT_DOUBLE_EQ(left.seconds(), 4);
  EXPECT_EQ(left.visits(), 4U);
  left.finished("a", 3);
  // Again 3 s of a; of b more than the plan said.
  EXPECT_GT(left.seconds(), 3 + 2 * 1.5);
  EXPECT_LT(left.seconds(), 3 + 2 * 3);
  left.finished("b", 5);
  EXPECT_DOUBLE_EQ(left.seconds(), 8);
  left.drop("b");
  EXPECT_DOUBLE_EQ(left.seconds(), 3);
  left.finished("b", 5);  // not expected any more
  EXPECT_DOUBLE_EQ(left.seconds(), 3);
  left.finished("a", 3);
  EXPECT_DOUBLE_EQ(left.seconds(), 0);
  EXPECT_EQ(left.visits(), 0U);
}

}  // namespace
}  // namespace grainscope::harness
