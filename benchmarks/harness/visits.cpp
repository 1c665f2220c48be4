#include "visits.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/system/child_process.hpp"
#include "options.hpp"
#include "presets.hpp"
#include "result_store.hpp"
#include "row.hpp"
#include "run.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

// How often a run that waits for its process looks for a signal.
constexpr double kBetweenLooks_s = 0.1;
// What it answers to each line.
constexpr const char* kTaken = "taken";

// std::shuffle draws differently in each library, and a seed should mean the same order everywhere.
template <class T>
void shuffle(std::vector<T>& items, std::mt19937_64& random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[random() % i]);
  }
}

// In place of a family's name, of cases that share something with those of other families.
constexpr const char* kSeveralFamilies = "several";

// What cases share that is costly to make: a graph, a span of memory. Empty where they share nothing.
std::string shared_by(const Benchmark& benchmark) {
  std::string shared = benchmark.shares;
  for (const Axis& axis : benchmark.id.axes) {
    if (axis.key == "graph" || axis.key == "span") {
      shared.append(axis.key).append(":").append(to_string(axis.value));
    }
  }
  return shared;
}

}  // namespace

std::vector<std::size_t> visit_order(const std::vector<Benchmark>& cases, std::uint64_t seed, int round) {
  std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U),
                      static_cast<std::uint32_t>(round)};
  std::mt19937_64 random(seeds);
  using Group = std::vector<std::size_t>;
  std::vector<std::string> families;
  std::map<std::string, std::vector<Group>> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> of_shared;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string family = cases[i].shares.empty() ? cases[i].id.family : kSeveralFamilies;
    std::vector<Group>& own = groups[family];
    if (own.empty()) {
      families.push_back(family);
    }
    const std::string shared = shared_by(cases[i]);
    const auto known = of_shared.find({family, shared});
    if (shared.empty() || known == of_shared.end()) {
      of_shared[{family, shared}] = own.size();
      own.push_back({i});
    } else {
      own[known->second].push_back(i);
    }
  }
  shuffle(families, random);
  std::vector<std::size_t> order;
  order.reserve(cases.size());
  for (const std::string& family : families) {
    shuffle(groups[family], random);
    for (const Group& group : groups[family]) {
      order.insert(order.end(), group.begin(), group.end());
    }
  }
  return order;
}

namespace {

ChildRequest request_of(const std::vector<std::string>& flags) {
  ChildRequest request{.words = {kOwnProgram, kVisitCommand}};
  request.words.insert(request.words.end(), flags.begin(), flags.end());
  return request;
}

}  // namespace

RoundProcess::RoundProcess(const std::vector<std::string>& flags, const Round& round)
    : process_(std::make_unique<ChildProcess>(request_of(flags))) {
  // One that has ended already says so when its output is read.
  static_cast<void>(process_->write_line(round.dump()));
}

RoundProcess::~RoundProcess() = default;

namespace {

// The next line of a process, or nothing at its end. A signal to this process is handed on, once.
std::optional<std::string> next_line(ChildProcess& process, bool& told) {
  while (true) {
    if (const int signal = signal_received(); signal != 0 && !std::exchange(told, true)) {
      process.send(signal);
    }
    if (process.readable(kBetweenLooks_s)) {
      return process.read_line(kBetweenLooks_s);
    }
  }
}

}  // namespace

Ending RoundProcess::listen(const std::function<void(const json&)>& take) {
  bool told = false;
  std::string latest;
  while (true) {
    const auto text = next_line(*process_, told);
    const json line = text ? json::parse(*text, nullptr, false) : json();
    if (line.contains("end")) {
      return {line["end"], static_cast<ExitStatus>(line.value("status", 0)),
              line.value("late", std::size_t{0})};
    }
    if (text && !line.is_object()) {  // printed by a library, before it was kept from that
      std::cerr << *text << '\n';
      continue;
    }
    if (!text) {
      const auto end = process_->wait(1);
      throw FailedError("the process of this round of visits " +
                        (end ? to_string(*end) : "has closed its output") +
                        (latest.empty() ? "" : " while " + latest + " ran"));
    }
    latest = line.value("starting", latest);
    take(line);
    // Of one that has ended, the next line tells.
    static_cast<void>(process_->write_line(kTaken));
  }
}

Round read_round() {
  std::string text;
  std::getline(std::cin, text);
  Round round = json::parse(text, nullptr, false);
  if (!round.is_object()) {
    throw UsageError(std::string(kVisitCommand) + " is started by the program itself");
  }
  return round;
}

void say(const json& line) {
  std::cout << line.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  std::string taken;
  if (!line.contains("end")) {
    std::getline(std::cin, taken);
  }
}

