// Copies of boxes and of pages, by every method.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/runtime.hpp"
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

// Threads read from memory what was evicted before the sample, and from their caches what was not.
void expect_eviction(Mover& mover) {
  std::vector<double> evicted;
  std::vector<double> cached;
  for (int i = 0; i < 31; ++i) {
    mover.prepare();
    evicted.push_back(mover.run());
    cached.push_back(mover.run());
  }
  EXPECT_GT(summarize(evicted).median, 1.1 * summarize(cached).median);
}

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

TEST_F(BoxCopies, are_read_from_memory_by_threads_that_pack) {
  expect_eviction(*make({route(host(), card()), {4096, 256, 1, 8192, 256}, BoxMethod::pack}));
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

class PageCopies : public TransferTest {
 protected:
  // Of those, what toolkit, driver and GPU have.
  [[nodiscard]] static std::vector<PageMethod> available(const std::vector<PageMethod>& methods) {
    const bool batch = cuda::kHasBatchCopy && runtime().driver_version.value_or(0) >= 12080;
    int major = 0;
    cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
                "ask what a GPU can do");
    std::vector<PageMethod> all;
    for (const PageMethod method : methods) {
      const bool in_batch = method == PageMethod::batch || method == PageMethod::batch_merged;
      if ((!in_batch || batch) && (method != PageMethod::bulk || major >= cuda::kFirstMajorOfBulk)) {
        all.push_back(method);
      }
    }
    return all;
  }
  // Those that submit copies, and all.
  [[nodiscard]] static std::vector<PageMethod> submitted() {
    return available({PageMethod::one_by_one, PageMethod::batch, PageMethod::batch_merged, PageMethod::graph,
                      PageMethod::kernel, PageMethod::bulk});
  }
  [[nodiscard]] static std::vector<PageMethod> all_methods() {
    std::vector<PageMethod> all = submitted();
    all.insert(all.end(), {PageMethod::staged, PageMethod::cpu_gather});
    return all;
  }

  [[nodiscard]] static Pages usual_pages(std::uint64_t page_bytes, std::uint64_t count,
                                         PageOrder order = PageOrder::drawn) {
    return {page_bytes, count, usual_pool(order, count), usual_pool(order, count)};
  }

  // Other GPUs that reach GPU 0 and that it reaches, a bit each.
  [[nodiscard]] static std::uint64_t neighbours() {
    const auto reaches = [](int from, int to) {
      const auto& peers = runtime().peers;
      return std::any_of(peers.begin(), peers.end(), [&](const cuda::PeerLink& peer) {
        return peer.from == from && peer.to == to && peer.access;
      });
    };
    std::uint64_t gpus = 0;
    for (const cuda::DeviceProperties& device : runtime().devices) {
      if (device.ordinal != 0 && reaches(0, device.ordinal) && reaches(device.ordinal, 0)) {
        gpus |= std::uint64_t{1} << device.ordinal;
      }
    }
    return gpus;
  }

  [[nodiscard]] static bool is_possible(const PageCopy& copy) {
    try {
      require_possible(copy);
      return true;
    } catch (const UsageError&) {
      return false;
    }
  }

  [[nodiscard]] static std::string text(const PageCopy& copy) {
    return std::string(name(copy.method)) + ", " + std::to_string(copy.pages.count) + " of " +
           std::to_string(copy.pages.page_bytes) + ", " + name(copy.pages.source.order) + " to " +
           name(copy.pages.destination.order) + ", blocks " + std::to_string(copy.blocks.value_or(0)) +
           (copy.source.on_host()        ? ", from the host"
            : copy.destination.on_host() ? ", to the host"
                                         : "");
  }

  [[nodiscard]] std::unique_ptr<Mover> make(const PageCopy& copy) {
    return make_page_mover(copy, surroundings());
  }

  // Samples it where it can be; the mover, else null.
  std::unique_ptr<Mover> expect_copies(const PageCopy& copy) {
    if (!is_possible(copy)) {
      return nullptr;
    }
    SCOPED_TRACE(text(copy));
    auto mover = make(copy);
    expect_moves(*mover);
    EXPECT_EQ(mover->timing().clock, Clock::steady);
    EXPECT_FALSE(mover->timing().gated);
    return mover;
  }
};

