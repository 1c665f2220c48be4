// Managed memory that moves between host and GPU: on demand, by the first access of the other side, or
// by prefetch. Comm|Scope, section 3.4. Every sample proves that the pages really moved.

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/managed_budget.hpp"
#include "grainscope/cuda/pattern.hpp"
#include "grainscope/cuda/residency.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "managed_lane.hpp"
#include "touch_pages.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::size_t kPagesLookedAt = 64;  // for residency, around every sample

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

}  // namespace

std::unique_ptr<Lane> make_managed_lane(const Transfer& transfer, const Surroundings& surroundings) {
  if (transfer.between_gpus()) {
    return std::make_unique<PeerManagedLane>(transfer, surroundings);
  }
  if (transfer.engine == Engine::fault && transfer.piece_bytes > 0) {
    return make_managed_pieces_lane(transfer, surroundings);
  }
  return std::make_unique<HostManagedLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
