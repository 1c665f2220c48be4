#ifndef GRAINSCOPE_CUDA_PROFILE_RANGE_HPP
#define GRAINSCOPE_CUDA_PROFILE_RANGE_HPP

namespace grainscope::cuda {

// Marks what runs while it lives for a profiler that follows NVTX ranges; without one it costs nothing.
class [[nodiscard]] ProfileRange {
 public:
  explicit ProfileRange(const char* name);
  ~ProfileRange();
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
};

// Whether scripts/grainscope-count runs this program (GRAINSCOPE_COUNT is set): cases whose samples stand
// behind a gate, where a profiler cannot count, then do once more what they timed, in such a range.
[[nodiscard]] bool is_counted();

}  // namespace grainscope::cuda

#endif
