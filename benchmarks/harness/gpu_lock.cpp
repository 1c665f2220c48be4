#include "gpu_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
namespace {

using namespace std::chrono_literals;

std::filesystem::path lock_path(const std::string& uuid) {
  return std::filesystem::temp_directory_path() / ("grainscope-" + uuid + ".lock");
}

std::string holder(int file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
  const std::string pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return pid.empty() ? "another run" : "the run with process id " + pid;
}

void sign(int file) {
  const std::string pid = std::to_string(getpid());
  // Only so that another run can name this one.
  if (ftruncate(file, 0) != 0 || pwrite(file, pid.data(), pid.size(), 0) < 0) {
    return;
  }
}

void take(int file, const std::string& uuid, bool wait, const std::function<bool()>& interrupted) {
  bool said = false;
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (!wait) {
      throw EnvironmentError(uuid + " is in use by " + holder(file) + ": two runs would measure each other");
    }
    if (!said) {
      std::cerr << "grainscope: waiting for " << uuid << ", held by " << holder(file)
                << " (--no-wait gives up instead)" << std::endl;
      said = true;
    }
    if (interrupted()) {
      throw Interrupted{};
    }
    std::this_thread::sleep_for(200ms);
  }
}

}  // namespace

GpuLock::GpuLock(std::vector<std::string> uuids, bool wait, const std::function<bool()>& interrupted) {
  std::sort(uuids.begin(), uuids.end());
  try {
    for (const std::string& uuid : uuids) {
      const std::string path = lock_path(uuid);
      // Another user's file cannot be opened for writing, but a lock needs no more than reading.
      int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (file < 0) {
        file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
      }
      if (file < 0) {
        throw EnvironmentError("could not open the lock file " + path + ": " + std::strerror(errno) +
                               "; remove it, or set TMPDIR to a folder that all users of the GPU share");
      }
      files_.push_back(file);
      static_cast<void>(fchmod(file, 0666));
      take(file, uuid, wait, interrupted);
      sign(file);
    }
  } catch (...) {
    release();
    throw;
  }
}

GpuLock::~GpuLock() {
  release();
}

void GpuLock::release() noexcept {
  for (const int file : files_) {
    close(file);
  }
  files_.clear();
}

}  // namespace grainscope::harness
