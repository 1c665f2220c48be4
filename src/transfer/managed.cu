// Managed memory that moves between host and GPU: on demand, by the first access of the other side, with or
// without a hint to the driver, or by prefetch, one call a piece or all in one; and pages whose content is
// dropped. Comm|Scope, section 3.4; CUDA runtime API, cudaMemAdvise and cudaMemDiscardBatchAsync. Every
// sample proves that the pages really moved, or did not where they are to be read in place.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/statistics.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/hint.hpp"
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
  // By the transfer's call, of its pieces.
  void call_for_pages(const cuda::Stream& stream) const;

 private:
  // Of a batch: SkipError where the toolkit or the driver is too old.
  void check_batch(cudaError_t status) const;
  Transfer transfer_;
  bool at_source_side_ = false;
  cuda::Stream stream_;
  cuda::ManagedBuffer memory_;
  std::vector<void*> pieces_;  // where they begin
  std::vector<std::size_t> sizes_;
};

ManagedLane::ManagedLane(const Transfer& transfer, const Surroundings& surroundings)
    : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
      transfer_(transfer),
      memory_(*surroundings.managed, transfer.gpu(), transfer.memory_bytes()) {
  cuda::load_kernel(touch_pages, "load the kernel that touches pages");
  grainscope::fill_pattern(words(), word_count(), kPayload);
  const std::uint64_t piece = transfer_.piece_bytes > 0 ? transfer_.piece_bytes : bytes();
  for (std::uint64_t first = 0; first < bytes(); first += piece) {
    pieces_.push_back(static_cast<std::byte*>(memory_.data()) + first);
    sizes_.push_back(std::min(piece, bytes() - first));
  }
}

void ManagedLane::issue(const cuda::Stream& stream) {
  if (!std::exchange(at_source_side_, false)) {
    throw FailedError("managed pages do not live where a sample starts: they were not brought back");
  }
  move(stream);
}

std::string ManagedLane::action() const {
  if (transfer_.engine != Engine::prefetch) {
    return "a kernel that writes one word to each page";
  }
  switch (transfer_.page_call) {
    case PageCall::prefetch:
      return "cudaMemPrefetchAsync; the driver works within the call";
    case PageCall::prefetch_batch:
      return "one cudaMemPrefetchBatchAsync; the driver works within the call";
    case PageCall::discard:
      return "one cudaMemDiscardBatchAsync; the driver works within the call";
    case PageCall::discard_and_prefetch:
      return "one cudaMemDiscardAndPrefetchBatchAsync; the driver works within the call";
  }
  return {};
}

Conduct ManagedLane::conduct() const {
  return transfer_.engine == Engine::prefetch ? Conduct::called : Conduct::enqueued;
}

void ManagedLane::prefetch_to(const Endpoint& end, const cuda::Stream& stream) const {
  cuda::check(cuda::prefetch(memory_.data(), memory_.bytes(), location_of(end), stream.get()),
              "prefetch " + format_bytes(memory_.bytes()) + " of managed memory");
}

void ManagedLane::call_for_pages(const cuda::Stream& stream) const {
  const cuda::ManagedRanges ranges{pieces_.data(), sizes_.data(), pieces_.size()};
  const cuda::Location destination = location_of(transfer_.destination);
  switch (transfer_.page_call) {
    case PageCall::prefetch:
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        cuda::check(cuda::prefetch(pieces_[i], sizes_[i], destination, stream.get()),
                    "prefetch " + format_bytes(sizes_[i]) + " of managed memory");
      }
      return;
    case PageCall::prefetch_batch:
      check_batch(cuda::prefetch_batch(ranges, destination, stream.get()));
      return;
    case PageCall::discard:
      check_batch(cuda::discard_batch(ranges, stream.get()));
      return;
    case PageCall::discard_and_prefetch:
      check_batch(cuda::discard_and_prefetch_batch(ranges, destination, stream.get()));
      return;
  }
}

