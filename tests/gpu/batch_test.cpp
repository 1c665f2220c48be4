#include "grainscope/transfer/shape.hpp"

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
#include "grainscope/transfer/shape_copy.hpp"
#include "transfer_fixture.hpp"

namespace grainscope::transfer {
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
