#include "managed_lane.hpp"

#include <algorithm>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/system/host_memory.hpp"
#include "touch_pages.hpp"

namespace grainscope::transfer {
namespace {

cuda::Location location_of(const Endpoint& end) {
  return end.on_host() ? cuda::Location::host_node(end.id) : cuda::Location::gpu(end.id);
}

}  // namespace

ManagedLane::ManagedLane(const Transfer& transfer, const Surroundings& surroundings)
    : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
      transfer_(transfer),
      memory_(*surroundings.managed, transfer.gpu(), transfer.memory_bytes()) {
  load_touch_kernel();
  grainscope::fill_pattern(words(), word_count(), kPayload);
}

void ManagedLane::issue(const cuda::Stream& stream) {
  if (!std::exchange(at_source_side_, false)) {
    throw FailedError("managed pages do not live where a sample starts: they were not brought back");
  }
  move(stream);
}

std::string ManagedLane::action() const {
  return transfer_.engine == Engine::prefetch ? "cudaMemPrefetchAsync; the driver works within the call"
                                              : "a kernel that writes one word to each page";
}

Conduct ManagedLane::conduct() const {
  return transfer_.engine == Engine::prefetch ? Conduct::called : Conduct::enqueued;
}

void ManagedLane::prefetch_to(const Endpoint& end, const cuda::Stream& stream) const {
  prefetch_piece(0, memory_.bytes(), end, stream);
}

void ManagedLane::prefetch_pieces_to_destination(const cuda::Stream& stream) const {
  const std::uint64_t piece = transfer_.piece_bytes > 0 ? transfer_.piece_bytes : bytes();
  for (std::uint64_t first = 0; first < bytes(); first += piece) {
    prefetch_piece(first, std::min(piece, bytes() - first), transfer_.destination, stream);
  }
}

void ManagedLane::prefetch_piece(std::uint64_t first, std::uint64_t size, const Endpoint& end,
                                 const cuda::Stream& stream) const {
  cuda::check(
      cuda::prefetch(static_cast<std::byte*>(memory_.data()) + first, size, location_of(end), stream.get()),
      "prefetch " + format_bytes(size) + " of managed memory");
}

double touch_from_host(ThreadTeam& team, std::uint32_t* words, std::uint64_t word_count) {
  volatile std::uint32_t* data = words;
  const std::uint64_t page = base_page_bytes() / sizeof(std::uint32_t);
  const std::uint64_t pages = (word_count + page - 1) / page;
  return team.run([=, &team](int worker) {
    const Share share = share_of(pages, worker, team.size());
    for (std::uint64_t i = share.first; i < share.last; ++i) {
      data[i * page] = pattern_word(i * page, kPayload);
    }
  });
}

}  // namespace grainscope::transfer
