#include "staged_rows.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <vector>

#include "gather_parts.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::gnn {
namespace {

constexpr std::uint64_t kShareBytes = 32 * kKiB;  // that a thread takes at a time

// One list on its way. Pieces are cut into shares, which threads take in ascending order. Of the pieces those
// below `open_` may be filled, at most as many as there are buffers beyond those that were sent.
class Staging {
 public:
  Staging(const TableView& view, std::span<const std::uint32_t> rows, std::uint64_t rows_of_piece,
          Outbox& outbox)
      : view_(view),
        rows_(rows),
        outbox_(outbox),
        rows_of_piece_(rows_of_piece),
        rows_of_share_(std::clamp<std::uint64_t>(kShareBytes / view.shape.row_bytes, 1, rows_of_piece)),
        shares_of_piece_((rows_of_piece + rows_of_share_ - 1) / rows_of_share_),
        pieces_((rows.size() + rows_of_piece - 1) / rows_of_piece),
        filled_(outbox.buffers()) {}

  void work(int worker) noexcept {
    if (worker > 0) {
      fill_shares();
      return;
    }
    try {
      send_pieces();
    } catch (...) {
      failure_ = std::current_exception();
      stopped_ = true;
    }
  }
  void rethrow() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  struct Rows {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] Rows of_piece(std::uint64_t piece) const {
    const std::uint64_t first = piece * rows_of_piece_;
    return {first, std::min(rows_of_piece_, rows_.size() - first)};
  }
  // Of the last piece's shares some may have none.
  [[nodiscard]] Rows of_share(std::uint64_t share) const {
    const Rows piece = of_piece(share / shares_of_piece_);
    const std::uint64_t before = std::min(share % shares_of_piece_ * rows_of_share_, piece.count);
    return {piece.first + before, std::min(rows_of_share_, piece.count - before)};
  }
  [[nodiscard]] std::uint64_t shares() const { return pieces_ * shares_of_piece_; }
  [[nodiscard]] std::size_t buffer_of(std::uint64_t piece) const { return piece % filled_.size(); }

  [[nodiscard]] bool is_open(std::uint64_t share) const {
    return share / shares_of_piece_ < open_.load(std::memory_order_acquire);
  }

  void fill(std::uint64_t share) {
    const std::uint64_t piece = share / shares_of_piece_;
    const Rows rows = of_share(share);
    copy_rows(
        view_, rows_.subspan(rows.first, rows.count),
        outbox_.buffer(buffer_of(piece)) + (rows.first - of_piece(piece).first) * view_.shape.row_bytes);
    filled_[buffer_of(piece)].fetch_add(rows.count, std::memory_order_release);
  }

  void fill_shares() {
    for (std::uint64_t share = next_++; share < shares(); share = next_++) {
      SpinWait wait;
      while (!is_open(share)) {
        if (stopped_) {
          return;
        }
        wait.pause();
      }
      fill(share);
    }
  }

  // Sends what is whole, opens what has room, and fills a share where there is neither to do.
  void send_pieces() {
    std::optional<std::uint64_t> taken;
    SpinWait wait;
    for (std::uint64_t sent = 0; sent < pieces_;) {
      const std::uint64_t open = open_.load(std::memory_order_relaxed);
      std::atomic<std::uint64_t>& filled = filled_[buffer_of(sent)];
      if (const Rows piece = of_piece(sent);
          sent < open && filled.load(std::memory_order_acquire) == piece.count) {
        outbox_.send(buffer_of(sent), piece.first, piece.count);
        filled.store(0, std::memory_order_relaxed);
        ++sent;
      } else if (open < std::min(pieces_, sent + filled_.size()) && outbox_.is_free(buffer_of(open))) {
        open_.store(open + 1, std::memory_order_release);
      } else if (!taken && next_.load() < shares()) {
        taken = next_++;
      } else if (taken && *taken < shares() && is_open(*taken)) {
        fill(*taken);
        taken.reset();
      } else {
        wait.pause();
      }
    }
  }

  const TableView& view_;
  std::span<const std::uint32_t> rows_;
  Outbox& outbox_;
  std::uint64_t rows_of_piece_;
  std::uint64_t rows_of_share_;
  std::uint64_t shares_of_piece_;
  std::uint64_t pieces_;
  std::atomic<std::uint64_t> next_{0};  // share that nobody has taken
  std::atomic<std::uint64_t> open_{0};
  std::vector<std::atomic<std::uint64_t>> filled_;  // rows of the piece that each buffer is for
  std::atomic<bool> stopped_{false};
  std::exception_ptr failure_;
};

}  // namespace

void stage_rows(ThreadTeam& team, const TableView& view, std::span<const std::uint32_t> rows,
                std::uint64_t rows_of_piece, Outbox& outbox) {
  Staging staging(view, rows, rows_of_piece, outbox);
  team.spread([&](int worker) { staging.work(worker); });
  staging.rethrow();
}

}  // namespace grainscope::gnn
