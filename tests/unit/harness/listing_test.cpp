// What every preset lists on machines that are not here, with its reasons for skipping and the memory it
// needs: held to tests/golden/listings.txt, a line for each machine and what was asked for.
//
// To look at a difference: GRAINSCOPE_LISTINGS=FOLDER writes the whole lists there, for `diff -r` with those
// of another commit. GRAINSCOPE_NEW_LISTINGS=1 writes the golden file anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "child.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/plan.hpp"
#include "harness/screen.hpp"
#include "harness/selection.hpp"
#include "harness/show.hpp"
#include "harness/visits.hpp"

namespace grainscope::harness {
namespace {

// FNV-1a: short, and the same everywhere.
std::uint64_t digest_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return hash;
}

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

std::string line_of(const Benchmark& benchmark) {
  const Needs& needs = benchmark.needs;
  const Explanation& said = benchmark.explanation;
  std::ostringstream line;
  line << benchmark.id.name();
  for (const Axis& axis : benchmark.id.axes) {
    line << (axis.style == AxisStyle::hidden ? " " + axis.key + "=" + to_string(axis.value) : "");
  }
  line << "\t" << benchmark.skip << "\t" << needs.host_bytes << " " << needs.device_bytes << " "
       << needs.managed_bytes << " " << needs.shared_host_bytes << "\t"
       << hexadecimal(digest_of(said.measures + said.timed + said.formula + said.source + said.limits));
  return line.str();
}

// What a user may ask for beside a preset.
using Asked = std::function<void(Scope&)>;
const std::map<std::string, Asked>& questions() {
  static const std::map<std::string, Asked> all{
      {"", [](Scope&) {}},
      {"--max-bytes=8MiB", [](Scope& scope) { scope.max_bytes = 8 * kMiB; }},
      {"--min-bytes=1MiB --max-bytes=64GiB",
       [](Scope& scope) {
         scope.min_bytes = kMiB;
         scope.max_bytes = 64 * kGiB;
       }},
      {"--graph=urand:16,kron:24 --hot-budget=64MiB",
       [](Scope& scope) {
         scope.graphs = {graph::parse_graph_spec("urand:16"), graph::parse_graph_spec("kron:24")};
         scope.hot_budgets = {64 * kMiB};
       }},
  };
  return all;
}

class Listings : public testing::Test {
 protected:
  Listings() {
    test::write_text(programs_ / "nvidia-cuda-mps-control", "#!/bin/sh\n");
    std::filesystem::permissions(programs_ / "nvidia-cuda-mps-control", std::filesystem::perms::owner_all);
    before_ = std::getenv("PATH");
  }
  ~Listings() override { setenv("PATH", before_.c_str(), 1); }

  // By family, sorted: in which order they run is nobody's promise.
  std::map<std::string, std::vector<std::string>> list(const Machine& machine, Preset preset,
                                                       bool gpus_asked_for, const Asked& asked) const {
    Scope scope = make_scope(preset, gpu_targets(machine, {}), gpus_asked_for, node_targets(machine, {}));
    asked(scope);
    std::map<std::string, std::vector<std::string>> lines;
    std::ofstream whole;
    for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
      lines[benchmark.id.family].push_back(line_of(benchmark));
    }
    return lines;
  }

  void use_mps(bool there) const { setenv("PATH", there ? programs_.path().c_str() : "/nowhere", 1); }

  static void keep(const std::string& title, const std::map<std::string, std::vector<std::string>>& lists) {
    const char* folder = std::getenv("GRAINSCOPE_LISTINGS");
    if (folder == nullptr) {
      return;
    }
    std::filesystem::create_directories(folder);
    std::ofstream file(std::filesystem::path(folder) / title);
    for (const auto& [family, lines] : lists) {
      for (const std::string& line : lines) {
        file << line << '\n';
      }
    }
  }

  const test::TemporaryDirectory programs_;
  std::string before_;
};

// What a name tells, its family declares; locality and link are those of the places in it.
TEST_F(Listings, have_no_axis_that_a_family_does_not_declare) {
  for (const auto& [machine_name, described] : test::stored_machines()) {
    if (described.gpus > 4) {
      continue;
    }
    test::MachineTree tree;
    const Machine machine = test::write_machine(described, tree);
    for (const Family& family : all_families()) {
      std::set<std::string> declared{"locality", "link"};
      for (const DeclaredAxis& axis : family.axes) {
        declared.insert(axis.key);
      }
      const auto is_declared = [&](const Axis& axis) { return declared.contains(axis.key); };
      for (const Preset preset : {Preset::smoke, Preset::full, Preset::paper}) {
        const Scope scope =
            make_scope(preset, gpu_targets(machine, {}), false, machine.topology.usable_nodes());
        for (const Benchmark& benchmark : list_all({family}, machine, scope)) {
          EXPECT_TRUE(std::all_of(benchmark.id.axes.begin(), benchmark.id.axes.end(), is_declared))
              << machine_name << ": " << benchmark.id.name();
        }
      }
    }
  }
}

