#include "grainscope/cuda/peer_access.hpp"

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

PeerAccess::PeerAccess(int gpu, int peer) : gpu_(gpu), peer_(peer) {
  const std::string what = "the memory of GPU " + std::to_string(peer) + " from GPU " + std::to_string(gpu);
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, gpu, peer), "ask whether one can reach " + what);
  if (can == 0) {
    throw SkipError("GPU " + std::to_string(gpu) + " cannot reach the memory of GPU " + std::to_string(peer) +
                    " (cudaDeviceCanAccessPeer gives 0): see `nvidia-smi topo -p2p r`");
  }
  const DeviceGuard guard(gpu);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    // It stays as the last error until somebody reads it.
    static_cast<void>(cudaGetLastError());
    return;
  }
  check(status, "reach " + what);
  enabled_here_ = true;
}

PeerAccess::~PeerAccess() {
  int previous = 0;
  // Not by a DeviceGuard: a destructor does not throw.
  if (!enabled_here_ || cudaGetDevice(&previous) != cudaSuccess || cudaSetDevice(gpu_) != cudaSuccess) {
    return;
  }
  static_cast<void>(cudaDeviceDisablePeerAccess(peer_));
  static_cast<void>(cudaSetDevice(previous));
}

}  // namespace grainscope::cuda