namespace {

namespace fs = std::filesystem;

constexpr int kMostRuns = 100;
constexpr const char* kUsage =
    "grainscope repeat N --out DIR [FLAGS]\n"
    "Runs N times what FLAGS ask for, each time in a process of its own, into DIR/1 to DIR/N.\n"
    "What these runs differ by is the type B uncertainty of this machine: grainscope-report takes\n"
    "DIR as --type-b, and a table at the end shows it. Runs that are there already are gone on with.\n"
    "N is 2 to 100; three runs tell a spread to about a quarter. Each run comes to a case at least twice:\n"
    "--preset smoke and paper, which come once, need --benchmark_repetitions=3.\n";

int count_of(const std::string& word) {
  int count = 0;
  const bool digits = !word.empty() && word.size() <= 3 &&
                      std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) {
    count = std::stoi(word);
  }
  if (count < 2 || count > kMostRuns) {
    throw UsageError("repeat is followed by how many runs, 2 to 100: grainscope repeat 3 --out DIR; not '" +
                     word + "'");
  }
  return count;
}

// What visits differ by can be told apart from what runs do only by several visits from a process each.
void require_several_visits(const Options& options) {
  if (options.visits.value_or(sampling_of(options.preset).visits) < 2) {
    const std::string flag =
        options.visits ? "--benchmark_repetitions=1" : std::string("--preset=") + name(options.preset);
    throw UsageError("repeat needs runs that come to each case at least twice, and " + flag +
                     " comes once, so that visits and runs could not be told apart: " +
                     (options.visits ? "give" : "add") + " --benchmark_repetitions=3");
  }
  if (options.one_process) {
    throw UsageError(
        "repeat needs visits from a process each, since processes differ, too: leave out --one-process");
  }
}

std::vector<std::string> without_folder(const std::vector<std::string>& flags) {
  std::vector<std::string> left;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == "--out") {
      ++i;
    } else if (!flags[i].starts_with("--out=")) {
      left.push_back(flags[i]);
    }
  }
  return left;
}

// Runs into a folder, or goes on with the run that is there, and shows what it prints. Its exit status.
int run_in(const fs::path& folder, const std::vector<std::string>& flags, const Options& options) {
  const auto require_flags = [&](const json& asked) {
    if (asked != options.selection_flags) {
      throw UsageError(folder.string() +
                       " was asked for by other flags, so that its runs would not be the same: "
                       "choose another folder with --out");
    }
  };
  ChildRequest request{.words = {kOwnProgram}};
  if (has_begun(folder)) {
    require_flags(read_journal(folder).header.value("flags", json()));
    request.words.push_back("--resume=" + folder.string());
  } else if (const json finished = complete_result(folder); !finished.is_null()) {  // without its journal
    require_flags(finished["context"]["run"].value("flags", json()));
    const json& rows = finished["benchmarks"];
    const bool failed = std::any_of(rows.begin(), rows.end(),
                                    [](const json& row) { return row.value("status", "") == "failed"; });
    return static_cast<int>(failed ? ExitStatus::failed : ExitStatus::ok);
  } else {
    const std::vector<std::string> asked = without_folder(flags);
    request.words.insert(request.words.end(), asked.begin(), asked.end());
    request.words.push_back("--out=" + folder.string());
  }
  ChildProcess process(request);
  bool told = false;
  while (const auto line = next_line(process, told)) {
    std::cout << *line << std::endl;
  }
  std::optional<ChildEnd> end;
  while (!end) {
    end = process.wait(1);
  }
  return end->signal != 0 ? 128 + end->signal : end->status;
}

// Whether a row of a result has a time that was measured.
bool is_timed(const json& row) {
  return row.value("status", "") == "ok" && row.value("label", "") == "measured" && row.contains("median_s");
}

// The medians of the rows that were measured, by their names, of one result after another.
std::map<std::string, std::vector<double>> medians_of(const std::vector<json>& results) {
  std::map<std::string, std::vector<double>> found;
  for (const json& result : results) {
    for (const json& row : result.value("benchmarks", json::array())) {
      if (is_timed(row)) {
        found[row.at("name")].push_back(row.at("median_s"));
      }
    }
  }
  std::erase_if(found, [&](const auto& one) { return one.second.size() != results.size(); });
  return found;
}

std::string percent(double share) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(share < 0.0995 ? 1 : 0) << 100 * share << " %";
  return text.str();
}

json read_result(const fs::path& folder) {
  std::ifstream file(folder / "result.json", std::ios::binary);
  json result = json::parse(file, nullptr, false);
  return result.is_object() ? result : json::object();
}

}  // namespace

