// OpenMP's environment variables take CPUs and threads away from a case under the same name, and its library
// binds the main thread by them before `main`. So this program takes all of them out of its environment
// before any library sees them, and says which they were. A mask of CPUs (taskset, Slurm, a cpuset) stays.

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ext/stdio_filebuf.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/team.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/mps.hpp"
#include "grainscope/system/warnings.hpp"
#include "graph_command.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/options.hpp"
#include "harness/question.hpp"
#include "harness/run.hpp"
#include "harness/screen.hpp"
#include "harness/selection.hpp"
#include "harness/show.hpp"
#include "harness/visits.hpp"
#include "worker_process.hpp"

namespace grainscope::harness {

// Which variables of OpenMP were set and are not used; absent where none was set.
[[nodiscard]] std::optional<Warning> openmp_warning();
// The same of variables by which Google Benchmark is given flags.
[[nodiscard]] std::optional<Warning> library_warning();
// Which variables are set that change times under the same names of cases.
[[nodiscard]] std::optional<Warning> settings_warning();

namespace {

constexpr std::size_t kMostVariables = 64;
constexpr const char* kOfTheLibrary = "BENCHMARK_";

// Written before any constructor has run: only what the linker lays out is there by then.
const char* g_set_aside[kMostVariables];  // NAME=value, as the kernel left them on the stack
std::size_t g_set_aside_count = 0;

// These two call no library: none is ready yet, a sanitizer's neither.
[[gnu::no_sanitize("address", "thread", "undefined")]] bool begins_with(const char* text,
                                                                        const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) {
      return false;
    }
  }
  return true;
}

[[gnu::no_sanitize("address", "thread", "undefined")]] void set_variables_aside(int /*argc*/, char** /*argv*/,
                                                                                char** variables) {
  char** kept = variables;
  for (char** each = variables; *each != nullptr; ++each) {
    if (!begins_with(*each, "OMP_") && !begins_with(*each, "GOMP_") && !begins_with(*each, "KMP_") &&
        !begins_with(*each, kOfTheLibrary)) {
      *kept++ = *each;
    } else if (g_set_aside_count < kMostVariables) {
      g_set_aside[g_set_aside_count++] = *each;
    }
  }
  *kept = nullptr;
}

// The loader calls what is in this section before the constructors of every library, libgomp's among them.
__attribute__((section(".preinit_array"), used)) void (*g_before_libraries)(int, char**,
                                                                            char**) = set_variables_aside;

// A value that may name a person or a folder, or write to a terminal, is not shown.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_={},:-*.() ").find(letter) != std::string_view::npos;
  });
}

// Of NAME=value.
std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::string settings_text(const std::vector<std::string_view>& variables) {
  std::string text;
  for (const std::string_view each : variables) {
    text += (text.empty() ? "" : ", ") + std::string(is_plain(each) ? each : name_of(each));
  }
  return text;
}

// Each behind a space.
std::string names_text(const std::vector<std::string_view>& variables) {
  std::string text;
  for (const std::string_view each : variables) {
    text += " " + std::string(name_of(each));
  }
  return text;
}

// Of the allocator, the loader and CUDA; a `_` at the end stands for any rest.
constexpr std::array<std::string_view, 7> kInForce{"GLIBC_TUNABLES",
                                                   "MALLOC_",
                                                   "LD_PRELOAD",
                                                   "CUDA_LAUNCH_BLOCKING",
                                                   "CUDA_DEVICE_MAX_CONNECTIONS",
                                                   "CUDA_MODULE_LOADING",
                                                   "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"};

bool is_in_force(std::string_view name) {
  return std::any_of(kInForce.begin(), kInForce.end(), [&](std::string_view known) {
    return known.ends_with('_') ? name.starts_with(known) : name == known;
  });
}

}  // namespace

std::optional<Warning> settings_warning() {
  std::vector<std::string_view> set;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text(*each);
    if (is_in_force(name_of(text)) && name_of(text).size() + 1 < text.size()) {
      set.push_back(text);
    }
  }
  if (set.empty()) {
    return std::nullopt;
  }
  return Warning{"environment.settings", Severity::warning,
                 "variables are set that change what is measured: " + settings_text(set),
                 "cases take other times than under the same names elsewhere",
                 "unset" + names_text(set) + ", unless it is their effect that is asked for"};
}

