#ifndef GRAINSCOPE_TESTS_EVERY_TRANSFER_HPP
#define GRAINSCOPE_TESTS_EVERY_TRANSFER_HPP

#include <array>
#include <cstdint>
#include <vector>

#include "grainscope/transfer/transfer.hpp"

namespace grainscope::test {

// Every kind of memory on a node, on GPU 0 and on GPU 1, to every other, by every engine, whether it can be
// or not; between two GPUs issued by either.
inline std::vector<transfer::Transfer> every_transfer(std::uint64_t bytes, int node) {
  using transfer::Endpoint;
  using transfer::Engine;
  using transfer::Placement;
  std::vector<Endpoint> ends;
  for (const Placement placement :
       {Placement::pageable, Placement::pinned, Placement::registered, Placement::write_combined,
        Placement::mapped, Placement::managed, Placement::device, Placement::registers}) {
    for (const Endpoint& end :
         {Endpoint::host(placement, node), Endpoint::gpu(placement, 0), Endpoint::gpu(placement, 1)}) {
      ends.push_back(end);
    }
  }
  std::vector<transfer::Transfer> all;
  for (const Engine engine : {Engine::copy_engine, Engine::sm, Engine::fault, Engine::prefetch}) {
    for (const Endpoint& source : ends) {
      for (const Endpoint& destination : ends) {
        transfer::Transfer one;
        one.engine = engine;
        one.source = source;
        one.destination = destination;
        one.bytes = bytes;
        one.staging_node = node;
        all.push_back(one);
        if (one.between_gpus() && !one.within_gpu()) {
          one.by_source = true;
          all.push_back(one);
        }
      }
    }
  }
  return all;
}

}  // namespace grainscope::test

#endif
