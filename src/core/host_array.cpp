// Mapping large arrays, and parts of files, without touching them.

#include "grainscope/core/host_array.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/limits.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace grainscope {
namespace {

constexpr std::uint64_t kHugePage = 2 * kMiB;
constexpr std::uint64_t kAskFrom = 16 * kMiB;  // below, asking costs more than it saves

std::string reason(int error) {
  return std::system_category().message(error);
}

std::string sized(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes (" + format_bytes(bytes) + ")";
}

// A control group's limit is certain death; MemAvailable is asked only where there is no group, since it
// grows on some virtual machines.
void require_available(std::uint64_t bytes) {
  if (bytes < kAskFrom) {
    return;
  }
  const AvailableMemory available = available_memory();
  const auto most = available.cgroup_bytes ? available.cgroup_bytes : available.meminfo_bytes;
  if (most && bytes > *most) {
    throw EnvironmentError("taking " + sized(bytes) + " of host memory: only " + sized(*most) +
                           " are available; free memory, raise the container's limit, or choose a smaller "
                           "graph");
  }
}

// The sanitizer knows nothing of mappings: what lies behind `used` bytes, up to the last page's end, is made
// an error to touch, and free again before it is given back.
void guard_tail([[maybe_unused]] void* mapping, [[maybe_unused]] std::uint64_t used,
                [[maybe_unused]] std::uint64_t bytes, [[maybe_unused]] bool guarded) {
#ifdef __SANITIZE_ADDRESS__
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t tail = (bytes + page - 1) / page * page - used;
  if (guarded) {
    __asan_poison_memory_region(static_cast<std::byte*>(mapping) + used, tail);
  } else {
    __asan_unpoison_memory_region(static_cast<std::byte*>(mapping) + used, tail);
  }
#endif
}

// Of a mapping of `bytes`, `used` of which anybody may touch.
std::shared_ptr<void> owner_of(void* mapping, std::uint64_t bytes, std::uint64_t used) {
  guard_tail(mapping, used, bytes, true);
  return {mapping, [bytes, used](void* address) {
            guard_tail(address, used, bytes, false);
            ::munmap(address, bytes);
          }};
}

// Closes a file at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

[[noreturn]] void throw_unmapped(const std::string& path, std::uint64_t offset, std::uint64_t bytes,
                                 const std::string& why) {
  throw EnvironmentError("mapping " + std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                         " of " + path + ": " + why);
}

}  // namespace

void wish_for_huge_pages(void* data, std::uint64_t bytes) noexcept {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t outside = (page - reinterpret_cast<std::uintptr_t>(data) % page) % page;
  if (bytes > outside) {
    // Kernels without huge pages refuse it.
    ::madvise(static_cast<std::byte*>(data) + outside, bytes - outside, MADV_HUGEPAGE);
  }
}

HostBytes::HostBytes(std::uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) {
    return;
  }
  require_available(bytes);
  const std::uint64_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* mapping = bytes > SIZE_MAX - slack ? MAP_FAILED
                                           : ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw EnvironmentError("taking " + sized(bytes) +
                           " of host memory (mmap): " + reason(bytes > SIZE_MAX - slack ? ENOMEM : errno) +
                           "; free memory or choose a smaller graph");
  }
  data_ = static_cast<std::byte*>(mapping);
  if (slack != 0) {
    const auto past = reinterpret_cast<std::uintptr_t>(mapping) % kHugePage;
    data_ += past == 0 ? 0 : kHugePage - past;
    wish_for_huge_pages(data_, bytes);
  }
  const auto before = static_cast<std::uint64_t>(data_ - static_cast<std::byte*>(mapping));
  mapping_ = owner_of(mapping, bytes + slack, before + bytes);
}

HostBytes HostBytes::map_file(const std::string& path, std::uint64_t offset, std::uint64_t bytes) {
  const Descriptor file(path);
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) {
    throw_unmapped(path, offset, bytes, reason(errno));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || bytes > size || offset > size - bytes) {
    throw_unmapped(path, offset, bytes,
                   S_ISREG(status.st_mode) ? "the file has " + std::to_string(size) + " bytes"
                                           : std::string("it is no regular file"));
  }
  HostBytes view;
  view.bytes_ = bytes;
  if (bytes == 0) {
    return view;
  }
  const std::uint64_t into_page = offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  void* mapping = ::mmap(nullptr, bytes + into_page, PROT_READ, MAP_SHARED, file.number(),
                         static_cast<off_t>(offset - into_page));
  if (mapping == MAP_FAILED) {
    throw_unmapped(path, offset, bytes, "mmap: " + reason(errno));
  }
  view.mapping_ = owner_of(mapping, bytes + into_page, bytes + into_page);
  view.data_ = static_cast<std::byte*>(mapping) + into_page;
  return view;
}

}  // namespace grainscope
