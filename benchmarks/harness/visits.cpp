#include "visits.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/system/child_process.hpp"
#include "interrupt.hpp"

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

// What cases share that is costly to make: a graph, a span of memory. Empty where they share nothing.
std::string shared_by(const Case& id) {
  std::string shared;
  for (const Axis& axis : id.axes) {
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
    const std::string& family = cases[i].id.family;
    std::vector<Group>& own = groups[family];
    if (own.empty()) {
      families.push_back(family);
    }
    const std::string shared = shared_by(cases[i].id);
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

std::string RoundProcess::listen(const std::function<void(const json&)>& take) {
  bool told = false;
  std::string latest;
  while (true) {
    if (const int signal = signal_received(); signal != 0 && !std::exchange(told, true)) {
      process_->send(signal);
    }
    if (!process_->readable(kBetweenLooks_s)) {
      continue;
    }
    const auto text = process_->read_line(kBetweenLooks_s);
    const json line = text ? json::parse(*text, nullptr, false) : json();
    if (line.contains("end")) {
      return line["end"];
    }
    if (!line.is_object()) {
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

}  // namespace grainscope::harness
