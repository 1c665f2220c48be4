#ifndef GRAINSCOPE_SRC_TRANSFER_MANAGED_LANE_HPP
#define GRAINSCOPE_SRC_TRANSFER_MANAGED_LANE_HPP

// What all lanes of managed memory share: one buffer, full of payload, whose pages go from the source to the
// destination.

#include <cstdint>
#include <string>

#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {

class ManagedLane : public Lane {
 public:
  // Takes transfer.memory_bytes() of the budget; throws SkipError where that is too much.
  ManagedLane(const Transfer& transfer, const Surroundings& surroundings);

  // Throws FailedError for a second sample without preparing, which would time an access that moves nothing.
  void issue(const cuda::Stream& stream) final;

  [[nodiscard]] std::string action() const override;
  [[nodiscard]] Conduct conduct() const override;

 protected:
  virtual void move(const cuda::Stream& stream) = 0;
  // Pages were brought to the source, and shown to be there.
  void note_at_source() { at_source_side_ = true; }

  [[nodiscard]] const Transfer& transfer() const { return transfer_; }
  // Of all the memory, which is more than bytes() where pieces lie apart.
  [[nodiscard]] std::uint32_t* words() const { return static_cast<std::uint32_t*>(memory_.data()); }
  [[nodiscard]] std::uint64_t word_count() const { return memory_.bytes() / sizeof(std::uint32_t); }
  [[nodiscard]] const cuda::Stream& own_stream() const { return stream_; }

  // All of it at once: how a sample is prepared.
  void prefetch_to(const Endpoint& end, const cuda::Stream& stream) const;
  // In the transfer's pieces.
  void prefetch_pieces_to_destination(const cuda::Stream& stream) const;

 private:
  void prefetch_piece(std::uint64_t first, std::uint64_t size, const Endpoint& end,
                      const cuda::Stream& stream) const;

  Transfer transfer_;
  bool at_source_side_ = false;
  cuda::Stream stream_;
  cuda::ManagedBuffer memory_;
};

// The team's threads write one word to each page, the one that it held; seconds from their common start to
// the last one's end.
double touch_from_host(ThreadTeam& team, std::uint32_t* words, std::uint64_t word_count);

}  // namespace grainscope::transfer

#endif
