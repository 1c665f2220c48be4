#include "peer_access.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::transfer {
namespace {

void enable_one_way(int from, int to) {
  const std::string tried =
      "let GPU " + std::to_string(from) + " reach the memory of GPU " + std::to_string(to);
  int possible = 0;
  cuda::check(cudaDeviceCanAccessPeer(&possible, from, to), tried);
  if (possible == 0) {
    throw SkipError("GPU " + std::to_string(from) + " cannot reach the memory of GPU " + std::to_string(to));
  }
  const cuda::DeviceGuard guard(from);
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());
    return;
  }
  cuda::check(status, tried);
}

}  // namespace

void enable_peer_access(int gpu, int peer) {
  enable_one_way(gpu, peer);
  enable_one_way(peer, gpu);
}

}  // namespace grainscope::transfer