std::string spread_text(const std::vector<json>& results, const Screen& screen) {
  struct Spread {
    double more = 0;  // the largest over the smallest, less 1
    std::string name;
  };
  std::map<std::string, std::string> family_of;
  for (const json& result : results) {
    for (const json& row : result.value("benchmarks", json::array())) {
      family_of[row.at("name")] = row.at("case").at("family");
    }
  }
  std::map<std::string, std::vector<Spread>> families;
  for (const auto& [name, medians] : medians_of(results)) {
    const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
    families[family_of[name]].push_back({*most / *least - 1, name});
  }
  if (families.empty()) {
    return {};
  }
  std::vector<std::vector<std::string>> lines{
      {std::to_string(results.size()) + " runs differ by", "rows", "middle", "most", "in"}};
  for (auto& [family, spreads] : families) {
    std::sort(spreads.begin(), spreads.end(), [](auto& one, auto& other) { return one.more < other.more; });
    const Spread& worst = spreads.back();
    lines.push_back({family, std::to_string(spreads.size()), percent(spreads[(spreads.size() - 1) / 2].more),
                     percent(worst.more), worst.name.substr(std::min(worst.name.size(), family.size() + 1))});
  }
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t at = 0; at + 1 < line.size(); ++at) {
      widths[at] = std::max(widths[at], letters(line[at]));
    }
  }
  std::string text = "\n";
  for (const auto& line : lines) {
    std::string shown = filled(line.front(), widths.front());
    for (std::size_t at = 1; at + 1 < line.size(); ++at) {
      shown += "  " + filled(line[at], widths[at], true);
    }
    const std::size_t room = screen.width > letters(shown) + 2 ? screen.width - letters(shown) - 2 : 0;
    text += shown + (room > 0 ? "  " + shortened(line.back(), room) : "") + "\n";
  }
  return text;
}

std::string why_no_type_b(const std::vector<json>& results) {
  int measured = 0;
  int several = 0;
  for (const json& result : results) {
    bool has_row = false;
    bool has_several = false;
    for (const json& row : result.value("benchmarks", json::array())) {
      if (is_timed(row)) {
        has_row = true;
        has_several = has_several || standing(row.value("visits", json::array())).size() > 1;
      }
    }
    measured += has_row ? 1 : 0;
    several += has_several ? 1 : 0;
  }
  const int runs = static_cast<int>(results.size());
  const std::string of = " of " + std::to_string(runs) + " runs have ";
  if (measured < runs) {
    return std::to_string(runs - measured) + of +
           "no measured row, so they are no type B: ask for cases that are measured here "
           "(`grainscope-report list` has each row with its reason)";
  }
  if (several < 2) {
    return std::to_string(several) + of +
           "a row of two visits that are neither busy nor far, and type B needs two: measure again when the "
           "host has less to do, with another --out and --benchmark_repetitions=5";
  }
  return {};
}

int repeat_command(const std::vector<std::string>& words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") {
    throw HelpRequested{kUsage};
  }
  const int count = count_of(words.front());
  const std::vector<std::string> flags(words.begin() + 1, words.end());
  const Options options = parse_options(flags);
  if (options.action != Action::run || options.resume || options.out_dir.empty()) {
    throw UsageError("repeat runs and keeps what it runs: grainscope repeat " + words.front() +
                     " --out DIR, with flags that say what to run");
  }
  if (!options.file_out.empty()) {
    throw UsageError("--benchmark_out is of one run, and repeat makes several: leave it out");
  }
  require_several_visits(options);
  int status = 0;
  std::vector<json> results;
  for (int run = 1; run <= count; ++run) {
    const fs::path folder = fs::path(options.out_dir) / std::to_string(run);
    std::cerr << "grainscope: run " << run << " of " << count << ", " << folder.string() << std::endl;
    const int ended = run_in(folder, flags, options);
    if (ended != static_cast<int>(ExitStatus::ok) && ended != static_cast<int>(ExitStatus::failed)) {
      return ended;
    }
    status = std::max(status, ended);
    results.push_back(read_result(folder));
  }
  const Screen screen = screen_of(STDOUT_FILENO);
  std::cout << for_screen(spread_text(results, screen), screen) << std::flush;
  const auto incomplete = std::count_if(results.begin(), results.end(), [](const json& result) {
    return !result.value("/context/run/complete"_json_pointer, false);
  });
  if (incomplete > 0) {
    std::cerr << "grainscope: " << incomplete << " of " << count
              << " runs are not complete: the same command goes on with them\n";
  } else if (const std::string why = why_no_type_b(results); !why.empty()) {
    std::cerr << "grainscope: " << why << '\n';
  } else {
    std::cerr << "grainscope: " << count << " runs; grainscope-report takes them as --type-b "
              << shell_word(options.out_dir) << '\n';
  }
  return status;
}

}  // namespace grainscope::harness
