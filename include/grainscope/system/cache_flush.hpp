#ifndef GRAINSCOPE_SYSTEM_CACHE_FLUSH_HPP
#define GRAINSCOPE_SYSTEM_CACHE_FLUSH_HPP

// Writing a buffer back and evicting it from every cache of the host, line by line.
//
// Not for managed memory that lives on a GPU (the flush brings it back to the host), nor for
// write-combined memory (it is never cached).

#include <cstddef>
#include <string>

namespace grainscope {

// Whether this build and this CPU can evict a line from user space.
[[nodiscard]] bool can_flush() noexcept;

// What evicts a line here: `clflushopt`, `clflush`, `dc civac`, `dcbf`; `none` where nothing does.
[[nodiscard]] std::string flush_instruction();

// Bytes that one such instruction evicts. 64 where there is none.
[[nodiscard]] std::size_t cache_line_bytes() noexcept;

// Evicts every line that holds a byte of `data[0..bytes)` and returns when all of it is done and ordered
// before every later load and store of this thread. `threads` share a large buffer; 1 uses the caller.
// EnvironmentError: this architecture has no such instruction. UsageError: threads < 1.
void flush_cache(const void* data, std::size_t bytes, int threads = 1);

}  // namespace grainscope

#endif
