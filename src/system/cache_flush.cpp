// Evicting a buffer from the caches, by one thread or several.

#include "grainscope/system/cache_flush.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include "cache_line.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope {

bool can_flush() noexcept {
  return cache_line::available();
}

std::string flush_instruction() {
  return cache_line::name();
}

std::size_t cache_line_bytes() noexcept {
  return cache_line::bytes();
}

void flush_cache(const void* data, std::size_t bytes, int threads) {
  if (!can_flush()) {
    throw EnvironmentError(
        "flushing " + std::to_string(bytes) +
        " bytes from the caches: this CPU architecture has no instruction for it in user space; "
        "choose cases without a flush");
  }
  if (threads < 1) {
    throw UsageError("flushing the caches with " + std::to_string(threads) +
                     " threads: at least 1 is needed");
  }
  if (bytes == 0) {
    return;
  }
  const std::size_t line = cache_line_bytes();
  const char* const begin = static_cast<const char*>(data);
  const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % line;
  const char* const first = begin - before;
  const char* const last = begin + bytes;
  const std::size_t lines = (before + bytes + line - 1) / line;
  const std::size_t shares = std::min<std::size_t>(static_cast<std::size_t>(threads), lines);
  const auto share_begin = [&](std::size_t share) { return first + lines * share / shares * line; };
  std::vector<std::jthread> workers;
  for (std::size_t share = 1; share < shares; ++share) {
    workers.emplace_back(
        [=] { cache_line::evict(share_begin(share), std::min(share_begin(share + 1), last)); });
  }
  cache_line::evict(first, std::min(share_begin(1), last));
}

}  // namespace grainscope