void ManagedLane::check_batch(cudaError_t status) const {
  if (status == cudaErrorCallRequiresNewerDriver) {
    static_cast<void>(cudaGetLastError());
    throw SkipError("needs a driver for CUDA 13.0");
  }
  cuda::check(status, std::string(name(transfer_.page_call)) + " of " + std::to_string(pieces_.size()) +
                          " pieces of " + format_bytes(sizes_.front()) + " of managed memory");
}

class HostManagedLane : public ManagedLane {
 public:
  HostManagedLane(const Transfer& transfer, const Surroundings& surroundings)
      : ManagedLane(transfer, surroundings), team_(transfer.host_threads, current_affinity()) {
    if (transfer.page_call != PageCall::prefetch && !cuda::kHasManagedBatch) {
      throw SkipError("needs CUDA 13.0: this program was built with an older one");
    }
  }

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
      call_for_pages(stream);
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
    expect_pattern(!transfer().to_gpu(), kPayload);
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
  [[nodiscard]] bool reads_managed() const override { return launches_kernels(); }
  [[nodiscard]] bool on_callers_thread() const override { return !touches_from_host() || team_.size() == 1; }
  [[nodiscard]] std::optional<double> own_time_s() const override {
    return touches_from_host() ? std::optional<double>(touched_s_) : std::nullopt;
  }
  [[nodiscard]] std::string action() const override {
    return touches_from_host() ? "host threads that write one word to each page" : ManagedLane::action();
  }

 protected:
  // All words hold the pattern of a seed, as the host or the GPU reads them.
  void expect_pattern(bool by_host, std::uint32_t seed) const {
    if (by_host) {
      expect_payload(grainscope::find_mismatch(words(), word_count(), seed), "on the host");
    } else {
      expect_payload(cuda::find_mismatch(words(), word_count(), seed, own_stream()), "on the GPU");
    }
  }
  [[nodiscard]] bool residency_known() const { return residency_known_; }

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

// Pages whose content is dropped, where they are or on their way to the destination. What they hold then is
// undefined until it is written: after each sample the side that is to have them writes all of it, and that
// is what is checked. Of some pages it is seen whether their content was still there: where it was not, it
// did not cross the link.
class DiscardLane final : public HostManagedLane {
 public:
  DiscardLane(const Transfer& transfer, const Surroundings& surroundings)
      : HostManagedLane(transfer, surroundings) {}

  void check_sample() override {
    if (transfer().page_call == PageCall::discard_and_prefetch) {
      HostManagedLane::check_sample();
    }
    dropped_.push_back(dropped_share());
    write_all(kPoison);
    expect_pattern(by_host(), kPoison);
    write_all(kPayload);  // what the next sample drops
  }

  std::string verify() override {
    if (dropped_.empty()) {
      throw FailedError("wrong result: no sample was taken, and so nothing discarded");
    }
    expect_pattern(by_host(), kPayload);
    const std::string residency = transfer().page_call == PageCall::discard
                                      ? "where pages live before each sample"
                                      : "where pages live before and after each sample";
    return "every word that was written after each discard, " +
           (residency_known() ? "and " + residency
                              : std::string("but the system does not tell where pages live"));
  }

  void describe(Measurement& measurement) const override {
    if (!dropped_.empty()) {
      measurement.counters["dropped_share"] = summarize(dropped_).median;
    }
  }

 private:
  // The side that has the pages after a sample, as far as anybody can know.
  [[nodiscard]] bool by_host() const {
    return transfer().page_call == PageCall::discard ? transfer().source.on_host() : !transfer().to_gpu();
  }

  void write_all(std::uint32_t seed) const {
    if (by_host()) {
      grainscope::fill_pattern(words(), word_count(), seed);
    } else {
      cuda::fill_pattern(words(), word_count(), seed, own_stream());
    }
  }

