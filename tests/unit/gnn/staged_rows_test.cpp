#include "staged_rows.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "grainscope/core/error.hpp"

namespace grainscope::gnn {
namespace {

// A table of bytes that tell where they lie.
struct Table {
  Table(std::uint32_t rows, std::uint32_t row_bytes) : bytes(std::size_t{rows} * row_bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i * 2654435761U >> 24);
    }
    view.shape.rows = rows;
    view.shape.row_bytes = row_bytes;
    view.shape.by_chunk_rows = Divider(rows);
    view.chunks[0] = bytes.data();
  }
  std::vector<std::byte> bytes;
  TableView view;
};

// Pieces leave their buffers some questions after they were sent, as copies do; a buffer that is filled
// meanwhile spoils what arrives.
class SlowOutbox final : public Outbox {
 public:
  SlowOutbox(const Table& table, std::size_t buffers, std::uint64_t rows_of_piece, std::uint64_t rows,
             int slow)
      : row_bytes_(table.view.shape.row_bytes),
        slow_(slow),
        buffers_(buffers, std::vector<std::byte>(rows_of_piece * row_bytes_)),
        leaving_(buffers),
        out(rows * row_bytes_) {}

  [[nodiscard]] std::size_t buffers() const override { return buffers_.size(); }
  [[nodiscard]] std::byte* buffer(std::size_t which) override { return buffers_[which].data(); }
  [[nodiscard]] bool is_free(std::size_t which) override {
    Leaving& piece = leaving_[which];
    if (piece.count > 0 && piece.left-- <= 0) {
      std::memcpy(out.data() + piece.first * row_bytes_, buffer(which), piece.count * row_bytes_);
      piece.count = 0;
    }
    return piece.count == 0;
  }
  void send(std::size_t which, std::uint64_t first, std::uint64_t count) override {
    if (sent++ == refused_at) {
      throw FailedError("the link is gone");
    }
    EXPECT_EQ(leaving_[which].count, 0U) << "its last piece has not left";
    leaving_[which] = {first, count, slow_};
  }
  void finish() {
    for (std::size_t i = 0; i < buffers(); ++i) {
      while (!is_free(i)) {
      }
    }
  }

 private:
  struct Leaving {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    int left = 0;
  };
  std::size_t row_bytes_;
  int slow_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<Leaving> leaving_;

 public:
  std::vector<std::byte> out;
  int sent = 0;
  int refused_at = -1;
};

std::vector<std::uint32_t> drawn(std::uint64_t count, std::uint32_t rows, std::mt19937& random) {
  std::vector<std::uint32_t> list(count);
  for (std::uint32_t& row : list) {
    row = static_cast<std::uint32_t>(random()) % rows;
  }
  return list;
}

TEST(StagedRows, arrive_in_their_order_however_many_threads_and_buffers_there_are) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const auto row_bytes = static_cast<std::uint32_t>(2 * (1 + random() % (i % 3 == 0 ? 30000 : 400)));
    const Table table(50, row_bytes);
    const std::uint64_t rows_of_piece = 1 + random() % 200;
    ThreadTeam team(1 + static_cast<int>(random() % 5), {});
    SlowOutbox outbox(table, 1 + random() % 4, rows_of_piece, 1000, static_cast<int>(random() % 50));
    // One list after another, the last pieces of each still on their way.
    for (int list = 0; list < 3; ++list) {
      const auto rows = drawn(random() % 1000, table.view.shape.rows, random);
      stage_rows(team, table.view, rows, rows_of_piece, outbox);
      ASSERT_EQ(outbox.sent, (rows.size() + rows_of_piece - 1) / rows_of_piece);
      outbox.sent = 0;
      if (list == 1) {
        continue;
      }
      outbox.finish();
      for (std::size_t at = 0; at < rows.size(); ++at) {
        ASSERT_EQ(std::memcmp(outbox.out.data() + at * row_bytes, table.view.row(rows[at]), row_bytes), 0)
            << "row " << at << " of " << rows.size() << ", pieces of " << rows_of_piece << ", " << team.size()
            << " threads, " << outbox.buffers() << " buffers";
      }
    }
  }
}

TEST(StagedRows, that_cannot_be_sent_are_told_and_the_threads_are_there_for_the_next) {
  std::mt19937 random(2);
  const Table table(100, 256);
  ThreadTeam team(3, {});
  for (int refused = 0; refused < 8; ++refused) {
    SlowOutbox outbox(table, 2, 16, 128, 3);
    outbox.refused_at = refused;
    const auto rows = drawn(128, 100, random);
    EXPECT_THROW(stage_rows(team, table.view, rows, 16, outbox), FailedError);
    EXPECT_EQ(outbox.sent, refused + 1);
  }
  SlowOutbox outbox(table, 2, 16, 128, 3);
  stage_rows(team, table.view, drawn(128, 100, random), 16, outbox);
  EXPECT_EQ(outbox.sent, 8);
}

TEST(StagedRows, of_an_empty_list_are_none) {
  const Table table(10, 64);
  ThreadTeam team(2, {});
  SlowOutbox outbox(table, 2, 4, 1, 0);
  stage_rows(team, table.view, {}, 4, outbox);
  EXPECT_EQ(outbox.sent, 0);
}

}  // namespace
}  // namespace grainscope::gnn
