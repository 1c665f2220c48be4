// The eighth number of a CPU's line in /proc/stat.

#include "grainscope/system/stolen_time.hpp"

#include <unistd.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "grainscope/system/sysfs.hpp"

namespace grainscope {
namespace {

constexpr int kStolen = 8;  // after user, nice, system, idle, iowait, irq and softirq

// Ticks that stand in the line of one CPU: `cpu3 1 2 3 …`.
std::optional<std::uint64_t> ticks_of(const std::string& stat, int cpu) {
  const std::string name = "cpu" + std::to_string(cpu) + " ";
  const std::size_t at = stat.rfind("\n" + name);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream numbers(
      stat.substr(at + 1 + name.size(), stat.find('\n', at + 1) - at - 1 - name.size()));
  std::uint64_t ticks = 0;
  for (int i = 0; i < kStolen; ++i) {
    if (!(numbers >> ticks)) {
      return std::nullopt;
    }
  }
  return ticks;
}

}  // namespace

std::optional<double> stolen_s(const std::vector<int>& cpus, const std::filesystem::path& root) {
  const auto stat = sysfs::read_text(root / "proc/stat");
  const long ticks_a_second = sysconf(_SC_CLK_TCK);
  if (!stat || ticks_a_second <= 0) {
    return std::nullopt;
  }
  std::uint64_t all = 0;
  for (const int cpu : cpus) {
    const auto ticks = ticks_of(*stat, cpu);
    if (!ticks) {
      return std::nullopt;
    }
    all += *ticks;
  }
  return static_cast<double>(all) / static_cast<double>(ticks_a_second);
}

}  // namespace grainscope
