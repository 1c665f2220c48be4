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