  // Of the pages looked at, evenly spaced, those whose first word is no longer there: copies read them
  // without bringing them anywhere.
  [[nodiscard]] double dropped_share() const {
    const std::uint64_t page = base_page_bytes() / sizeof(std::uint32_t);
    const std::uint64_t pages = std::max<std::uint64_t>(1, word_count() / page);
    const std::uint64_t looked_at = std::min<std::uint64_t>(pages, kPagesLookedAt);
    std::uint64_t dropped = 0;
    for (std::uint64_t i = 0; i < looked_at; ++i) {
      const std::uint64_t word = pages / looked_at * i * page;
      std::uint32_t held = 0;
      cuda::check(cudaMemcpy(&held, words() + word, sizeof(held), cudaMemcpyDefault),
                  "read a word of a page");
      dropped += held != pattern_word(word, kPayload) ? 1 : 0;
    }
    return static_cast<double>(dropped) / static_cast<double>(looked_at);
  }

  std::vector<double> dropped_;  // in each sample, warm-ups among them
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
      call_for_pages(stream);
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

// Pieces that come to the GPU because it reads them, or all of it under a hint. The driver moves whole pages,
// and more around them where it expects to be asked for them next: what was read and what moved are two
// numbers, and every sample counts the second. Under a hint by which pages are read in place that is none.
class ManagedPiecesLane final : public ManagedLane {
 public:
  ManagedPiecesLane(const Transfer& transfer, const Surroundings& surroundings)
      : ManagedLane(transfer, surroundings),
        row_(row_of(transfer)),
        team_(transfer.host_threads, current_affinity()),
        // On the GPU: beside the pieces it would be a page that moves, too.
        sum_(transfer.gpu(), sizeof(unsigned long long)) {
    cuda::load_kernel(sum_pieces, "load the kernel that reads pieces");
    cuda::check(cudaMemset(sum_.data(), 0, sum_.bytes()), "clear a sum on the GPU");
    if (hinted()) {
      rig_.emplace(transfer.gpu(), 1, 0, cuda::GatherRig::Word::sum);
      again_.emplace();
    }
  }

  // The hint is given when the pages are where they are to be found: it would keep them from going there.
  void prepare() override {
    cuda::take_back_hint(words(), transfer().memory_bytes(), hint(), gpu(), own_stream());
    std::uint64_t absent = bring_pages([this] { return bring_to_host(); });
    if (hinted()) {
      cuda::give_hint(words(), transfer().memory_bytes(), hint(), gpu());
      absent += absent_pages();
      rig_->make_cold(own_stream());
      own_stream().synchronize();
    }
    if (absent > 0) {
      throw FailedError("managed pages did not move: " + std::to_string(absent) +
                        " are not on the host before a sample");
    }
    note_at_source();
  }

  void move(const cuda::Stream& stream) override {
    if (hint() == cuda::Hint::prefetch) {
      prefetch_to(transfer().destination, stream);
    }
    read_all(stream);
  }

  void check_sample() override {
    if (const auto presence = pages_present(words(), transfer().memory_bytes(), kAllPages)) {
      require_residency(presence->absent);
      moved_bytes_.push_back(presence->absent * base_page_bytes());
    }
    if (hinted()) {
      // What a second read meets: the GPU's own memory, or the link again.
      again_s_.push_back(again_->time_s(own_stream(), [this] { read_all(own_stream()); }));
    }
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
    const std::string in_force = hinted() && hint() != cuda::Hint::prefetch
                                     ? "; the driver says that the hint is in force before each sample"
                                     : "";
    return (moved_bytes_.empty()
                ? "the sum of every word that every sample read; the system does not tell where pages live"
                : "the sum of every word that every sample read, and where all pages live before and after "
                  "it") +
           in_force;
  }

