#ifndef GRAINSCOPE_SYSTEM_SHARED_MEMORY_HPP
#define GRAINSCOPE_SYSTEM_SHARED_MEMORY_HPP

// Host memory that this program shares with processes which it starts. It has no name: the kernel takes it
// back when the last of them is gone, however they went.

#include <cstddef>
#include <cstdint>
#include <string>

namespace grainscope {

class SharedMemory {
 public:
  // Zeroed on first touch. Throws EnvironmentError, with the size, where it is not to be had.
  explicit SharedMemory(std::uint64_t bytes);
  // What a parent has made and this process has kept open (ChildRequest::keep): the descriptor is taken over.
  // Throws UsageError where it is no memory of at least that size.
  SharedMemory(int descriptor, std::uint64_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // Where this process can open it as a file.
  [[nodiscard]] std::string path() const;

 private:
  void map();

  int descriptor_ = -1;
  std::uint64_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace grainscope

#endif
