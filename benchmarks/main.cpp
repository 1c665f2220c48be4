// grainscope: reads flags, reads the machine, picks cases, and runs, lists or explains them.

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/environment_json.hpp"
#include "grainscope/system/environment_text.hpp"
#include "harness/context.hpp"
#include "harness/interrupt.hpp"
#include "harness/options.hpp"
#include "harness/selection.hpp"
#include "harness/show.hpp"
#include "harness/suite.hpp"

namespace {

using namespace grainscope;
using namespace grainscope::harness;

Scope scope_of(const Options& options, const Machine& machine) {
  Scope scope = make_scope(options.preset, gpu_targets(machine, options.gpus),
                           options.all_gpus || !options.gpus.empty(), node_targets(machine, options.nodes));
  scope.min_bytes = options.min_bytes;
  scope.max_bytes = options.max_bytes;
  if (options.ci_target) {
    scope.sampling.ci_target = *options.ci_target;
  }
  if (options.repetitions) {
    scope.repetitions = *options.repetitions;
  }
  return scope;
}

int print_environment(const Options& options, const Machine& machine) {
  if (options.environment_format == "json") {
    std::cout << environment_json(machine.environment, machine.warnings).dump(2) << '\n';
  } else {
    std::cout << environment_text(machine.environment, machine.warnings);
  }
  return 0;
}

// A resumed run is asked for again as it was, with the flags of this command that say how to run it.
Options resumed_options(const Options& given, const Journal& journal) {
  Options options = parse_options(journal.header.at("flags").get<std::vector<std::string>>());
  options.resume = true;
  options.out_dir = given.out_dir;
  options.max_time_s = given.max_time_s;
  options.wait_for_gpu = given.wait_for_gpu;
  options.display_format = given.display_format;
  options.display_aggregates_only = given.display_aggregates_only;
  options.file_aggregates_only = given.file_aggregates_only;
  options.file_out = given.file_out;
  options.file_format = given.file_format;
  options.color = given.color;
  options.library_flags = given.library_flags;
  return options;
}

int run(Options options, Machine& machine) {
  std::optional<Journal> journal;
  if (options.resume) {
    journal = read_journal(options.out_dir);
    require_same_machine(journal->header, machine);
    options = resumed_options(options, *journal);
  }
  const Scope scope = scope_of(options, machine);
  Selection selection =
      select(all_families(), machine, scope, options.filter, options.shard_index, options.shard_count);
  std::optional<ResultStore> store;
  if (journal) {
    store = ResultStore::resume(options.out_dir, *journal);
  } else if (!options.out_dir.empty()) {
    store = ResultStore::begin(options.out_dir, journal_header(new_identity(), options, machine));
    journal = read_journal(options.out_dir);
  }
  return run_suite({options, machine, scope, std::move(selection), store ? &*store : nullptr,
                    journal ? &*journal : nullptr});
}

int act(const Options& options) {
  Machine machine = read_machine();
  if (options.action == Action::environment) {
    return print_environment(options, machine);
  }
  if (options.action == Action::run) {
    catch_signals();
    return run(options, machine);
  }
  const Scope scope = scope_of(options, machine);
  if (options.action == Action::explain) {
    std::cout << explain_text(options.explain_case, list_all(all_families(), machine, scope));
    return 0;
  }
  const Selection selection =
      select(all_families(), machine, scope, options.filter, options.shard_index, options.shard_count);
  if (options.action == Action::plan) {
    std::cout << plan_text(selection, scope);
    return 0;
  }
  std::cout << list_text(selection);
  if (!selection.skipped.empty()) {
    std::cerr << "grainscope: " << selection.skipped.size()
              << " more cases match but would be skipped here; --plan says why\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return act(parse_options({argv + 1, argv + argc}));
  } catch (const HelpRequested& help) {
    std::cout << help.text;
    return 0;
  } catch (const Interrupted&) {
    return 128 + signal_received();
  } catch (const Error& error) {
    std::cerr << "grainscope: " << error.what() << '\n';
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    std::cerr << "grainscope: " << error.what() << '\n';
    return static_cast<int>(ExitStatus::failed);
  }
}