  // Of an odd number of samples the median, of an even number the lower of the two in the middle: a count
  // that a sample had.
  void describe(Measurement& measurement) const override {
    if (!again_s_.empty()) {
      measurement.counters["again_gb_s"] = gb_per_s(static_cast<double>(bytes()), summarize(again_s_).median);
    }
    if (moved_bytes_.empty()) {
      return;
    }
    std::vector<std::uint64_t> ordered = moved_bytes_;
    std::sort(ordered.begin(), ordered.end());
    const std::uint64_t moved = ordered[(ordered.size() - 1) / 2];
    measurement.counters["moved_bytes"] = static_cast<double>(moved);
    measurement.counters["page_bytes"] = static_cast<double>(base_page_bytes());
    if (hinted()) {
      // Every word was read, whether its page came along or not.
      measurement.link_bytes_least = std::max(moved, bytes());
      return;
    }
    measurement.link_bytes_least = moved;
    measurement.counters["moved_bytes_per_piece"] =
        static_cast<double>(moved) / static_cast<double>(row_.pieces);
  }

  [[nodiscard]] Conduct conduct() const override {
    return hint() == cuda::Hint::prefetch ? Conduct::called : Conduct::enqueued;
  }
  [[nodiscard]] bool reads_managed() const override { return true; }

  [[nodiscard]] std::string action() const override {
    if (hint() == cuda::Hint::prefetch) {
      return "cudaMemPrefetchAsync, in which the driver works, and a kernel that reads every word";
    }
    return hinted() ? "a kernel that reads every word of pages that live on the host"
                    : "a kernel that reads every word of each piece, whose pages live on the host";
  }

 private:
  static PieceRow row_of(const Transfer& transfer) {
    if (transfer.piece_bytes == 0) {
      return {1, transfer.bytes, transfer.bytes};
    }
    return {transfer.bytes / transfer.piece_bytes, transfer.piece_bytes, transfer.stride_bytes};
  }
  [[nodiscard]] cuda::Hint hint() const { return transfer().hint; }
  [[nodiscard]] bool hinted() const { return hint() != cuda::Hint::none; }

  void read_all(const cuda::Stream& stream) {
    ++launches_;
    read_pieces(words(), row_, static_cast<unsigned long long*>(sum_.data()), stream);
  }

  // Pages of all the memory that are not on the host; 0 where the system does not tell.
  [[nodiscard]] std::uint64_t absent_pages() const {
    const auto presence = pages_present(words(), transfer().memory_bytes(), kAllPages);
    return presence ? presence->absent : 0;
  }

  std::uint64_t bring_to_host() {
    prefetch_to(transfer().source, own_stream());
    own_stream().synchronize();
    // The host owns and maps every page only once it has written to it.
    static_cast<void>(touch_from_host(team_, words(), word_count()));
    return absent_pages();
  }

  // After a sample, of which `absent` pages have left the host: all that were read, or none that is read in
  // place. Of read-mostly pages it is counted alone.
  void require_residency(std::uint64_t absent) const {
    if (cuda::is_read_in_place(hint()) && absent > 0) {
      throw FailedError("managed pages that are to be read in place have left the host: " +
                        std::to_string(absent) + " after a sample");
    }
    if (!cuda::migrates(hint())) {
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
  }

  PieceRow row_;
  ThreadTeam team_;
  cuda::DeviceBuffer sum_;
  std::uint64_t launches_ = 0;
  std::vector<std::uint64_t> moved_bytes_;  // in each sample, warm-ups among them
  // Of pages under a hint:
  std::optional<cuda::GatherRig> rig_;         // whose cache is overwritten before a sample
  std::optional<cuda::GatedStopwatch> again_;  // of the second read
  std::vector<double> again_s_;                // after each sample
};

}  // namespace

std::unique_ptr<Lane> make_managed_lane(const Transfer& transfer, const Surroundings& surroundings) {
  if (transfer.between_gpus()) {
    return std::make_unique<PeerManagedLane>(transfer, surroundings);
  }
  if (transfer.discards()) {
    return std::make_unique<DiscardLane>(transfer, surroundings);
  }
  if (transfer.engine == Engine::fault && (transfer.piece_bytes > 0 || transfer.hint != cuda::Hint::none)) {
    return std::make_unique<ManagedPiecesLane>(transfer, surroundings);
  }
  return std::make_unique<HostManagedLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
