// Copies of boxes and of many small pieces, by every method.

#include <cuda_runtime_api.h>

#include <cstring>
#include <random>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/shape.hpp"
#include "grainscope/transfer/shape_copy.hpp"
#include "transfer_fixture.hpp"

namespace grainscope::transfer {
namespace {

constexpr BoxMethod kDirect[] = {BoxMethod::copy_2d, BoxMethod::copy_3d, BoxMethod::kernel_strided,
                                 BoxMethod::kernel_chunked, BoxMethod::row_copies};
constexpr BoxMethod kAll[] = {BoxMethod::copy_2d,        BoxMethod::copy_3d, BoxMethod::kernel_strided,
                              BoxMethod::kernel_chunked, BoxMethod::pack,    BoxMethod::row_copies};

class BoxCopies : public TransferTest {
 protected:
  [[nodiscard]] std::unique_ptr<Mover> make(const BoxCopy& copy) {
    return make_box_mover(copy, surroundings());
  }

  void expect_moves(const BoxCopy& copy) {
    SCOPED_TRACE(text(copy));
    TransferTest::expect_moves(*make(copy));
  }

  [[nodiscard]] static std::string text(const BoxCopy& copy) {
    const auto side = [](const Endpoint& end) {
      return end.side == Endpoint::Side::host ? std::string("host") : "gpu " + std::to_string(end.id);
    };
    const Box& box = copy.box;
    return std::string(name(copy.method)) + " from " + side(copy.source) + " to " + side(copy.destination) +
           ", " + std::to_string(box.width_bytes) + " x " + std::to_string(box.rows) + " x " +
           std::to_string(box.planes) + " at " + std::to_string(box.pitch_bytes) + ", " +
           std::to_string(box.plane_rows);
  }
};

// A box and the memory around it on the GPU.
struct OnGpu {
  explicit OnGpu(const std::vector<std::byte>& bytes) : buffer(0, bytes.size()) {
    cuda::check(cudaMemcpy(buffer.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
                "fill a buffer");
  }
  [[nodiscard]] std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(buffer.bytes());
    cuda::check(cudaMemcpy(bytes.data(), buffer.data(), bytes.size(), cudaMemcpyDeviceToHost),
                "read a buffer");
    return bytes;
  }
  [[nodiscard]] PlacedBox at(std::uint64_t offset, const Box& box) const {
    return {static_cast<std::byte*>(buffer.data()) + offset, box, 0};
  }
  cuda::DeviceBuffer buffer;
};

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

TEST_F(BoxCopies, are_fetched_by_the_gpu_that_receives_them) {
  const std::vector<Route> all = routes();
  if (!all.back().between_gpus()) {
    GTEST_SKIP() << "needs two GPUs that reach each other's memory";
  }
  const Route fetched{all.back().destination, card(), node(), true};
  for (const BoxMethod method : {BoxMethod::kernel_strided, BoxMethod::kernel_chunked}) {
    const BoxCopy copy{fetched, {32, 300, 3, 512, 310}, method};
    EXPECT_EQ(copy.gpu(), 0);
    expect_moves(copy);
  }
  EXPECT_THROW(static_cast<void>(make({fetched, {32, 300, 3, 512, 310}, BoxMethod::copy_3d})), UsageError);
}

TEST_F(BoxCopies, take_time_to_submit_and_arrive_all_the_same) {
  for (const Route& route : routes()) {
    const auto mover = make({route, {8, 8, 8, 64, 8}, BoxMethod::copy_3d, true});
    for (int i = 0; i < 3; ++i) {
      EXPECT_GT(mover->run(), 0);
    }
    EXPECT_FALSE(mover->verify().empty());
  }
}

// A box of any size whose layouts at the two ends differ, held against a serial copy on the host.
TEST_F(BoxCopies, of_random_boxes_agree_with_a_serial_oracle) {
  constexpr std::uint64_t kMargin = 64;
  std::mt19937 random(5);
  const cuda::Stream stream;
  for (int i = 0; i < 60; ++i) {
    const auto below = [&](std::uint64_t most) { return 1 + random() % most; };
    // Widths of every alignment: a multiple of 1, 2, 4, 8 or 16 bytes.
    const std::uint64_t unit = std::uint64_t{1} << random() % 5;
    const Box from{unit * below(40), below(50), below(6), 0, 0};
    const auto laid_out = [&](Box box) {
      box.pitch_bytes = box.width_bytes + unit * (random() % 30);
      box.plane_rows = box.rows + random() % 5;
      return box;
    };
    const Box source = laid_out(from);
    const Box destination = laid_out(from);
    const auto sent = random_bytes(2 * kMargin + source.span_bytes(), random);
    const auto before = random_bytes(2 * kMargin + destination.span_bytes(), random);
    auto expected = before;
    for (std::uint64_t plane = 0; plane < from.planes; ++plane) {
      for (std::uint64_t row = 0; row < from.rows; ++row) {
        std::memcpy(&expected[kMargin + (plane * destination.plane_rows + row) * destination.pitch_bytes],
                    &sent[kMargin + (plane * source.plane_rows + row) * source.pitch_bytes],
                    from.width_bytes);
      }
    }
    for (const BoxMethod method : kDirect) {
      const OnGpu sender(sent);
      const OnGpu receiver(before);
      enqueue_box_copy(method, receiver.at(kMargin, destination), sender.at(kMargin, source), stream);
      stream.synchronize();
      EXPECT_EQ(receiver.read(), expected) << i << " " << name(method);
    }
  }
}

TEST_F(BoxCopies, by_every_method_on_every_path_move_the_box_and_nothing_else) {
  const Box boxes[] = {{32, 4096, 1, 512, 4096}, {16, 60, 60, 128, 64},    {480, 2, 50, 512, 64},
                       {480, 60, 2, 512, 64},    {65536, 8, 1, 131072, 8}, {512, 16, 4, 512, 16},
                       {12, 30, 7, 96, 33},      {37, 11, 3, 41, 13},      {1, 1, 1, 1, 1}};
  for (const Route& route : routes()) {
    for (const Box& box : boxes) {
      for (const BoxMethod method : kAll) {
        expect_moves({route, box, method});
      }
    }
  }
}

TEST_F(BoxCopies, of_more_planes_than_go_behind_a_gate_are_timed_without_one) {
  const Box few{64, 2, 512, 128, 4};
  const Box many{64, 2, 600, 128, 4};
  for (const BoxMethod method : {BoxMethod::copy_2d, BoxMethod::copy_3d}) {
    EXPECT_TRUE(make({route(card(), card()), few, method})->timing().gated) << name(method);
    EXPECT_FALSE(make({route(card(), card()), many, method})->timing().gated) << name(method);
    expect_moves({route(card(), card()), few, method});
    expect_moves({route(card(), card()), many, method});
  }
  EXPECT_TRUE(make({route(card(), card()), {64, 2, 256, 128, 4}, BoxMethod::row_copies})->timing().gated);
  EXPECT_FALSE(make({route(card(), card()), few, BoxMethod::row_copies})->timing().gated);
}

TEST_F(BoxCopies, that_moved_nothing_are_caught) {
  for (const Route& route : routes()) {
    for (const BoxMethod method : kAll) {
      const BoxCopy copy{route, {64, 30, 4, 256, 32}, method};
      SCOPED_TRACE(text(copy));
      EXPECT_THROW(static_cast<void>(make(copy)->verify()), FailedError);
    }
  }
}

// What a wrong mover would leave behind, by the same ends and the same check as a mover's.
TEST_F(BoxCopies, that_moved_one_plane_or_one_row_too_few_or_too_much_are_caught) {
  const Box box{64, 30, 4, 256, 32};
  for (const Route& route : routes()) {
    const BoxCopy copy{route, box, BoxMethod::copy_3d};
    if (copy.between_gpus()) {
      continue;
    }
    SCOPED_TRACE(text(copy));
    const NodeBinding binding(topology_, node());
    const cuda::Stream stream;
    const BoxEnds ends(copy, surroundings());
    const auto after = [&](const Box& moved) {
      ends.fill();
      PlacedBox from = ends.source();
      PlacedBox to = ends.destination();
      from.box = to.box = moved;
      enqueue_box_copy(BoxMethod::copy_3d, to, from, stream);
      stream.synchronize();
    };
    after(box);
    EXPECT_FALSE(ends.verify().empty());
    for (const Box& wrong : {Box{64, 30, 1, 256, 32}, Box{64, 30, 3, 256, 32}, Box{64, 29, 4, 256, 32},
                             Box{63, 30, 4, 256, 32}, Box{64, 31, 4, 256, 32}, Box{65, 30, 4, 256, 32},
                             Box{64, 30, 4, 256, 31}, Box{64, 30, 4, 252, 32}}) {
      after(wrong);
      EXPECT_THROW(static_cast<void>(ends.verify()), FailedError)
          << wrong.width_bytes << " " << wrong.rows << " " << wrong.planes << " " << wrong.pitch_bytes;
    }
  }
}

TEST_F(BoxCopies, that_cannot_be_are_refused) {
  EXPECT_THROW(static_cast<void>(make({route(host(), card()), {0, 1, 1, 1, 1}, BoxMethod::copy_3d})),
               UsageError);
  EXPECT_THROW(static_cast<void>(make({route(host(), card()), {64, 1, 1, 32, 1}, BoxMethod::copy_3d})),
               UsageError);
  EXPECT_THROW(static_cast<void>(make({route(host(), host()), {64, 1, 1, 64, 1}, BoxMethod::copy_3d})),
               UsageError);
  EXPECT_THROW(static_cast<void>(make({route(host(), card()), {8, 4097, 1, 8, 4097}, BoxMethod::row_copies})),
               UsageError);
  const Route fetched_from_host{host(), card(), node(), true};
  EXPECT_THROW(static_cast<void>(make({fetched_from_host, {64, 1, 1, 64, 1}, BoxMethod::kernel_strided})),
               UsageError);
}

TEST_F(BoxCopies, of_wide_rows_are_no_slower_than_of_narrow_ones) {
  const auto fastest = [&](const Box& box) {
    const auto mover = make({route(host(), card()), box, BoxMethod::kernel_strided});
    double seconds = mover->run();
    for (int i = 0; i < 10; ++i) {
      seconds = std::min(seconds, mover->run());
    }
    return seconds;
  };
  EXPECT_LT(fastest({65536, 64, 1, 131072, 64}), 1.5 * fastest({32, 131072, 1, 512, 131072}));
}

}  // namespace
namespace {

class BatchCopies : public TransferTest {
 protected:
  // The methods that toolkit and driver have.
  [[nodiscard]] static std::vector<BatchMethod> methods() {
    std::vector<BatchMethod> all{BatchMethod::one_by_one, BatchMethod::graph, BatchMethod::kernel};
    if (cuda::kHasBatchCopy && runtime().driver_version.value_or(0) >= 12080) {
      all.push_back(BatchMethod::batch);
    }
    return all;
  }

