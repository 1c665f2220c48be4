#include "new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "grainscope/core/error.hpp"

namespace grainscope::graph {

NewFile::NewFile(std::string path, std::uint64_t expected_bytes)
    : path_(std::move(path)), temporary_(path_ + ".new-" + std::to_string(::getpid())) {
  // Two threads may write the same graph; a file left by a process that was killed goes.
  int attempt = 0;
  const std::string stem = temporary_;
  while ((number_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) < 0) {
    const int error = errno;
    if (error != EEXIST || ++attempt > 100) {
      temporary_.clear();
      fail(error);
    }
    temporary_ = stem + "-" + std::to_string(attempt);
  }
  // Not every file system can; then writing tells.
  if (expected_bytes != 0 && ::fallocate(number_, 0, 0, static_cast<off_t>(expected_bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    const int error = errno;
    ::close(std::exchange(number_, -1));
    ::unlink(temporary_.c_str());
    fail(error);
  }
}

NewFile::~NewFile() {
  if (number_ >= 0) {
    ::close(number_);
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void NewFile::write(const void* from, std::uint64_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const ssize_t put = ::write(number_, at, std::min(bytes, 256 * kMiB));
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      fail(put < 0 ? errno : ENOSPC);
    }
    at += put;
    bytes -= static_cast<std::uint64_t>(put);
  }
}

void NewFile::finish() {
  // Some file systems tell of a full disk only now. A pipe or a device cannot be synced, and need not.
  if (::fsync(number_) != 0 && errno != EINVAL && errno != EROFS) {
    fail(errno);
  }
  if (::close(std::exchange(number_, -1)) != 0) {
    fail(errno);
  }
}

void NewFile::put_in_place() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail(errno);
  }
  temporary_.clear();
}

void NewFile::fail(int error) const {
  throw EnvironmentError("could not write the graph " + path_ + ": " + std::system_category().message(error) +
                         "; free space, or choose a folder that can be written");
}

}  // namespace grainscope::graph
