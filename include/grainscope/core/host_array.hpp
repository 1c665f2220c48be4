#ifndef GRAINSCOPE_CORE_HOST_ARRAY_HPP
#define GRAINSCOPE_CORE_HOST_ARRAY_HPP

// Large arrays in host memory that nobody zeroes first: their pages come into being, or come from a file, as
// they are touched, by whichever thread touches them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace grainscope {

// A wish for transparent huge pages in memory that nobody has touched yet.
void wish_for_huge_pages(void* data, std::uint64_t bytes) noexcept;

// Anonymous memory, or a view of a part of a mapped file; move-only.
class HostBytes {
 public:
  HostBytes() = default;
  // Zero on first touch, in transparent huge pages where the system has them. Throws EnvironmentError, with
  // the size, where it is not to be had: no address space, or more than `available_memory()` tells of.
  explicit HostBytes(std::uint64_t bytes);
  // `bytes` bytes of a file from `offset`, read-only (writing faults) and backed by the page cache. Throws
  // EnvironmentError, naming the file, where it cannot be mapped or is shorter than that.
  static HostBytes map_file(const std::string& path, std::uint64_t offset, std::uint64_t bytes);

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::shared_ptr<void> mapping_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

template <class T>
class HostArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HostArray() = default;
  explicit HostArray(std::uint64_t size) : memory_(size * sizeof(T)), size_(size) {}
  // `memory` must be aligned for T and hold at least `size` of it.
  HostArray(HostBytes memory, std::uint64_t size) : memory_(std::move(memory)), size_(size) {}

  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] T& operator[](std::uint64_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() const noexcept { return data() + size_; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), size_}; }

 private:
  HostBytes memory_;
  std::uint64_t size_ = 0;
};

}  // namespace grainscope

#endif
