// Pieces of managed memory that come to the GPU because it reads them. The driver moves whole pages, and
// more around them where it expects to be asked for them next: what was read and what moved are two numbers,
// and every sample counts the second.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "managed_lane.hpp"
#include "read_pieces.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::size_t kAllPages = 0;

class ManagedPiecesLane final : public ManagedLane {
 public:
  ManagedPiecesLane(const Transfer& transfer, const Surroundings& surroundings)
      : ManagedLane(transfer, surroundings),
        row_{transfer.bytes / transfer.piece_bytes, transfer.piece_bytes, transfer.stride_bytes},
        team_(transfer.host_threads, current_affinity()),
        // On the GPU: beside the pieces it would be a page that moves, too.
        sum_(transfer.gpu(), sizeof(unsigned long long)) {
    load_piece_reader();
    cuda::check(cudaMemset(sum_.data(), 0, sum_.bytes()), "clear a sum on the GPU");
  }

  void prepare() override {
    if (const std::uint64_t absent = bring_pages([this] { return bring_to_host(); }); absent > 0) {
      throw FailedError("managed pages did not move: " + std::to_string(absent) +
                        " are not on the host before a sample");
    }
    note_at_source();
  }

  void move(const cuda::Stream& stream) override {
    ++launches_;
    read_pieces(words(), row_, static_cast<unsigned long long*>(sum_.data()), stream);
  }

  void check_sample() override {
    const auto presence = pages_present(words(), transfer().memory_bytes(), kAllPages);
    if (!presence) {
      return;
    }
    for (std::uint64_t i = 0; i < row_.pieces; ++i) {
      const auto* piece = reinterpret_cast<const std::byte*>(words()) + i * row_.stride_bytes;
      const auto own = pages_present(piece, row_.piece_bytes, kAllPages);
      if (own && own->present > 0) {
        throw FailedError("managed pages did not move: " + std::to_string(own->present) + " of piece " +
                          std::to_string(i) + " are still on the host after a sample");
      }
    }
    moved_bytes_.push_back(presence->absent * base_page_bytes());
  }

  std::string verify() override {
    std::uint64_t once = 0;
    for (std::uint64_t i = 0; i < row_.pieces; ++i) {
      once += pattern_sum(i * row_.stride_bytes / sizeof(std::uint32_t),
                          row_.piece_bytes / sizeof(std::uint32_t), kPayload);
    }
    unsigned long long sum = 0;
    cuda::check(cudaMemcpy(&sum, sum_.data(), sizeof(sum), cudaMemcpyDeviceToHost), "read a sum");
    if (launches_ == 0 || sum != once * launches_) {
      throw FailedError("wrong result: the words read do not add up to what was written there");
    }
    return moved_bytes_.empty()
               ? "the sum of every word that every sample read; the system does not tell where pages live"
               : "the sum of every word that every sample read, and where all pages live before and after it";
  }

  // Of an odd number of samples the median, of an even number the lower of the two in the middle: a count
  // that a sample had.
  void describe(Measurement& measurement) const override {
    if (moved_bytes_.empty()) {
      return;
    }
    std::vector<std::uint64_t> ordered = moved_bytes_;
    std::sort(ordered.begin(), ordered.end());
    const std::uint64_t moved = ordered[(ordered.size() - 1) / 2];
    measurement.link_bytes_least = moved;
    measurement.counters["moved_bytes"] = static_cast<double>(moved);
    measurement.counters["moved_bytes_per_piece"] =
        static_cast<double>(moved) / static_cast<double>(row_.pieces);
    measurement.counters["page_bytes"] = static_cast<double>(base_page_bytes());
  }

  [[nodiscard]] std::string action() const override {
    return "a kernel that reads every word of each piece, whose pages live on the host";
  }

 private:
  // Pages that are not there all the same; 0 where the system does not tell.
  std::uint64_t bring_to_host() {
    prefetch_to(transfer().source, own_stream());
    own_stream().synchronize();
    // The host owns and maps every page only once it has written to it.
    static_cast<void>(touch_from_host(team_, words(), word_count()));
    const auto presence = pages_present(words(), transfer().memory_bytes(), kAllPages);
    return presence ? presence->absent : 0;
  }

  PieceRow row_;
  ThreadTeam team_;
  cuda::DeviceBuffer sum_;
  std::uint64_t launches_ = 0;
  std::vector<std::uint64_t> moved_bytes_;  // in each sample, warm-ups among them
};

}  // namespace

std::unique_ptr<Lane> make_managed_pieces_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<ManagedPiecesLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
