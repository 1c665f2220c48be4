#include "grainscope/system/board_meter.hpp"

#include <chrono>
#include <utility>

#include "grainscope/core/sampler.hpp"

namespace grainscope {
namespace {

constexpr int kFirstMove = 2;
constexpr int kFewestMoves = 4;
constexpr std::chrono::milliseconds kBetweenReadings{1};

}  // namespace

BoardMeter::BoardMeter(std::function<std::optional<std::uint64_t>()> energy_mj)
    : energy_mj_(std::move(energy_mj)), reader_([this](const std::stop_token& stop) { watch(stop); }) {}

bool BoardMeter::is_done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::optional<double> BoardMeter::power_w() const {
  const std::lock_guard lock(mutex_);
  return power_w_;
}

void BoardMeter::watch(const std::stop_token& stop) {
  std::optional<std::uint64_t> last = energy_mj_();
  std::uint64_t first_mj = 0;
  double first_s = 0;
  int moves = 0;
  while (last && !stop.stop_requested()) {
    std::this_thread::sleep_for(kBetweenReadings);
    const std::optional<std::uint64_t> now = energy_mj_();
    if (now && *now == *last) {
      continue;
    }
    const double now_s = steady_now_s();
    last = now;
    ++moves;
    if (now && moves == kFirstMove) {
      first_mj = *now;
      first_s = now_s;
    }
    if (now && moves >= kFewestMoves) {
      const std::lock_guard lock(mutex_);
      done_ = true;
      power_w_ = *now > first_mj
                     ? std::optional(static_cast<double>(*now - first_mj) * 1e-3 / (now_s - first_s))
                     : std::nullopt;
    }
  }
  const std::lock_guard lock(mutex_);
  done_ = true;
  power_w_ = last ? power_w_ : std::nullopt;
}

}  // namespace grainscope
