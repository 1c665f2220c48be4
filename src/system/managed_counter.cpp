#include "grainscope/system/managed_counter.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "grainscope/core/units.hpp"

namespace grainscope {
namespace {

constexpr const char* kTools = "/dev/nvidia-uvm-tools";
constexpr const char* kDriver = "/dev/nvidia-uvm";

// What the driver numbers so.
constexpr unsigned long kInitTracker = 56;
constexpr unsigned long kEnableCounters = 60;
enum CounterIndex : std::size_t { kToGpu = 0, kToHost = 1, kGpuFaults = 9 };
constexpr std::size_t kPageBytes = 4 * kKiB;
constexpr std::uint64_t kWanted = 1ULL << kToGpu | 1ULL << kToHost | 1ULL << kGpuFaults;

struct InitTracker {
  std::uint64_t queue = 0;  // of events: none is wanted
  std::uint64_t queue_bytes = 0;
  std::uint64_t counts = 0;  // address of a page
  std::array<std::uint8_t, 16> processor{};
  std::uint32_t all_processors = 1;
  std::uint32_t driver_file = 0;
  std::uint32_t status = 0;
};
static_assert(sizeof(InitTracker) == 56);

struct EnableCounters {
  std::uint64_t wanted = kWanted;
  std::uint32_t status = 0;
};
static_assert(sizeof(EnableCounters) == 16);

// The files by which this process speaks with the driver: of a run several, the CUDA runtime's among them.
std::vector<int> driver_files() {
  std::vector<int> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == kDriver) {
      files.push_back(std::stoi(entry.path().filename()));
    }
  }
  return files;
}

// Whether the driver does it; what it says otherwise goes to `why_not`.
template <class Request>
bool ask(int file, unsigned long number, Request& request, std::string& why_not) {
  if (ioctl(file, number, &request) != 0) {
    why_not = std::string(kTools) + " refuses to count: " + std::strerror(errno);
    return false;
  }
  if (request.status != 0) {
    why_not = std::string(kTools) + " refuses to count (status " + std::to_string(request.status) + ")";
    return false;
  }
  return true;
}

}  // namespace

ManagedCounter::Space::Space(int driver_file, std::string& why_not) {
  void* const page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (page == MAP_FAILED) {
    why_not = std::string("no page for the driver's counts: ") + std::strerror(errno);
    return;
  }
  counts_ = static_cast<std::uint64_t*>(page);
  tools_ = ::open(kTools, O_RDWR | O_CLOEXEC);
  if (tools_ < 0) {
    why_not = std::string(kTools) + " cannot be opened: " + std::strerror(errno);
    return;
  }
  InitTracker tracker;
  tracker.counts = reinterpret_cast<std::uint64_t>(page);
  tracker.driver_file = static_cast<std::uint32_t>(driver_file);
  EnableCounters counters;
  counting_ = ask(tools_, kInitTracker, tracker, why_not) && ask(tools_, kEnableCounters, counters, why_not);
}

ManagedCounter::Space::~Space() {
  if (tools_ >= 0) {
    close(tools_);
  }
  if (counts_ != nullptr) {
    munmap(const_cast<std::uint64_t*>(counts_), kPageBytes);
  }
}

std::unique_ptr<ManagedCounter> ManagedCounter::open(std::string& why_not) {
  why_not = "no CUDA context is at work in this process";
  std::unique_ptr<ManagedCounter> counter(new ManagedCounter);
  for (const int file : driver_files()) {
    auto space = std::make_unique<Space>(file, why_not);
    if (space->counting()) {
      counter->spaces_.push_back(std::move(space));
    }
  }
  if (counter->spaces_.empty()) {
    return nullptr;
  }
  why_not.clear();
  return counter;
}

ManagedCounter::~ManagedCounter() = default;

// Pages move in one space only. Two files may be of the same, so counts are not added.
ManagedCounts ManagedCounter::read() const {
  ManagedCounts most;
  for (const auto& space : spaces_) {
    most.to_gpu_bytes = std::max(most.to_gpu_bytes, space->count(kToGpu));
    most.to_host_bytes = std::max(most.to_host_bytes, space->count(kToHost));
    most.gpu_faults = std::max(most.gpu_faults, space->count(kGpuFaults));
  }
  return most;
}

}  // namespace grainscope
