#include "binary_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace grainscope::graph