TEST_F(PageCopies, are_read_from_memory_by_threads_that_gather) {
  expect_eviction(
      *make({route(host(), card()), usual_pages(4 * kKiB, 64), PageMethod::cpu_gather, {}, {}, true}));
}

TEST_F(PageCopies, by_every_method_on_every_path_move_all_pages_and_nothing_else) {
  // Even and odd sizes: a chunk of a kernel, less, more, and none that words or 16 bytes divide; one page,
  // sixteen, and more than the warps of 8 blocks.
  const Pages sets[] = {usual_pages(4 * kKiB, 16),
                        usual_pages(4 * kKiB, 300),
                        usual_pages(64 * kKiB, 64),
                        usual_pages(28 * kKiB, 33),
                        usual_pages(64, 1024),
                        usual_pages(37, 100),
                        usual_pages(100, 3),
                        usual_pages(1, 1),
                        usual_pages(4 * kKiB, 1),
                        usual_pages(20 * kKiB + 4, 9),
                        usual_pages(8 * kKiB + 48, 40),
                        usual_pages(4112, 700)};
  for (const Route& route : routes()) {
    for (const Pages& pages : sets) {
      for (const PageMethod method : all_methods()) {
        expect_copies({route, pages, method, {}});
      }
    }
  }
}

TEST_F(PageCopies, in_every_order_move_all_pages_and_nothing_else) {
  for (const Route& route : routes()) {
    for (const PageOrder order : {PageOrder::drawn, PageOrder::sorted, PageOrder::runs, PageOrder::packed}) {
      for (const std::uint64_t count : {1U, 16U, 50U, 1000U}) {
        Pages both = usual_pages(4 * kKiB, count, order);
        Pages one = both;
        (route.source.on_host() ? one.destination : one.source) = usual_pool(PageOrder::drawn, count);
        for (const PageMethod method : all_methods()) {
          expect_copies({route, both, method, {}});
          expect_copies({route, one, method, {}});
        }
      }
    }
  }
}

TEST_F(PageCopies, from_and_to_large_pools_move_all_pages_and_nothing_else) {
  for (const Route& route : routes()) {
    Pages pages = usual_pages(4 * kKiB, 256);
    (route.destination.on_host() ? pages.destination : pages.source).slots = 64 * kMiB / pages.page_bytes;
    for (const PageMethod method : all_methods()) {
      expect_copies({route, pages, method, {}});
    }
  }
}

TEST_F(PageCopies, by_a_kernel_of_any_number_of_blocks_move_all_pages_and_say_how_many) {
  const int sms = cuda::sm_count(0);
  for (const Route& route : routes()) {
    for (const PageMethod method : available({PageMethod::kernel, PageMethod::bulk})) {
      for (const unsigned blocks : {1U, 2U, 7U, 200U, 1000U}) {
        // 3000 chunks of 4 KiB: work for 94 blocks of 32 warps.
        const auto mover = expect_copies({route, usual_pages(12 * kKiB, 1000), method, blocks});
        Measurement measurement;
        mover->describe(measurement);
        const double expected = std::min(blocks, 94U);
        EXPECT_EQ(measurement.counters.at("blocks"), expected);
        EXPECT_EQ(measurement.counters.at("multiprocessors"), std::min<double>(expected, sms));
      }
    }
  }
}

TEST_F(PageCopies, relayed_by_neighbours_move_all_pages_and_nothing_else) {
  const std::uint64_t all = neighbours();
  if (all == 0) {
    GTEST_SKIP() << "needs two GPUs that reach each other's memory";
  }
  const Pages sets[] = {usual_pages(4 * kKiB, 16),
                        usual_pages(4 * kKiB, 3000),
                        usual_pages(64 * kKiB, 300),
                        usual_pages(28 * kKiB, 33),
                        usual_pages(37, 100),
                        usual_pages(1, 64),
                        usual_pages(4 * kKiB, 1000, PageOrder::runs),
                        usual_pages(20 * kKiB + 4, 90)};
  for (const Placement placement : {Placement::pinned, Placement::registered, Placement::managed_host}) {
    const Endpoint memory = Endpoint::host(placement, node());
    for (const Route& route : {route(memory, card()), route(card(), memory)}) {
      for (const Pages& pages : sets) {
        for (const std::uint64_t gpus : {all & ~(all - 1), all}) {
          for (const int share : {1, 50, 99}) {
            const PageCopy copy{route, pages, PageMethod::relay, {}, {.gpus = gpus, .share = share}};
            SCOPED_TRACE(std::string(name(placement)) + ", share " + std::to_string(share) + " by GPUs " +
                         std::to_string(gpus));
            const auto mover = expect_copies(copy);
            ASSERT_NE(mover, nullptr);
            Measurement measurement;
            mover->describe(measurement);
            EXPECT_EQ(measurement.counters.at("relayed_bytes"),
                      static_cast<double>(relayed_pages(copy) * pages.page_bytes));
            EXPECT_GT(measurement.counters.at("direct_s"), 0);
            EXPECT_GT(measurement.counters.at("relays_s"), 0);
            EXPECT_LE(measurement.counters.at("blocks"), 8);
          }
        }
      }
    }
  }
}