namespace {

// `warning` of variables that were set aside, Google Benchmark's or else OpenMP's; which ones is added to its
// finding and its remedy. Absent where none was.
std::optional<Warning> of_set_aside(bool of_the_library, Warning warning) {
  std::vector<std::string_view> set;
  std::copy_if(g_set_aside, g_set_aside + g_set_aside_count, std::back_inserter(set),
               [&](const char* each) { return begins_with(each, kOfTheLibrary) == of_the_library; });
  if (set.empty()) {
    return std::nullopt;
  }
  warning.finding += " are set and not used: " + settings_text(set);
  warning.remedy = "unset" + names_text(set) + warning.remedy;
  return warning;
}

}  // namespace

std::optional<Warning> library_warning() {
  return of_set_aside(true,
                      {"environment.library_variables", Severity::warning, "variables of Google Benchmark",
                       "none on this run", "; flags say the same: --help=output"});
}

std::optional<Warning> openmp_warning() {
  return of_set_aside(
      false, {"cpu.openmp_variables", Severity::warning, "variables of OpenMP",
              "none on this run; with them, cases would have other threads or CPUs under the same names",
              "; to measure on fewer CPUs, start the program with a mask: taskset --cpu-list 0-3"});
}

}  // namespace grainscope::harness

namespace {

using namespace grainscope;
using namespace grainscope::harness;

int print_environment(const Options& options, const Machine& machine) {
  if (options.environment_format == "json") {
    std::cout << environment_json(machine.environment, machine.warnings).dump(2) << '\n';
  } else {
    std::cout << (options.verbosity > 0 ? environment_text(machine.environment, machine.warnings)
                                        : environment_screen(machine.environment, machine.warnings));
  }
  return 0;
}

// The severe ones first; and at once, where numbers are to come.
void add_warning(Machine& machine, const Options& options, const std::optional<Warning>& warning) {
  if (!warning) {
    return;
  }
  const auto milder = std::find_if(machine.warnings.begin(), machine.warnings.end(),
                                   [&](const Warning& other) { return other.severity < warning->severity; });
  machine.warnings.insert(milder, *warning);
  if (options.action == Action::run) {
    std::cerr << "grainscope: " << severity_name(warning->severity) << ": " << warning->finding << '\n';
  }
}

// A run opens files of the system, its own, and pipes to the processes that it starts; a library that finds
// none left ends the program.
void require_enough_descriptors() {
  constexpr rlim_t kEnough = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough) {
    throw EnvironmentError("this process may have " + std::to_string(limit.rlim_cur) +
                           " files open, and a run needs " + std::to_string(kEnough) +
                           ": raise it with `ulimit -n 1024`; nothing was begun");
  }
}

// What a process can run: several of one launch run what they do together.
std::vector<Family> families_of(const std::shared_ptr<Launch>& ranks) {
  return ranks == nullptr ? all_families() : std::vector<Family>{collective_operations(ranks)};
}

