// Managed memory that moves between host and GPU: on demand, by the first access of the other side, or by
// prefetch. Comm|Scope, section 3.4. Every sample proves that the pages really moved.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kBlocks = 256;  // Comm|Scope's grid
constexpr int kThreads = 256;
constexpr std::size_t kPagesLookedAt = 64;  // for residency, around every sample
constexpr std::size_t kAllPages = 0;

// A warp writes one word to a page, the one that it held, and goes on by the number of warps.
__global__ void touch_pages(std::uint32_t* data, std::uint64_t words, std::uint64_t words_per_page) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  for (std::uint64_t word = warp * words_per_page; word < words; word += warps * words_per_page) {
    if (threadIdx.x % 32 == 0) {
      data[word] = pattern_word(word, kPayload);
    }
  }
}

// The GPU writes one word to each page, the one that it held: what makes managed pages come.
void touch_from_gpu(std::uint32_t* data, std::uint64_t words, cudaStream_t stream) {
  touch_pages<<<kBlocks, kThreads, 0, stream>>>(data, words, base_page_bytes() / sizeof(std::uint32_t));
  cuda::check_launch("touch_pages");
}

// The team's threads write one word to each page, the one that it held; seconds from their common start to
// the last one's end.
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

// Pieces that begin `stride_bytes` apart; both are multiples of 16 bytes.
struct PieceRow {
  std::uint64_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::uint64_t stride_bytes = 0;
};

constexpr std::uint64_t kWarp = 32;
constexpr std::uint64_t kChunkElements = 4096 / sizeof(uint4);

// `piece` and `stride` are counted in elements of 16 bytes.
__global__ void sum_pieces(const uint4* data, std::uint64_t pieces, std::uint64_t piece, std::uint64_t stride,
                           unsigned long long* sum) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / kWarp;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  const std::uint64_t chunks = (piece + kChunkElements - 1) / kChunkElements;  // of a piece
  unsigned long long own = 0;
  for (std::uint64_t chunk = warp; chunk < pieces * chunks; chunk += warps) {
    const std::uint64_t begin = chunk % chunks * kChunkElements;
    const std::uint64_t end = begin + kChunkElements < piece ? begin + kChunkElements : piece;
    const uint4* first = data + chunk / chunks * stride;
    for (std::uint64_t i = begin + threadIdx.x % kWarp; i < end; i += kWarp) {
      const uint4 words = first[i];
      own += std::uint64_t{words.x} + words.y + words.z + words.w;
    }
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    own += __shfl_down_sync(~0U, own, lanes);
  }
  if (threadIdx.x % kWarp == 0 && own != 0) {
    atomicAdd(sum, own);
  }
}

// The GPU reads every word of every piece at `data` and adds it to `sum` (device memory), mod 2⁶⁴. A warp
// takes 4 KiB at a time, so that as many pages are asked for at once as by the kernel that touches pages.
void read_pieces(const void* data, const PieceRow& row, unsigned long long* sum, const cuda::Stream& stream) {
  sum_pieces<<<kBlocks, kThreads, 0, stream.get()>>>(static_cast<const uint4*>(data), row.pieces,
                                                     row.piece_bytes / sizeof(uint4),
                                                     row.stride_bytes / sizeof(uint4), sum);
  cuda::check_launch("sum_pieces");
}

cuda::Location location_of(const Endpoint& end) {
  return end.on_host() ? cuda::Location::host_node(end.id) : cuda::Location::gpu(end.id);
}

// What all lanes of managed memory share: one buffer, full of payload, whose pages go from the source to the
// destination.
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

