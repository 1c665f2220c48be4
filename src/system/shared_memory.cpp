#include "grainscope/system/shared_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope {
namespace {

[[noreturn]] void refuse(std::uint64_t bytes, const char* call) {
  throw EnvironmentError("could not share " + format_bytes(bytes) + " of memory between processes: " + call +
                         ": " + std::strerror(errno));
}

}  // namespace

SharedMemory::SharedMemory(std::uint64_t bytes) : bytes_(bytes) {
  descriptor_ = memfd_create("grainscope", MFD_CLOEXEC);
  if (descriptor_ < 0) {
    refuse(bytes, "memfd_create");
  }
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(descriptor_);
    errno = error;
    refuse(bytes, "ftruncate");
  }
  map();
}

SharedMemory::SharedMemory(int descriptor, std::uint64_t bytes) : bytes_(bytes) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) < bytes) {
    throw UsageError("descriptor " + std::to_string(descriptor) + " is no shared memory of " +
                     format_bytes(bytes));
  }
  descriptor_ = descriptor;
  map();
}

void SharedMemory::map() {
  void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    close(descriptor_);
    errno = error;
    refuse(bytes_, "mmap");
  }
  data_ = static_cast<std::byte*>(mapped);
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  close(descriptor_);
}

std::string SharedMemory::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

}  // namespace grainscope
