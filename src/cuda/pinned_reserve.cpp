#include "grainscope/cuda/pinned_reserve.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "grainscope/core/units.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {
namespace {

constexpr std::size_t kMostOfNode = 2;
constexpr std::uint64_t kLargest = kGiB;

}  // namespace

struct PinnedReserve::State {
  std::map<int, std::vector<PinnedBuffer>> nodes;  // ascending by size
};

PinnedReserve::PinnedReserve() : state_(std::make_unique<State>()) {}
PinnedReserve::~PinnedReserve() = default;

PinnedBuffer PinnedReserve::take(std::uint64_t bytes, int node) {
  auto& waiting = state_->nodes[node];
  const auto fits = std::find_if(waiting.begin(), waiting.end(),
                                 [&](const PinnedBuffer& buffer) { return buffer.bytes() >= bytes; });
  if (fits == waiting.end()) {
    return {bytes, PinnedBuffer::Kind::cached};
  }
  PinnedBuffer taken = std::move(*fits);
  waiting.erase(fits);
  return taken;
}

void PinnedReserve::give_back(PinnedBuffer buffer, int node) {
  if (buffer.bytes() > kLargest) {
    return;
  }
  auto& waiting = state_->nodes[node];
  const auto place = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const PinnedBuffer& other) { return other.bytes() >= buffer.bytes(); });
  waiting.insert(place, std::move(buffer));
  if (waiting.size() > kMostOfNode) {
    waiting.erase(waiting.begin());
  }
}

void PinnedReserve::clear() {
  state_->nodes.clear();
}

}  // namespace grainscope::cuda