// Were the neighbours' kernels, or that of the GPU, not there or done too late, the check would see it.
TEST_F(PageCopies, relayed_in_part_alone_or_not_at_all_are_caught) {
  const std::uint64_t all = neighbours();
  if (all == 0) {
    GTEST_SKIP() << "needs two GPUs that reach each other's memory";
  }
  const int neighbour = std::countr_zero(all);
  const NodeBinding binding(topology_, node());
  for (const Route& route : {route(host(), card()), route(card(), host())}) {
    const PageCopy copy{
        route, usual_pages(4 * kKiB, 50), PageMethod::relay, {}, {.gpus = std::uint64_t{1} << neighbour}};
    const auto mover = make(copy);
    EXPECT_THROW(static_cast<void>(mover->verify()), FailedError);
    mover->prepare();
    static_cast<void>(mover->run());
    EXPECT_FALSE(mover->verify().empty());
    mover->prepare();
    EXPECT_THROW(static_cast<void>(mover->verify()), FailedError);
    const PageEnds ends(copy, surroundings());
    const cuda::PeerAccess there(neighbour, 0);
    const auto relayed = static_cast<std::ptrdiff_t>(relayed_pages(copy));
    const auto copied = [&](int gpu, std::ptrdiff_t first, std::ptrdiff_t last) {
      const cuda::DeviceGuard guard(gpu);
      const cuda::Stream stream;
      const auto pieces = ends.pieces(true);
      const auto copier = make_piece_copier(
          PageMethod::kernel, {pieces.begin() + first, pieces.begin() + last}, TableAt::host, 8);
      copier->issue(stream);
      stream.synchronize();
    };
    ends.fill();
    copied(neighbour, 0, relayed);
    EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "only what is relayed";
    copied(0, relayed, 50);
    EXPECT_FALSE(ends.verify().empty());
    ends.fill();
    copied(0, relayed, 50);
    EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "only what is not";
  }
}

TEST_F(PageCopies, say_what_they_cost_the_cpu_and_how_many_copies_they_are) {
  for (const PageMethod method : submitted()) {
    const auto mover =
        expect_copies({route(host(), card()), usual_pages(4 * kKiB, 320, PageOrder::runs), method, {}});
    Measurement measurement;
    mover->describe(measurement);
    EXPECT_GT(measurement.counters.at("cpu_s"), 0);
    EXPECT_LT(measurement.counters.at("cpu_s"), 1);
    const bool kernel = has_blocks(method);
    EXPECT_EQ(measurement.counters.contains("copies"), !kernel);
    if (method == PageMethod::batch_merged) {
      EXPECT_LE(measurement.counters.at("copies"), 20);
    } else if (!kernel) {
      EXPECT_EQ(measurement.counters.at("copies"), 320);
    }
  }
}

TEST_F(PageCopies, that_moved_nothing_are_caught) {
  for (const Route& route : routes()) {
    for (const PageMethod method : all_methods()) {
      const PageCopy copy{route, usual_pages(256, 20), method, {}};
      if (is_possible(copy)) {
        EXPECT_THROW(static_cast<void>(make(copy)->verify()), FailedError) << text(copy);
      }
    }
  }
}

// Otherwise a sample that moved nothing would pass by what the sample before left.
TEST_F(PageCopies, that_moved_nothing_in_the_last_sample_are_caught) {
  for (const Route& route : routes()) {
    const auto mover = make({route, usual_pages(4 * kKiB, 50), PageMethod::kernel, {}});
    mover->prepare();
    static_cast<void>(mover->run());
    EXPECT_FALSE(mover->verify().empty());
    mover->prepare();
    EXPECT_THROW(static_cast<void>(mover->verify()), FailedError);
  }
}

