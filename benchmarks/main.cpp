// grainscope: reads flags, reads the machine, picks cases, and runs, lists or explains them; or works on
// graphs.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/mps.hpp"
#include "grainscope/system/warnings.hpp"
#include "graph_command.hpp"
#include "harness/interrupt.hpp"
#include "harness/options.hpp"
#include "harness/question.hpp"
#include "harness/run.hpp"
#include "harness/screen.hpp"
#include "harness/selection.hpp"
#include "harness/show.hpp"
#include "harness/visits.hpp"
#include "openmp_variables.hpp"
#include "worker_process.hpp"

namespace {

using namespace grainscope;
using namespace grainscope::harness;

int print_environment(const Options& options, const Machine& machine) {
  if (options.environment_format == "json") {
    std::cout << environment_json(machine.environment, machine.warnings).dump(2) << '\n';
  } else {
    std::cout << environment_text(machine.environment, machine.warnings);
  }
  return 0;
}

// The severe ones first; and at once, where numbers are to come.
void add_openmp_warning(Machine& machine, const Options& options) {
  const auto warning = openmp_warning();
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

int act(const Options& options) {
  if (options.action == Action::families) {
    const std::vector<Family> families = all_families();
    std::cout << (options.families_format == "json"
                      ? families_json(families)
                      : families_text(families_asked(families, options.families_asked)));
    return 0;
  }
  Machine machine = read_machine();
  add_openmp_warning(machine, options);
  if (options.action == Action::environment) {
    return print_environment(options, machine);
  }
  if (options.action == Action::run) {
    catch_signals();
    return run_families(all_families(), options, machine);
  }
  const Scope scope = scope_of(options, machine);
  if (options.action == Action::explain) {
    const std::vector<Family> families = all_families();
    std::cout << explain_text(options.explain_case, families, list_all(families, machine, scope));
    return 0;
  }
  const Selection selection = selection_of(all_families(), options, machine, scope);
  std::cerr << understood_text(selection, scope);
  if (options.action == Action::plan) {
    std::cout << plan_text(selection, scope, screen_of(STDOUT_FILENO).width, options.verbosity > 0);
    return 0;
  }
  std::cout << list_text(selection);
  if (!selection.skipped.empty()) {
    std::cerr << "grainscope: " << selection.skipped.size()
              << " more cases match but would be skipped here; --plan says why\n";
  }
  return 0;
}

// Somebody who closed standard output wants nothing from it.
void require_output_whole() {
  std::cout.flush();
  if (!std::cout && fcntl(STDOUT_FILENO, F_GETFD) != -1) {
    throw EnvironmentError(
        "could not write all of the output: is the disk full? A run with --out has its "
        "results in its folder");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == "graph") {
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
      return repeat_command({words.begin() + 1, words.end()});
    }
    if (!words.empty() && words.front() == kMpsGuardCommand) {
      return guard_mps({words.begin() + 1, words.end()});
    }
    if (!words.empty() && words.front() == kWorkerCommand) {
      return run_worker({words.begin() + 1, words.end()});
    }
    if (!words.empty() && words.front() == kVisitCommand) {
      catch_signals();
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
