#ifndef GRAINSCOPE_CUDA_SM_PARTITION_HPP
#define GRAINSCOPE_CUDA_SM_PARTITION_HPP

// A part of a GPU's multiprocessors for some kernels, so that others have the rest.

#include <memory>

namespace grainscope::cuda {

class Stream;

enum class ShareBy {
  unlimited,       // nothing is parted: kernels take what they find
  grid_cap,        // grids of no more blocks than so many multiprocessors hold; the GPU places them
  green_context,   // the driver keeps kernels of a stream to some multiprocessors, within one process
  mps_percentage,  // a client of MPS that has a percentage of the threads
  exec_affinity,   // a client of MPS whose context was made with a number of multiprocessors
};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(ShareBy by) {
  switch (by) {
    case ShareBy::unlimited:
      return "unlimited";
    case ShareBy::grid_cap:
      return "grid_cap";
    case ShareBy::green_context:
      return "green_context";
    case ShareBy::mps_percentage:
      return "mps_percentage";
    case ShareBy::exec_affinity:
      return "exec_affinity";
  }
  return "?";
}
// Whether each side is a process of its own, and a client of MPS.
[[nodiscard]] constexpr bool needs_mps(ShareBy by) {
  return by == ShareBy::mps_percentage || by == ShareBy::exec_affinity;
}

class SmPartition {
 public:
  virtual ~SmPartition() = default;
  SmPartition(const SmPartition&) = delete;
  SmPartition& operator=(const SmPartition&) = delete;

  // Multiprocessors: of green contexts, MPS percentages and affinities as the driver answers; of a grid cap
  // those that its grids would fill if they were alone, which is what grids are to be made for.
  [[nodiscard]] int given_sms() const noexcept { return given_; }
  // A new stream whose kernels run on them. The partition outlives it; the GPU is current.
  [[nodiscard]] virtual Stream stream() const;

 protected:
  explicit SmPartition(int given) : given_(given) {}
  int given_;
};

// A part of `sms` multiprocessors of `gpu`, or the fewest more that the driver gives. Of `unlimited` and of
// `mps_percentage`, which this process got from its environment, all that this process has. `exec_affinity`
// makes a context that stays current for the calling thread while the part lives: before any other work of
// the process on that GPU. Throws UsageError for no or too many multiprocessors; SkipError, with the
// driver's words, where the driver cannot; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<SmPartition> make_partition(int gpu, ShareBy by, int sms);

// The same, and beside it all other multiprocessors. Not for ways that need MPS: each of its processes has a
// part of its own.
struct SmSplit {
  std::unique_ptr<SmPartition> part;
  std::unique_ptr<SmPartition> rest;
};
[[nodiscard]] SmSplit split_multiprocessors(int gpu, ShareBy by, int sms);

// Different multiprocessors on which the blocks of a grid came to lie, seen by the blocks themselves: as many
// as the whole GPU holds, or `blocks` of 256 threads, all of them there at once or for 0.2 ms each.
[[nodiscard]] int count_multiprocessors(int gpu, const SmPartition& partition, int blocks = 0);

}  // namespace grainscope::cuda

#endif