ManagedLane::ManagedLane(const Transfer& transfer, const Surroundings& surroundings)
    : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
      transfer_(transfer),
      memory_(*surroundings.managed, transfer.gpu(), transfer.memory_bytes()) {
  cuda::load_kernel(touch_pages, "load the kernel that touches pages");
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

class HostManagedLane final : public ManagedLane {
 public:
  HostManagedLane(const Transfer& transfer, const Surroundings& surroundings)
      : ManagedLane(transfer, surroundings), team_(transfer.host_threads, current_affinity()) {}

  void prepare() override {
    const bool on_host = transfer().to_gpu();
    require_none(bring_pages([&] {
                   bring_to_source();
                   return misplaced(on_host);
                 }),
                 on_host, "before a sample");
    note_at_source();
  }

  void move(const cuda::Stream& stream) override {
    if (transfer().engine == Engine::prefetch) {
      prefetch_pieces_to_destination(stream);
    } else if (transfer().to_gpu()) {
      touch_from_gpu(words(), word_count(), stream.get());
    } else {
      touched_s_ = touch_from_host(team_, words(), word_count());
    }
  }

  void check_sample() override {
    const bool on_host = !transfer().to_gpu();
    require_none(misplaced(on_host), on_host, "after a sample");
  }

  std::string verify() override {
    if (transfer().to_gpu()) {
      expect_payload(cuda::find_mismatch(words(), word_count(), kPayload, own_stream()), "on the GPU");
    } else {
      expect_payload(grainscope::find_mismatch(words(), word_count(), kPayload), "on the host");
    }
    return residency_known_
               ? "every word at the destination, and where pages live before and after each sample"
               : "every word at the destination; the system does not tell where pages live";
  }

  [[nodiscard]] Conduct conduct() const override {
    return touches_from_host() ? Conduct::on_host : ManagedLane::conduct();
  }
  [[nodiscard]] bool launches_kernels() const override {
    return transfer().engine == Engine::fault && transfer().to_gpu();
  }
  [[nodiscard]] bool on_callers_thread() const override { return !touches_from_host() || team_.size() == 1; }
  [[nodiscard]] std::optional<double> own_time_s() const override {
    return touches_from_host() ? std::optional<double>(touched_s_) : std::nullopt;
  }
  [[nodiscard]] std::string action() const override {
    return touches_from_host() ? "host threads that write one word to each page" : ManagedLane::action();
  }

 private:
  [[nodiscard]] bool touches_from_host() const {
    return transfer().engine == Engine::fault && !transfer().to_gpu();
  }

  void bring_to_source() {
    prefetch_to(transfer().source, own_stream());
    own_stream().synchronize();
    if (transfer().to_gpu()) {
      // The host owns and maps every page only once it has written to it.
      static_cast<void>(touch_from_host(team_, words(), word_count()));
    }
  }

  // Pages among those looked at that are not on the host, or are, against what is expected.
  [[nodiscard]] std::uint64_t misplaced(bool on_host) {
    const auto presence = pages_present(words(), bytes(), kPagesLookedAt);
    residency_known_ = residency_known_ && presence.has_value();
    return !presence ? 0 : on_host ? presence->absent : presence->present;
  }

  static void require_none(std::uint64_t misplaced, bool on_host, const char* when) {
    if (misplaced > 0) {
      throw FailedError("managed pages did not move: " + std::to_string(misplaced) +
                        " of those looked at are " + (on_host ? "not on the host " : "still on the host ") +
                        when);
    }
  }

  ThreadTeam team_;
  double touched_s_ = 0;
  bool residency_known_ = true;
};

class PeerManagedLane final : public ManagedLane {
 public:
  PeerManagedLane(const Transfer& transfer, const Surroundings& surroundings)
      : ManagedLane(transfer, surroundings),
        at_source_(transfer.source.id, transfer.destination.id),
        at_destination_(transfer.destination.id, transfer.source.id) {
    if (surroundings.managed->available(transfer.source.id) < transfer.bytes) {
      throw SkipError(format_bytes(transfer.bytes) +
                      " of managed memory are more than a quarter of what GPU " +
                      std::to_string(transfer.source.id) + " has free");
    }
  }

  void prepare() override {
    require_none(bring_pages([&] {
                   prefetch_to(transfer().source, own_stream());
                   own_stream().synchronize();
                   return at_source_.pages_elsewhere(words(), bytes());
                 }),
                 transfer().source.id, "before a sample");
    note_at_source();
  }

  void move(const cuda::Stream& stream) override {
    if (transfer().engine == Engine::prefetch) {
      prefetch_pieces_to_destination(stream);
    } else {
      touch_from_gpu(words(), word_count(), stream.get());
    }
  }

  void check_sample() override {
    require_none(at_destination_.pages_elsewhere(words(), bytes()), transfer().destination.id,
                 "after a sample");
  }

  std::string verify() override {
    expect_payload(cuda::find_mismatch(words(), word_count(), kPayload, own_stream()), "on the GPU");
    return "every word at the destination, and by how fast they answer that pages live there after each "
           "sample";
  }

  [[nodiscard]] bool launches_kernels() const override { return transfer().engine == Engine::fault; }

 private:
  static void require_none(std::uint64_t elsewhere, int gpu, const char* when) {
    if (elsewhere > 0) {
      throw FailedError("managed pages did not move: " + std::to_string(elsewhere) +
                        " of those looked at do not live on GPU " + std::to_string(gpu) + " " + when);
    }
  }

  cuda::ResidencyProbe at_source_;
  cuda::ResidencyProbe at_destination_;
};

// Pieces that come to the GPU because it reads them. The driver moves whole pages, and more around them where
// it expects to be asked for them next: what was read and what moved are two numbers, and every sample counts
// the second.
class ManagedPiecesLane final : public ManagedLane {
 public:
  ManagedPiecesLane(const Transfer& transfer, const Surroundings& surroundings)
      : ManagedLane(transfer, surroundings),
        row_{transfer.bytes / transfer.piece_bytes, transfer.piece_bytes, transfer.stride_bytes},
        team_(transfer.host_threads, current_affinity()),
        // On the GPU: beside the pieces it would be a page that moves, too.
        sum_(transfer.gpu(), sizeof(unsigned long long)) {
    cuda::load_kernel(sum_pieces, "load the kernel that reads pieces");
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

std::unique_ptr<Lane> make_managed_lane(const Transfer& transfer, const Surroundings& surroundings) {
  if (transfer.between_gpus()) {
    return std::make_unique<PeerManagedLane>(transfer, surroundings);
  }
  if (transfer.engine == Engine::fault && transfer.piece_bytes > 0) {
    return std::make_unique<ManagedPiecesLane>(transfer, surroundings);
  }
  return std::make_unique<HostManagedLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
