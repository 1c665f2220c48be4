#ifndef GRAINSCOPE_SRC_GNN_STAGED_ROWS_HPP
#define GRAINSCOPE_SRC_GNN_STAGED_ROWS_HPP

// Rows of a table that threads put side by side into a few buffers, piece after piece, each of which is sent
// on as soon as it is whole. Threads are woken once for a list, not for each piece, and who is
// ready first takes the next rows.

#include <cstddef>
#include <cstdint>
#include <span>

#include "grainscope/core/thread_team.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

// Where pieces go. Called by the thread that calls stage_rows, and by no other.
class Outbox {
 public:
  virtual ~Outbox() = default;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // At least one; each holds a piece.
  [[nodiscard]] virtual std::size_t buffers() const = 0;
  [[nodiscard]] virtual std::byte* buffer(std::size_t which) = 0;
  // Whether all that was sent from a buffer has left it.
  [[nodiscard]] virtual bool is_free(std::size_t which) = 0;
  // Begins to send what is in a buffer: `count` rows of the list from `first` on.
  virtual void send(std::size_t which, std::uint64_t first, std::uint64_t count) = 0;

 protected:
  Outbox() = default;
};

// Until the last piece was sent. What the outbox throws is thrown on when no thread is at work any more.
void stage_rows(ThreadTeam& team, const TableView& view, std::span<const std::uint32_t> rows,
                std::uint64_t rows_of_piece, Outbox& outbox);

}  // namespace grainscope::gnn

#endif
