#ifndef GRAINSCOPE_CUDA_PEER_ACCESS_HPP
#define GRAINSCOPE_CUDA_PEER_ACCESS_HPP

namespace grainscope::cuda {

// While it lives, kernels and copies on `gpu` reach the memory of `peer`, in that direction alone.
// An access that somebody enabled before is left as it was. Two of them for the same direction must end in
// the reverse order of their beginning, since the first one enabled it.
class [[nodiscard]] PeerAccess {
 public:
  // Throws SkipError, with the reason, where the two cannot reach each other; FailedError for a GPU that does
  // not exist.
  PeerAccess(int gpu, int peer);
  ~PeerAccess();
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

  // Whether this object enabled it, and so will disable it.
  [[nodiscard]] bool enabled_here() const noexcept { return enabled_here_; }

 private:
  int gpu_;
  int peer_;
  bool enabled_here_ = false;
};

}  // namespace grainscope::cuda

#endif
