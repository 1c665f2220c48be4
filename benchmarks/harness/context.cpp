#include "context.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>
#include <system_error>

#include "build_info.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 2;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

json suite_json() {
  return {{"version", build::kVersion},
          {"commit", build::kCommit},
          {"compiler", build::kCompiler},
          {"cuda", build::kCuda.empty() ? json(nullptr) : json(build::kCuda)},
          {"benchmark_library", build::kBenchmarkLibrary}};
}

// Tells a file from what it was: null where it is not there.
json stamp(const std::string& path) {
  std::error_code no_size;
  std::error_code no_time;
  const std::uintmax_t bytes = std::filesystem::file_size(path, no_size);
  const auto written = std::filesystem::last_write_time(path, no_time).time_since_epoch().count();
  return no_size || no_time ? json(nullptr) : json{{"bytes", bytes}, {"written", written}};
}

// Of the graphs and features that the run reads, by their whole paths.
json file_stamps(const Options& options) {
  json stamps = json::object();
  const auto add = [&](const std::string& path) {
    const std::string whole = std::filesystem::absolute(path).string();
    stamps[whole] = stamp(whole);
  };
  for (const graph::GraphSpec& spec : options.graphs) {
    if (spec.kind == graph::GraphSpec::Kind::file) {
      add(spec.path);
    }
  }
  if (!options.features.empty()) {
    add(options.features);
  }
  return stamps;
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

RunIdentity new_identity() {
  std::random_device random;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%08x-%08x", random(), random());
  return {text.data(), utc_now(), random()};
}

json fingerprint(const Machine& machine) {
  json gpus = json::array();
  for (const cuda::DeviceProperties& device : machine.runtime.devices) {
    gpus.push_back(device.uuid);
  }
  return {{"host", host_name()},
          {"cpu", machine.environment.cpu.model.value_or("unknown")},
          {"gpus", gpus},
          {"version", build::kVersion},
          {"commit", build::kCommit}};
}

json journal_header(const RunIdentity& identity, const Options& options, const Machine& machine) {
  return {{"id", identity.id},
          {"started", identity.started},
          {"seed", identity.seed},
          {"flags", options.selection_flags},
          {"fingerprint", fingerprint(machine)},
          {"files", file_stamps(options)}};
}

void require_same_machine(const json& header, const Machine& machine) {
  const json now = fingerprint(machine);
  for (const auto& [key, value] : header.at("fingerprint").items()) {
    if (now.value(key, json()) != value) {
      throw EnvironmentError("this run was begun with " + key + " " + value.dump() + ", which is now " +
                             now.value(key, json()).dump() +
                             ": results of two would be mixed. Start a new run with --out");
    }
  }
  for (const auto& [key, value] : now.items()) {
    static_cast<void>(header.at("fingerprint").at(key));
  }
}

void require_same_files(const json& header) {
  for (const auto& [path, then] : header.at("files").items()) {
    if (stamp(path) != then) {
      throw EnvironmentError(path +
                             " is not the file that this run was begun with: results of two would be "
                             "mixed. Bring it back, or start a new run with --out");
    }
  }
}

RunIdentity identity_of(const json& header) {
  return {header.at("id").get<std::string>(), header.at("started").get<std::string>(),
          header.value("seed", std::uint64_t{0})};
}

json link_json(const LinkPeak& peak) {
  json link{{"gpu", peak.path.gpu},
            {"peak_gb_s", peak.peak_gb_s},
            {"within_gb_s", {peak.within_gb_s.low, peak.within_gb_s.high}},
            {"bytes", peak.bytes},
            {"theoretical_gb_s", or_null(peak.theoretical_gb_s)}};
  if (peak.path.peer) {
    link["peer"] = *peak.path.peer;
    link["direction"] = "to_peer";
    link["nvlinks"] = or_null(peak.nvlinks);
    return link;
  }
  link["numa"] = or_null(peak.path.numa);
  link["direction"] = peak.path.to_gpu ? "host_to_gpu" : "gpu_to_host";
  link["generation"] = peak.under_load ? json(peak.under_load->generation) : json(nullptr);
  link["width"] = peak.under_load ? json(peak.under_load->width) : json(nullptr);
  return link;
}

LinkPeak link_from_json(const json& link) {
  LinkPeak peak;
  const int gpu = link.at("gpu");
  if (link.contains("peer")) {
    peak.path = LinkPath::between(gpu, link.at("peer"));
    if (!link.at("nvlinks").is_null()) {
      peak.nvlinks = link.at("nvlinks").get<int>();
    }
  } else {
    peak.path = link.at("direction") == "host_to_gpu" ? LinkPath::host_to_gpu(link.at("numa"), gpu)
                                                      : LinkPath::gpu_to_host(gpu, link.at("numa"));
  }
  peak.peak_gb_s = link.at("peak_gb_s");
  peak.within_gb_s = {link.at("within_gb_s").at(0), link.at("within_gb_s").at(1)};
  peak.bytes = link.at("bytes");
  if (!link.at("theoretical_gb_s").is_null()) {
    peak.theoretical_gb_s = link.at("theoretical_gb_s").get<double>();
  }
  if (link.contains("generation") && !link.at("generation").is_null()) {
    peak.under_load = NvmlLinkState{link.at("generation"), link.at("width")};
  }
  return peak;
}

json result_context(const json& library_context, const RunIdentity& identity, const Options& options,
                    const Scope& scope, const Machine& machine, const std::vector<LinkPeak>& links,
                    const Outcome& outcome, double wall_s) {
  json context = library_context.is_object() ? library_context : json::object();
  context["host_name"] = host_name();
  context["schema_version"] = kSchemaVersion;
  context["grainscope"] = suite_json();
  context["run"] = {
      {"id", identity.id},
      {"preset", name(options.preset)},
      {"filter", options.filter},
      {"flags", options.selection_flags},
      {"started", identity.started},
      {"ended", utc_now()},
      {"complete", outcome.complete},
      {"why_incomplete", outcome.complete ? json(nullptr) : json(outcome.why_incomplete)},
      {"shard", {{"index", options.shard_index}, {"count", options.shard_count}}},
      {"ci_target", scope.sampling.ci_target},
      {"visits", scope.visits},
      {"seed", identity.seed},
      {"wall_s", wall_s},
      {"counts", {{"ok", outcome.ok}, {"skipped", outcome.skipped}, {"failed", outcome.failed}}}};
  context["environment"] = environment_json(machine.environment, machine.warnings);
  context["links"] = json::array();
  for (const LinkPeak& peak : links) {
    context["links"].push_back(link_json(peak));
  }
  return context;
}

}  // namespace grainscope::harness