// What a wrong mover would leave behind, by the same ends and the same check as a mover's.
TEST_F(PageCopies, with_a_page_missing_too_long_or_too_short_are_caught) {
  const NodeBinding binding(topology_, node());
  const cuda::Stream stream;
  for (const Route& route : routes()) {
    const PageCopy copy{route, usual_pages(256, 20), PageMethod::one_by_one, {}};
    if (copy.between_gpus()) {
      continue;
    }
    const PageEnds ends(copy, surroundings());
    for (const PageMethod method : submitted()) {
      SCOPED_TRACE(name(method));
      const auto after = [&](const std::vector<PieceCopy>& pieces) {
        ends.fill();
        make_piece_copier(method, pieces)->issue(stream);
        stream.synchronize();
      };
      const auto right = ends.pieces(has_blocks(method));
      after(right);
      EXPECT_FALSE(ends.verify().empty());
      const std::uint64_t step = method == PageMethod::bulk ? kBulkBytes : 1;
      for (const std::size_t which : {0U, 7U, 19U}) {
        auto pieces = right;
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(which));
        after(pieces);
        EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "without page " << which;
        pieces = right;
        pieces[which].bytes -= step;
        after(pieces);
        EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "page " << which << " too short";
      }
      // Behind the last slot that is taken there is no page whose own copy could hide it.
      auto pieces = right;
      const auto last = std::max_element(pieces.begin(), pieces.end(),
                                         [](const PieceCopy& a, const PieceCopy& b) { return a.to < b.to; });
      last->bytes += step;
      after(pieces);
      EXPECT_THROW(static_cast<void>(ends.verify()), FailedError) << "the last page too long";
    }
  }
}

// Pieces of all sizes and alignments in one submission, held against memcpy on the host. In bulk all are
// multiples of 16 bytes.
TEST_F(PageCopies, of_random_pieces_agree_with_a_serial_oracle) {
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
    for (const PageMethod method : submitted()) {
      if (method == PageMethod::bulk && unit < kBulkBytes) {
        EXPECT_THROW(static_cast<void>(make_piece_copier(method, {{pieces[0].to, pieces[0].from, 8}})),
                     UsageError);
        continue;
      }
      for (const auto& [table, blocks] :
           {std::pair(TableAt::gpu, std::optional<unsigned>{}), std::pair(TableAt::host, std::optional(1U)),
            std::pair(TableAt::gpu, std::optional(5U)), std::pair(TableAt::host, std::optional(5U))}) {
        cuda::check(cudaMemcpy(destination.data(), before.data(), before.size(), cudaMemcpyHostToDevice),
                    "fill a destination");
        make_piece_copier(method, pieces, table, blocks)->issue(stream);
        stream.synchronize();
        std::vector<std::byte> found(before.size());
        cuda::check(cudaMemcpy(found.data(), destination.data(), found.size(), cudaMemcpyDeviceToHost),
                    "read a destination");
        EXPECT_EQ(found, expected) << i << " " << name(method) << " " << blocks.value_or(0);
      }
    }
  }
}

TEST_F(PageCopies, that_cannot_be_are_refused) {
  const Route to_gpu = route(host(), card());
  EXPECT_THROW(static_cast<void>(make({to_gpu, usual_pages(0, 1), PageMethod::kernel, {}})), UsageError);
  EXPECT_THROW(static_cast<void>(make({to_gpu, {64, 2, {}, {}}, PageMethod::kernel, {}})), UsageError);
  EXPECT_THROW(static_cast<void>(make({to_gpu, usual_pages(64, 2), PageMethod::staged, {}})), UsageError);
  EXPECT_THROW(static_cast<void>(make({to_gpu, usual_pages(64, 2), PageMethod::graph, 3})), UsageError);
  EXPECT_THROW(static_cast<void>(make({to_gpu, usual_pages(24, 2), PageMethod::bulk, {}})), UsageError);
  EXPECT_THROW(static_cast<void>(make({route(host(), host()), usual_pages(64, 2), PageMethod::graph, {}})),
               UsageError);
}

// The reason for the shim's contract.
TEST_F(PageCopies, by_the_batch_call_are_refused_on_the_legacy_default_stream) {
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
