#ifndef GRAINSCOPE_SYSTEM_BOARD_METER_HPP
#define GRAINSCOPE_SYSTEM_BOARD_METER_HPP

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace grainscope {

// Mean power of a GPU's board while it is kept at work, by NVML's counter of energy. The counter moves every
// 100 ms, and a reading takes 4 ms (H200), in which whoever reads submits nothing. So a thread of its own
// reads. What the board took before it was at work is in the first step: power is between the second move and
// the last one so far.
class BoardMeter {
 public:
  // Reads the counter (in mJ; nothing where it cannot be read) until this is gone.
  explicit BoardMeter(std::function<std::optional<std::uint64_t>()> energy_mj);

  // Whether the counter has moved often enough, or cannot be read. From any thread.
  [[nodiscard]] bool is_done() const;
  // In watts, up to now; nothing until it is done, and where the counter cannot be read.
  [[nodiscard]] std::optional<double> power_w() const;

 private:
  void watch(const std::stop_token& stop);

  std::function<std::optional<std::uint64_t>()> energy_mj_;
  mutable std::mutex mutex_;
  bool done_ = false;
  std::optional<double> power_w_;
  std::jthread reader_;  // the last member: what it uses outlives it
};

}  // namespace grainscope

#endif
