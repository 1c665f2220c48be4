// What every preset lists on machines that are not here, with its reasons for skipping and the memory it
// needs: held to tests/golden/listings.txt, a line for each machine and what was asked for.
//
// To look at a difference: GRAINSCOPE_LISTINGS=FOLDER writes the whole lists there, for `diff -r` with those
// of another commit. GRAINSCOPE_NEW_LISTINGS=1 writes the golden file anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "child.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "stored_machines.hpp"

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
}  // namespace grainscope::harness
