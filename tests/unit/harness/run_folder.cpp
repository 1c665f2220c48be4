#include "run_folder.hpp"

#include <csignal>

namespace grainscope::test {

std::set<std::string> cases_in(const harness::Journal& journal) {
  std::set<std::string> names;
  for (const nlohmann::json& row : journal.rows) {
    names.insert(row.at("name").get<std::string>());
  }
  return names;
}

nlohmann::json whole_row(const std::string& name, int visit) {
  return {
      {"name", name},
      {"run_type", "iteration"},
      {"case", {{"family", "fake"}, {"axes", nlohmann::json::object()}, {"site", nlohmann::json::object()}}},
      {"status", "ok"},
      {"label", "measured"},
      {"samples_s", {0.1, 0.2}},
      {"median_s", 0.15},
      {"timing", {{"clock", "steady"}, {"gated", false}, {"timed", "nothing"}}},
      {"verified", true},
      {"round", static_cast<unsigned>(visit)}};
}

FullDisk::FullDisk(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
  getrlimit(RLIMIT_FSIZE, &old_);
  const rlimit limit{bytes, old_.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
}

FullDisk::~FullDisk() {
  setrlimit(RLIMIT_FSIZE, &old_);
  std::signal(SIGXFSZ, old_handler_);
}

}  // namespace grainscope::test