  [[nodiscard]] std::unique_ptr<Mover> make(const BatchCopy& copy) {
    return make_batch_mover(copy, surroundings());
  }
};

TEST_F(BatchCopies, by_every_method_on_every_path_move_all_pieces_and_nothing_else) {
  const Batch batches[] = {scattered(256, 256), scattered(4 * kKiB, 64), scattered(64 * kKiB, 64),
                           scattered(64, 1024), scattered(37, 100),      scattered(100, 3),
                           scattered(1, 1),     Batch{96, 50, 96},       Batch{20 * kKiB + 4, 9, 21 * kKiB}};
  for (const Route& route : routes()) {
    for (const Batch& batch : batches) {
      for (const BatchMethod method : methods()) {
        SCOPED_TRACE(std::string(name(method)) + ", " + std::to_string(batch.pieces) + " of " +
                     std::to_string(batch.piece_bytes));
        const auto mover = make({route, batch, method});
        expect_moves(*mover);
        EXPECT_EQ(mover->timing().clock, Clock::steady);
        EXPECT_FALSE(mover->timing().gated);
      }
    }
  }
}

TEST_F(BatchCopies, that_moved_nothing_are_caught) {
  for (const Route& route : routes()) {
    for (const BatchMethod method : methods()) {
      const auto mover = make({route, scattered(256, 20), method});
      EXPECT_THROW(static_cast<void>(mover->verify()), FailedError) << name(method);
    }
  }
}

// What a wrong mover would leave behind, by the same ends and the same check as a mover's.
TEST_F(BatchCopies, with_a_piece_missing_too_long_or_too_short_are_caught) {
  const NodeBinding binding(topology_, node());
  const cuda::Stream stream;
  for (const Route& route : routes()) {
    const BatchCopy copy{route, scattered(256, 20), BatchMethod::one_by_one};
    if (copy.between_gpus()) {
      continue;
    }
    const BatchEnds ends(copy, surroundings());
    for (const BatchMethod method : methods()) {
      SCOPED_TRACE(name(method));
      const auto after = [&](std::vector<PieceCopy> pieces) {
        ends.fill();
        make_piece_copier(method, pieces)->issue(stream);
        stream.synchronize();
      };
      const auto right = ends.pieces(method == BatchMethod::kernel);
      after(right);
      EXPECT_FALSE(ends.verify().empty());
      for (const std::size_t which : {0U, 7U, 19U}) {
        auto pieces = right;
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(which));
        after(pieces);
        EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "without piece " << which;
        pieces = right;
        pieces[which].bytes += 1;
        after(pieces);
        EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "piece " << which << " too long";
        pieces[which].bytes -= 2;
        after(pieces);
        EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "piece " << which << " too short";
      }
    }
  }
}

// Pieces of all sizes and alignments in one submission, held against memcpy on the host.
TEST_F(BatchCopies, of_random_pieces_agree_with_a_serial_oracle) {
  std::mt19937 random(6);
  const cuda::Stream stream;
  for (int i = 0; i < 30; ++i) {
    struct Piece {
      std::uint64_t from, to, bytes;
    };
    std::vector<Piece> plan;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    const std::uint64_t unit = std::uint64_t{1} << random() % 5;
    for (std::uint64_t k = 0; k < 1 + random() % 80; ++k) {
      const std::uint64_t bytes = unit * (1 + random() % (k % 10 == 9 ? 4000 : 100));
      plan.push_back({from, to, bytes});
      from += bytes + unit * (random() % 20);
      to += bytes + unit * (random() % 20);
    }
    std::vector<std::byte> sent(from + 1);
    std::vector<std::byte> before(to + 1);
    for (auto* bytes : {&sent, &before}) {
      for (std::byte& byte : *bytes) {
        byte = static_cast<std::byte>(random());
      }
    }
    auto expected = before;
    for (const Piece& piece : plan) {
      std::memcpy(&expected[piece.to], &sent[piece.from], piece.bytes);
    }
    const cuda::DeviceBuffer source(0, sent.size());
    const cuda::DeviceBuffer destination(0, before.size());
    cuda::check(cudaMemcpy(source.data(), sent.data(), sent.size(), cudaMemcpyHostToDevice), "fill a source");
    std::vector<PieceCopy> pieces;
    for (const Piece& piece : plan) {
      pieces.push_back({static_cast<std::byte*>(destination.data()) + piece.to,
                        static_cast<const std::byte*>(source.data()) + piece.from, piece.bytes});
    }
    for (const BatchMethod method : methods()) {
      cuda::check(cudaMemcpy(destination.data(), before.data(), before.size(), cudaMemcpyHostToDevice),
                  "fill a destination");
      make_piece_copier(method, pieces)->issue(stream);
      stream.synchronize();
      std::vector<std::byte> found(before.size());
      cuda::check(cudaMemcpy(found.data(), destination.data(), found.size(), cudaMemcpyDeviceToHost),
                  "read a destination");
      EXPECT_EQ(found, expected) << i << " " << name(method);
    }
  }
}

TEST_F(BatchCopies, that_cannot_be_are_refused) {
  EXPECT_THROW(static_cast<void>(make({route(host(), card()), Batch{0, 1, 1}, BatchMethod::kernel})),
               UsageError);
  EXPECT_THROW(static_cast<void>(make({route(host(), card()), Batch{64, 2, 32}, BatchMethod::kernel})),
               UsageError);
  EXPECT_THROW(static_cast<void>(make({route(host(), host()), scattered(64, 2), BatchMethod::graph})),
               UsageError);
}

// The reason for the shim's contract.
TEST_F(BatchCopies, by_the_batch_call_are_refused_on_the_legacy_default_stream) {
  if (!cuda::kHasBatchCopy || runtime().driver_version.value_or(0) < 12080) {
    GTEST_SKIP() << "needs CUDA 12.8";
  }
  const cuda::DeviceBuffer buffer(0, 512);
  auto* bytes = static_cast<std::byte*>(buffer.data());
  void* to = bytes + 256;
  const void* from = bytes;
  const std::size_t size = 256;
  EXPECT_NE(cuda::copy_batch(&to, &from, &size, 1, nullptr), cudaSuccess);
  static_cast<void>(cudaGetLastError());
  const cuda::Stream stream;
  EXPECT_EQ(cuda::copy_batch(&to, &from, &size, 1, stream.get()), cudaSuccess);
  stream.synchronize();
}

}  // namespace
}  // namespace grainscope::transfer