int act(Options options) {
  if (options.action == Action::families) {
    const std::vector<Family> families = all_families();
    std::cout << (options.families_format == "json"
                      ? families_json(families)
                      : families_text(families_asked(families, options.families_asked),
                                      screen_of(STDOUT_FILENO).width, options.verbosity > 0));
    return 0;
  }
  Machine machine = read_machine();
  add_warning(machine, options, openmp_warning());
  add_warning(machine, options, library_warning());
  add_warning(machine, options, settings_warning());
  leave_gpu_memory(machine, options.gpu_memory, options.gpus);
  if (options.action == Action::environment) {
    return print_environment(options, machine);
  }
  const std::shared_ptr<Launch> ranks = ranks_of(options, machine);
  if (ranks != nullptr) {
    if (ranks->place.rank > 0) {
      catch_signals();
      return options.action == Action::run ? follow_ranks(*ranks, options, machine) : 0;
    }
    options.one_process = true;
    if (!machine.runtime.devices.empty()) {
      options.gpus = {ranks->gpu};
    }
  }
  if (options.action == Action::run) {
    require_enough_descriptors();
    if (const std::string why = why_library_ends("/"); !why.empty()) {
      throw EnvironmentError(why);
    }
    catch_signals();
    const auto run = [&] { return run_families(families_of(ranks), options, machine); };
    return ranks == nullptr ? run() : lead_ranks(*ranks, options, machine, run);
  }
  const Scope scope = scope_of(options, machine);
  if (options.action == Action::explain) {
    const std::vector<Family> families = families_of(ranks);
    std::cout << explain_text(options.explain_case, families, list_all(families, machine, scope));
    return 0;
  }
  const Selection selection = selection_of(families_of(ranks), options, machine, scope);
  std::cerr << understood_text(selection, scope);
  if (options.action == Action::plan) {
    const std::size_t width = screen_of(STDOUT_FILENO).width;
    std::cout << plan_text(selection, scope, width, options.verbosity > 0)
              << load_text(machine.environment, width);
    return 0;
  }
  std::cout << list_text(selection);
  if (!selection.skipped.empty()) {
    std::cerr << "grainscope: " << selection.skipped.size()
              << " more cases match but would be skipped here; --plan says why\n";
  }
  return 0;
}

// Somebody who closed standard output, or left a pipe, wants nothing more from it.
bool somebody_reads() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return fcntl(STDOUT_FILENO, F_GETFD) != -1 &&
         !(poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0);
}

void require_output_whole() {
  std::cout.flush();
  if (!std::cout && somebody_reads()) {
    throw EnvironmentError(
        "could not write all of the output: is the disk full? A run with --out has its "
        "results in its folder");
  }
}

// What is opened later must not take the place of a standard stream that is closed, where others write.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) {
      static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY));  // the lowest free
    }
  }
}

// Of a process that answers another over its stdout: what libraries print there goes to stderr.
void keep_stdout_for_answers() {
  const int answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (answers < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw EnvironmentError("no file descriptor is left: raise `ulimit -n`");
  }
  // It stays to the end of the process, behind which std::cout is flushed once more.
  std::cout.rdbuf(new __gnu_cxx::stdio_filebuf<char>(answers, std::ios::out));
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == "graph") {
      std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is said to be that
      std::cout << graph_command({words.begin() + 1, words.end()});
      require_output_whole();
      return 0;
    }
    if (!words.empty() && words.front() == kAskCommand) {
      const int status = act(parse_options(flags_of_question({words.begin() + 1, words.end()})));
      require_output_whole();
      return status;
    }
    if (!words.empty() && words.front() == kRepeatCommand) {
      catch_signals();
      const int status = repeat_command({words.begin() + 1, words.end()});
      require_output_whole();
      return status;
    }
    if (!words.empty() && words.front() == kMpsGuardCommand) {
      return guard_mps({words.begin() + 1, words.end()});
    }
    if (!words.empty() && words.front() == kWorkerCommand) {
      keep_stdout_for_answers();
      return run_worker({words.begin() + 1, words.end()});
    }
    if (!words.empty() && words.front() == kVisitCommand) {
      catch_signals();
      keep_stdout_for_answers();
      Machine machine = read_machine();
      run_visits(all_families(), {words.begin() + 1, words.end()}, machine);
      return 0;
    }
    const int status = act(parse_options(words));
    require_output_whole();
    return status;
  } catch (const HelpRequested& help) {
    std::cout << help.text << std::flush;
    if (std::cout) {
      return 0;
    }
    std::cerr << "grainscope: could not write the help: is the disk full?\n";
    return static_cast<int>(ExitStatus::environment);
  } catch (const Interrupted&) {
    return 128 + signal_received();
  } catch (const Error& error) {
    std::cerr << "grainscope: " << error.what() << '\n';
    return static_cast<int>(error.status());
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "grainscope: " << error.what() << ": may this user read and write there?\n";
    return static_cast<int>(ExitStatus::environment);
  } catch (const std::exception& error) {
    std::cerr << "grainscope: " << error.what() << '\n';
    return static_cast<int>(ExitStatus::failed);
  }
}