TEST_F(Listings, of_every_preset_on_every_machine_are_as_they_were) {
  std::vector<std::string> found;
  for (const auto& [machine_name, described] : test::stored_machines()) {
    test::MachineTree tree;
    const Machine machine = test::write_machine(described, tree);
    use_mps(described.mps);
    for (const Preset preset :
         {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
      for (const bool asked_for : {false, true}) {
        for (const auto& [question, asked] : questions()) {
          // What matters of each; all of it would take minutes.
          const bool many = described.gpus > 4;
          const bool plain = question.empty();
          if ((asked_for && (described.gpus < 2 || !plain)) ||
              (many && (!plain || preset == Preset::paper)) ||
              (!plain && described.gpus != 1 && preset == Preset::paper)) {
            continue;
          }
          const std::string title = machine_name + " " + name(preset) + (asked_for ? " --gpu=all" : "") +
                                    (question.empty() ? "" : " ") + question;
          auto lists = list(machine, preset, asked_for, asked);
          keep(title, lists);
          std::size_t cases = 0;
          std::string all;
          for (auto& [family, lines] : lists) {
            std::sort(lines.begin(), lines.end());
            cases += lines.size();
            for (const std::string& line : lines) {
              all += line + "\n";
            }
          }
          found.push_back(title + ": " + std::to_string(cases) + " " + hexadecimal(digest_of(all)));
        }
      }
    }
  }
  if (std::getenv("GRAINSCOPE_NEW_LISTINGS") != nullptr) {
    std::ofstream file(GRAINSCOPE_GOLDEN_LISTINGS);
    for (const std::string& line : found) {
      file << line << '\n';
    }
  }
  std::ifstream file(GRAINSCOPE_GOLDEN_LISTINGS);
  std::vector<std::string> golden;
  for (std::string line; std::getline(file, line);) {
    golden.push_back(line);
  }
  const std::set<std::string> was(golden.begin(), golden.end());
  const std::set<std::string> is(found.begin(), found.end());
  for (const std::string& line : is) {
    EXPECT_TRUE(was.contains(line)) << "now:    " << line;
  }
  for (const std::string& line : was) {
    EXPECT_TRUE(is.contains(line)) << "before: " << line;
  }
  EXPECT_GT(found.size(), 100U);
}

}  // namespace
namespace {

// What is said before and while a run measures, of machines that are not at hand: the plan's screen, and the
// time left.

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

// As `--preset paper --shard K/12`; two commands of ten minutes have room for what a machine takes longer.
TEST(Plan, of_paper_on_one_gpu_is_at_most_twelve_shards_of_twelve_minutes) {
  constexpr int kShards = 12;
  test::MachineTree tree;
  const Machine machine = test::write_machine({.gpus = 1}, tree);
  const Scope scope = make_scope(Preset::paper, gpu_targets(machine, {}), false, node_targets(machine, {}));
  std::size_t cases = 0;
  std::vector<double> takes_s;
  for (int shard = 1; shard <= kShards; ++shard) {
    const Selection selection = select(all_families(), machine, scope, "", shard, kShards);
    takes_s.push_back(plan_estimate_s(selection.runnable, scope));
    cases += selection.runnable.size();
  }
  const auto [least_s, most_s] = std::minmax_element(takes_s.begin(), takes_s.end());
  EXPECT_LE(*most_s, 12 * 60);
  EXPECT_LE(*most_s - *least_s, 60);  // memory that cases share counts where its largest span is
  EXPECT_GT(cases, 3000U);
}

TEST(Plan, knows_that_the_power_of_a_board_takes_its_time) {
  test::MachineTree tree;
  Chosen chosen = choose(test::write_machine({.gpus = 1}, tree), Preset::quick);
  const double without_s = plan_estimate_s(chosen.selection.runnable, chosen.scope);
  std::size_t visits = 0;
  for (const Benchmark& benchmark : chosen.selection.runnable) {
    visits += benchmark.gpus().size() != 1 || benchmark.about_s
                  ? 0
                  : static_cast<std::size_t>(visits_to(benchmark, chosen.scope));
  }
  chosen.scope.sampling.power = true;
  EXPECT_NEAR(plan_estimate_s(chosen.selection.runnable, chosen.scope) - without_s,
              0.4 * static_cast<double>(visits), 1e-6 * without_s);
  EXPECT_GT(visits, 1000U);
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
  EXPECT_LT(worst_error(test::write_machine({.gpus = 1}, with_gpu), "durations_one_h100.txt"), 0.15);
  test::MachineTree without;
  EXPECT_LT(worst_error(test::write_machine({}, without), "durations_no_gpu.txt"), 0.15);
}

// The plan of a stored run's visits over what they took.
double planned_over_taken(const std::string& file, Preset preset, const std::string& graph, int trials) {
  const Stored stored = read_durations(file);
  test::MachineTree tree;
  const Machine machine = test::write_machine({.gpus = 2}, tree);
  Scope scope = make_scope(preset, gpu_targets(machine, {}), false, node_targets(machine, {}));
  if (!graph.empty()) {
    scope.graphs = {graph::parse_graph_spec(graph)};
  }
  scope.trials = trials;
  scope.trials_s = 0;
  double planned_s = 0;
  double taken_s = 0;
  std::size_t known = 0;
  for (const Benchmark& benchmark : list_all({traversal()}, machine, scope)) {
    const auto visits_s = stored.visits_s.find(benchmark.id.name());
    if (visits_s == stored.visits_s.end()) {
      continue;
    }
    ++known;
    planned_s += static_cast<double>(visits_s->second.size()) * visit_estimate_s(benchmark, scope);
    taken_s = std::accumulate(visits_s->second.begin(), visits_s->second.end(), taken_s);
  }
  EXPECT_EQ(known, stored.visits_s.size()) << file;
  return planned_s / taken_s;
}

// Of what one H200 took, from all sources: a part of `paper` with a 36th of its programs, and another but for
// its last cases, whose ranks were proven one at a time; an older part; and a third of `full`. Of what
// several visits took the file has the mean.
TEST(TimeLeft, is_planned_by_what_parts_of_paper_and_full_took) {
  test::MachineTree tree;
  const Machine machine = test::write_machine({.gpus = 1}, tree);
  const auto planned_over_taken = [&](const std::string& file, Preset preset, const std::string& filter) {
    const Stored stored = read_durations(file);
    Scope scope = make_scope(preset, gpu_targets(machine, {}), false, node_targets(machine, {}));
    scope.trials_s = 0;  // they are of all sources
    std::vector<Benchmark> cases = select(all_families(), machine, scope, filter, 1, 1).runnable;
    std::erase_if(cases, [&](const Benchmark& each) { return !stored.visits_s.contains(each.id.name()); });
    double taken_s = 0;
    for (const Benchmark& each : cases) {
      const double took_s = visits_to(each, scope) * stored.visits_s.at(each.id.name()).front();
      taken_s += took_s;
      const double off_s = visits_to(each, scope) * visit_estimate_s(each, scope) - took_s;
      if (std::getenv("GRAINSCOPE_SHOW_ERRORS") != nullptr && std::abs(off_s) > 2) {
        std::printf("%s: the plan is %+.1f s off\n", each.id.name().c_str(), off_s);
      }
    }
    const double planned_s = plan_estimate_s(cases, scope);
    if (std::getenv("GRAINSCOPE_SHOW_ERRORS") != nullptr) {
      std::printf("%s %s: %zu cases, planned %.0f s, took %.0f s\n", file.c_str(), filter.c_str(),
                  cases.size(), planned_s, taken_s);
    }
    return planned_s / taken_s;
  };
  const auto expect_near = [&](const std::string& file, Preset preset, const std::string& filter) {
    const double of_taken = planned_over_taken(file, preset, filter);
    EXPECT_GT(of_taken, 0.8) << file << " " << filter;
    EXPECT_LT(of_taken, 1.25) << file << " " << filter;
  };
  expect_near("durations_paper_now_h200.txt", Preset::paper, "^(traversal|lean)/");
  expect_near("durations_paper_now_h200.txt", Preset::paper, "");
  expect_near("durations_paper_shard_h200.txt", Preset::paper, "^traversal/");
  expect_near("durations_paper_shard_h200.txt", Preset::paper, "");
  expect_near("durations_paper_part_h200.txt", Preset::paper, "");
  expect_near("durations_full_third_h200.txt", Preset::full, "");
}

TEST(TimeLeft, of_large_graphs_is_planned_by_their_edges_and_levels) {
  const double kron = planned_over_taken("durations_kron24_two_h100.txt", Preset::full, "kron:24", 8);
  EXPECT_GT(kron, 0.65) << kron;
  EXPECT_LT(kron, 1.5) << kron;
  const double road = planned_over_taken("durations_road20_h100.txt", Preset::paper, "", 4);
  EXPECT_GT(road, 0.5) << road;
  EXPECT_LT(road, 2.0) << road;
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
