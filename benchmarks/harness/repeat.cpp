#include "repeat.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/child_process.hpp"
#include "interrupt.hpp"
#include "options.hpp"

namespace grainscope::harness {
namespace {

namespace fs = std::filesystem;

constexpr double kBetweenLooks_s = 0.1;
constexpr int kMostRuns = 100;
constexpr const char* kUsage =
    "grainscope repeat N --out DIR [FLAGS]\n"
    "Runs N times what FLAGS ask for, each time in a process of its own, into DIR/1 to DIR/N.\n"
    "What these runs differ by is the type B uncertainty of this machine: grainscope-report takes\n"
    "DIR as --type-b. Runs that are there already are gone on with. N is 2 to 100; three runs tell\n"
    "a spread to about a quarter.\n";

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

// Shows what the process prints until it ends; a signal to this process is handed on.
ChildEnd watch(ChildProcess& process) {
  bool told = false;
  for (bool open = true; open;) {
    if (const int signal = signal_received(); signal != 0 && !std::exchange(told, true)) {
      process.send(signal);
    }
    if (process.readable(kBetweenLooks_s)) {
      const auto line = process.read_line(kBetweenLooks_s);
      open = line.has_value();
      if (open) {
        std::cout << *line << std::endl;
      }
    }
  }
  while (true) {
    if (const auto end = process.wait(1)) {
      return *end;
    }
  }
}

int status_of(const ChildEnd& end) {
  return end.signal != 0 ? 128 + end.signal : end.status;
}

}  // namespace

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
  int status = 0;
  for (int run = 1; run <= count; ++run) {
    const fs::path folder = fs::path(options.out_dir) / std::to_string(run);
    std::cerr << "grainscope: run " << run << " of " << count << ", " << folder.string() << std::endl;
    ChildRequest request{.words = {kOwnProgram}};
    if (fs::exists(folder / "journal.jsonl")) {
      request.words.push_back("--resume=" + folder.string());
    } else {
      const std::vector<std::string> asked = without_folder(flags);
      request.words.insert(request.words.end(), asked.begin(), asked.end());
      request.words.push_back("--out=" + folder.string());
    }
    ChildProcess process(request);
    const int ended = status_of(watch(process));
    if (ended != static_cast<int>(ExitStatus::ok) && ended != static_cast<int>(ExitStatus::failed)) {
      return ended;
    }
    status = std::max(status, ended);
  }
  std::cerr << "grainscope: " << count << " runs; grainscope-report takes them as --type-b "
            << options.out_dir << '\n';
  return status;
}

}  // namespace grainscope::harness
