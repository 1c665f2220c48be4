#ifndef GRAINSCOPE_CUDA_HINT_HPP
#define GRAINSCOPE_CUDA_HINT_HPP

// What the driver is told of managed memory that a GPU will ask for, and what comes of it. Knows nothing of
// the toolkit.

#include <cstdint>

namespace grainscope::cuda {

class Stream;

// Of pages that live on the host when the GPU first asks for them.
enum class Hint {
  none,            // nothing is told
  read_mostly,     // cudaMemAdviseSetReadMostly
  preferred_gpu,   // cudaMemAdviseSetPreferredLocation, the GPU
  preferred_host,  // the same, the host
  accessed_by,     // cudaMemAdviseSetAccessedBy
  prefetch,        // cudaMemPrefetchAsync of all of it, right before and timed as well
};
inline constexpr Hint kHints[] = {Hint::none,           Hint::read_mostly, Hint::preferred_gpu,
                                  Hint::preferred_host, Hint::accessed_by, Hint::prefetch};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Hint hint) {
  switch (hint) {
    case Hint::none:
      return "none";
    case Hint::read_mostly:
      return "read_mostly";
    case Hint::preferred_gpu:
      return "preferred_gpu";
    case Hint::preferred_host:
      return "preferred_host";
    case Hint::accessed_by:
      return "accessed_by";
    case Hint::prefetch:
      return "prefetch";
  }
  return "?";
}
// What it brings about, for a reader.
[[nodiscard]] constexpr const char* meaning(Hint hint) {
  switch (hint) {
    case Hint::none:
      return "without a hint: pages migrate to the GPU when it asks for them";
    case Hint::read_mostly:
      return "read-mostly: the GPU gets copies of pages that it reads, and the host keeps its own";
    case Hint::preferred_gpu:
      return "the GPU being the preferred location: pages migrate there and are to stay";
    case Hint::preferred_host:
      return "the host being the preferred location: no page migrates, the GPU reads over the link";
    case Hint::accessed_by:
      return "accessed by the GPU: it maps the pages beforehand, none migrates, and it reads over the link";
    case Hint::prefetch:
      return "after a prefetch of all of it, which is timed as well";
  }
  return "?";
}

// A GPU that reads under it reads pages where they are: none of them leaves the host.
[[nodiscard]] constexpr bool is_read_in_place(Hint hint) {
  return hint == Hint::preferred_host || hint == Hint::accessed_by;
}
// Pages that the GPU reads leave the host; of read-mostly ones the host keeps its own.
[[nodiscard]] constexpr bool migrates(Hint hint) {
  return !is_read_in_place(hint) && hint != Hint::read_mostly;
}

// Tells the driver so of managed memory that `gpu` will read; what is not advice (none, prefetch) is nothing.
// Throws FailedError where the driver refuses, or does not tell the same when it is asked.
void give_hint(const void* data, std::uint64_t bytes, Hint hint, int gpu);
// Undoes it: pages go where they are sent, and copies of them are gone. Pages that were read-mostly are then
// on their way to the GPU by `stream`, which has to have room for all of them: on the host they would stay
// mapped for reading alone, and each be a fault when it is written to; pages that come home from the GPU are
// not.
void take_back_hint(const void* data, std::uint64_t bytes, Hint hint, int gpu, const Stream& stream);

}  // namespace grainscope::cuda

#endif
