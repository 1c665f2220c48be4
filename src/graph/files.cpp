// Reading and writing of files by system calls.

#include "files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "grainscope/core/error.hpp"

namespace grainscope::graph {
namespace {

std::string reason(int error) {
  return std::system_category().message(error);
}

}  // namespace

BinaryFile::BinaryFile(std::string path, const std::string& what) : path_(std::move(path)) {
  // Opening a pipe that nobody writes to would wait for ever.
  number_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (number_ < 0 || ::fstat(number_, &status) != 0) {
    const int error = errno;
    const std::string message = "could not open the " + what + " " + path_ + ": " + reason(error);
    if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG) {
      throw UsageError(message);
    }
    throw EnvironmentError(message);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(number_);
    throw UsageError("the " + what + " " + path_ + " is no regular file");
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

BinaryFile::~BinaryFile() {
  ::close(number_);
}

void BinaryFile::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  auto* at = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const ssize_t got = ::pread(number_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw EnvironmentError("reading " + path_ + " at byte " + std::to_string(offset) + ": " +
                             reason(errno));
    }
    if (got == 0) {
      refuse(offset, "the file ends here, " + std::to_string(bytes) + " bytes too early");
    }
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

void BinaryFile::read_array(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  for_pieces(bytes, 2 * kMiB, [&](std::uint64_t first, std::uint64_t last) {
    read(offset + first, static_cast<std::byte*>(to) + first, last - first);
  });
}

void BinaryFile::refuse(std::uint64_t byte, const std::string& what) const {
  throw UsageError(path_ + ": byte " + std::to_string(byte) + ": " + what);
}

NewFile::NewFile(std::string path, std::uint64_t expected_bytes) : path_(std::move(path)) {
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  number_ = ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (number_ < 0) {  // not every file system has files without a name
    take_name([&](const char* name) {
      number_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return number_ >= 0;
    });
  }
  // Not every file system can; then writing tells.
  if (expected_bytes != 0 && ::fallocate(number_, 0, 0, static_cast<off_t>(expected_bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    const int error = errno;
    discard();
    fail(error);
  }
}

NewFile::~NewFile() {
  discard();
}

void NewFile::discard() {
  if (number_ >= 0) {
    ::close(std::exchange(number_, -1));
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

// By `take(name)`, which says whether it could. Two threads may write the same graph.
template <class Take>
void NewFile::take_name(const Take& take) {
  const std::string stem = path_ + ".new-" + std::to_string(::getpid());
  std::string name = stem;
  for (int attempt = 1; !take(name.c_str()); ++attempt) {
    if (errno != EEXIST || attempt > 100) {
      fail(errno);
    }
    name = stem + "-" + std::to_string(attempt);
  }
  temporary_ = name;
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
  if (temporary_.empty()) {
    const std::string open_file = "/proc/self/fd/" + std::to_string(number_);
    take_name([&](const char* name) {
      return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    });
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
