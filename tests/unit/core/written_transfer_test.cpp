// Transfers as lines of text: what is read, what is refused and with what words, and that nothing else
// happens.

#include "grainscope/transfer/written.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "every_transfer.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::transfer {
namespace {

// The only lanes of a line, and the line that stands for them.
struct Line {
  std::string written;
  std::string again;
};

const std::vector<Line> kLines{
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB", "host(pinned) -> gpu:0(device) by copy_engine, 65536"},
    {" host( pinned , node:1 )->gpu:0( device ) by copy_engine,64 KiB ",
     "host(pinned,node:1) -> gpu:0(device) by copy_engine, 65536"},
    {"gpu:1 -> host(write_combined) by sm, 1MB, blocks 8",
     "gpu:1(device) -> host(write_combined) by sm, 1000000, blocks 8"},
    {"host(mapped) -> gpu:0(registers) by sm, 1MiB, width 16, access strided, threads 256, offset 64, flush",
     "host(mapped) -> gpu:0(registers) by sm, 1048576, flush, access strided, offset 64, width 16, threads "
     "256"},
    {"host(mapped) -> gpu:0(registers) by sm, 1MiB, pieces 4KiB, access scattered",
     "host(mapped) -> gpu:0(registers) by sm, 1048576, pieces 4096, access scattered"},
    {"host(mapped) -> gpu:0(registers) by sm, 1MiB, accessed_by",
     "host(mapped) -> gpu:0(registers) by sm, 1048576, accessed_by"},
    {"host(registered) -> gpu:0 by copy_engine, 1MiB, pieces 4KiB",
     "host(registered) -> gpu:0(device) by copy_engine, 1048576, pieces 4096"},
    {"host(pinned) -> gpu:0 by copy_engine, 1MiB, submission",
     "host(pinned) -> gpu:0(device) by copy_engine, 1048576, submission"},
    {"host(managed) -> gpu:0 by fault, 64KiB, pieces 4KiB, stride 2MiB",
     "host(managed) -> gpu:0(managed) by fault, 65536, pieces 4096, stride 2097152"},
    {"gpu:0 -> host(managed,node:3) by fault, 1MiB, host_threads 4",
     "gpu:0(managed) -> host(managed,node:3) by fault, 1048576, host_threads 4"},
    {"gpu:0 -> gpu:1 by prefetch, 1MiB", "gpu:0(managed) -> gpu:1(managed) by prefetch, 1048576"},
    {"gpu:0 -> gpu:1 by copy_engine, 1MiB, by_source, node 1",
     "gpu:0(device) -> gpu:1(device) by copy_engine, 1048576, by_source, node 1"},
    {"gpu:0 -> gpu:1 by copy_engine, 1MiB, no_peer_access",
     "gpu:0(device) -> gpu:1(device) by copy_engine, 1048576, no_peer_access"},
    {"gpu:0(registers) -> gpu:1 by sm, 1MiB", "gpu:0(registers) -> gpu:1(device) by sm, 1048576"},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB; gpu:0 -> host(pinned) by sm, background, repeats 3",
     "host(pinned) -> gpu:0(device) by copy_engine, 65536; "
     "gpu:0(device) -> host(pinned) by sm, 65536, background, repeats 3"},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB; compute(gpu:0), 5 ms",
     "host(pinned) -> gpu:0(device) by copy_engine, 65536; compute(gpu:0), 5ms"},
    // Copied within the calls: as many as one likes.
    {"host(pageable) -> gpu:0 by copy_engine, 1MiB, pieces 4",
     "host(pageable) -> gpu:0(device) by copy_engine, 1048576, pieces 4"},
    {"host(pinned) -> gpu:0 by copy_engine, 1GiB, via 1",
     "host(pinned) -> gpu:0(device) by copy_engine, 1073741824, via 1"},
    {"gpu:0 -> host(pinned,node:1) by sm, 1GiB, share 60, via 2+1",
     "gpu:0(device) -> host(pinned,node:1) by sm, 1073741824, via 1+2, share 60"},
    {"host(pinned) -> gpu:0 by copy_engine, 1GiB, via 3, chunk 4MiB, buffers 2",
     "host(pinned) -> gpu:0(device) by copy_engine, 1073741824, via 3, chunk 4194304, buffers 2"},
    // What is at its default is not said.
    {"host(mapped) -> gpu:0(registers) by sm, 1MiB, width 4, access merged, threads 1024, offset 0",
     "host(mapped) -> gpu:0(registers) by sm, 1048576"},
};

WrittenLanes read_one(const std::string& line) {
  const auto sets = parse_written(line);
  EXPECT_EQ(sets.size(), 1U) << line;
  return sets.front();
}

TEST(WrittenTransfers, are_read_and_written_again) {
  for (const Line& line : kLines) {
    SCOPED_TRACE(line.written);
    EXPECT_EQ(to_text(read_one(line.written)), line.again);
    EXPECT_EQ(to_text(read_one(line.again)), line.again);
  }
}

TEST(WrittenTransfers, hold_what_is_written) {
  const WrittenLanes lanes = read_one(
      "host(mapped,node:2) -> gpu:1(registers) by sm, 1MiB, width 16, access scattered, pieces 4KiB, "
      "blocks 8, threads 512, flush; gpu:1 -> gpu:0 by copy_engine, 4MiB, by_source, node 1, "
      "background, repeats 7; compute(gpu:1), 2000ms");
  ASSERT_EQ(lanes.size(), 3U);
  const Transfer& walk = lanes[0].transfer;
  EXPECT_EQ(walk.source.placement, Placement::mapped);
  EXPECT_EQ(walk.source.id, 2);
  EXPECT_TRUE(walk.source.on_host());
  EXPECT_EQ(walk.destination.placement, Placement::registers);
  EXPECT_EQ(walk.gpu(), 1);
  EXPECT_EQ(walk.engine, Engine::sm);
  EXPECT_EQ(walk.bytes, kMiB);
  EXPECT_EQ(walk.piece_bytes, 0U);
  EXPECT_EQ(walk.walk.pattern, Walk::Pattern::scattered);
  EXPECT_EQ(walk.walk.piece_bytes, 4 * kKiB);
  EXPECT_EQ(walk.walk.width_bytes, 16);
  EXPECT_EQ(walk.walk.blocks, 8);
  EXPECT_EQ(walk.walk.threads, 512);
  EXPECT_TRUE(walk.flush);
  EXPECT_FALSE(lanes[0].background);
  const Transfer& copy = lanes[1].transfer;
  EXPECT_EQ(copy.gpu(), 1);
  EXPECT_EQ(copy.peer(), 0);
  EXPECT_EQ(copy.staging_node, 1);
  EXPECT_EQ(copy.bytes, 4 * kMiB);
  EXPECT_TRUE(lanes[1].background);
  EXPECT_EQ(lanes[1].repeats, 7);
  EXPECT_EQ(lanes[2].computing_ms, 2000);
  EXPECT_EQ(lanes[2].transfer.gpu(), 1);
  EXPECT_TRUE(lanes[2].background);
}

TEST(WrittenTransfers, without_a_node_leave_it_to_the_machine) {
  EXPECT_EQ(read_one("host(pinned) -> gpu:0 by sm, 4").front().transfer.source.id, kNodeNotSaid);
  EXPECT_EQ(read_one("gpu:0 -> gpu:0 by sm, 4").front().transfer.staging_node, kNodeNotSaid);
}

std::vector<std::uint64_t> sizes_of(const std::string& line, std::size_t lane) {
  std::vector<std::uint64_t> sizes;
  for (const WrittenLanes& lanes : parse_written(line)) {
    sizes.push_back(lanes.at(lane).transfer.bytes);
  }
  return sizes;
}

TEST(WrittenSizes, are_a_list_or_every_octave_of_a_range) {
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(sizes_of("host(pinned) -> gpu:0 by sm, 64KiB, 1MiB", 0), (Sizes{64 * kKiB, kMiB}));
  EXPECT_EQ(sizes_of("host(pinned) -> gpu:0 by sm, 4KiB..32KiB", 0),
            (Sizes{4 * kKiB, 8 * kKiB, 16 * kKiB, 32 * kKiB}));
  EXPECT_EQ(sizes_of("host(pinned) -> gpu:0 by sm, 4KiB .. 12KiB, flush, 4", 0),
            (Sizes{4 * kKiB, 8 * kKiB, 12 * kKiB, 4}));
  EXPECT_EQ(sizes_of("host(pinned) -> gpu:0 by sm, 4KiB..4KiB", 0), Sizes{4 * kKiB});
}

TEST(WrittenSizes, of_later_transfers_are_those_of_the_first_unless_they_have_their_own) {
  using Sizes = std::vector<std::uint64_t>;
  const std::string first = "host(pinned) -> gpu:0 by sm, 64KiB, 1MiB; gpu:0 -> host(pinned) by sm";
  EXPECT_EQ(sizes_of(first, 1), (Sizes{64 * kKiB, kMiB}));
  EXPECT_EQ(sizes_of(first + ", 4KiB", 1), (Sizes{4 * kKiB, 4 * kKiB}));
  EXPECT_EQ(sizes_of(first + ", 4KiB, 8KiB", 1), (Sizes{4 * kKiB, 8 * kKiB}));
}

struct Refused {
  std::string line;
  std::vector<std::string> said;
};

const std::vector<Refused> kRefused{
    // Words.
    {"", {"a transfer is missing", "host(pinned) -> gpu:0 by copy_engine, 64KiB"}},
    {"  ", {"a transfer is missing"}},
    {"host(pined) -> gpu:0 by sm, 64KiB", {"'pined'", "the nearest is pinned", "write_combined"}},
    {"hots(pinned) -> gpu:0 by sm, 64KiB", {"'hots'", "the nearest is host"}},
    {"host(pinned) -> peer by sm, 64KiB", {"'peer'", "host, gpu"}},
    {"host(pinned) -> gpu:0 by copyengine, 64KiB",
     {"'copyengine'", "the nearest is copy_engine", "prefetch"}},
    {"host(pinned) -> gpu:0 by cpu, 64KiB", {"a CPU moves bytes within the host alone", "copy_engine"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, flsh", {"'flsh'", "the nearest is flush"}},
    {"host(mapped) -> gpu:0(registers) by sm, 64KiB, access merge", {"'merge'", "the nearest is merged"}},
    // Shape.
    {"host(pinned) gpu:0 by sm, 64KiB", {"SOURCE -> DESTINATION by ENGINE"}},
    {"host(pinned) -> gpu:0, 64KiB", {"SOURCE -> DESTINATION by ENGINE"}},
    {"host(pinned) -> gpu:0 by sm", {"a size is missing", "64KiB"}},
    {"host -> gpu:0 by sm, 64KiB", {"'host' does not say which memory", "host(pinned,node:0)"}},
    {"host() -> gpu:0 by sm, 64KiB", {"''", "a kind of memory"}},
    {"host(pinned -> gpu:0 by sm, 64KiB", {"a parenthesis that is not closed"}},
    {"host(pinned) -> gpu:0(device)x by sm, 64KiB", {"does not end with ')'", "gpu:0(device)"}},
    {"host(pinned,node:x) -> gpu:0 by sm, 64KiB", {"'node:x' names no node", "node:0"}},
    {"host(pinned,1) -> gpu:0 by sm, 64KiB", {"'1' names no node", "node:0"}},
    {"host(pinned,node:0,node:1) -> gpu:0 by sm, 64KiB", {"host(pinned,node:0)"}},
    {"host(pinned) -> gpu by sm, 64KiB", {"'gpu' names no gpu", "gpu:0"}},
    {"host(pinned) -> gpu:-1 by sm, 64KiB", {"'gpu:-1' names no gpu", "gpu:0"}},
    {"host(pinned) -> gpu:99999999999 by sm, 64KiB", {"names no gpu"}},
    {"host(pinned) -> gpu:0(device,node:0) by sm, 64KiB", {"gpu:0(device)"}},
    {"host(pinned) -> gpu:0 by sm,, 64KiB", {"a size or an option is missing"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB,", {"a size or an option is missing"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB;", {"a transfer is missing"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, flush on", {"flush stands alone", "'on'"}},
    // Sizes and numbers.
    {"host(pinned) -> gpu:0 by sm, 0", {"from 4 B to 1024 TiB", "not 0"}},
    {"host(pinned) -> gpu:0 by sm, 6", {"multiple of 4", "not 6"}},
    {"host(pinned) -> gpu:0 by sm, -64KiB", {"'-64KiB' is not a size", "64KiB"}},
    {"host(pinned) -> gpu:0 by sm, 1.5GiB", {"'1.5GiB' is not a size"}},
    {"host(pinned) -> gpu:0 by sm, 64QiB", {"its unit is unknown", "64KiB"}},
    {"host(pinned) -> gpu:0 by sm, 99999999999999999999", {"it is too large"}},
    {"host(pinned) -> gpu:0 by sm, 17179869184GiB", {"it is too large"}},
    {"host(pinned) -> gpu:0 by sm, 2048TiB", {"from 4 B to 1024 TiB"}},
    {"host(pinned) -> gpu:0 by sm, 1MiB..64KiB", {"'1MiB..64KiB' is not a range of sizes"}},
    {"host(pinned) -> gpu:0 by sm, 0..64KiB", {"is not a range of sizes"}},
    {"host(pinned) -> gpu:0 by sm, 4..16000000TiB", {"is not a range of sizes"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, pieces 0", {"pieces is a size from 4", "'0'"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, pieces -4", {"'-4' is not a size"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, pieces 16000000TiB", {"pieces is a size"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, blocks 0", {"blocks is a whole number from 1", "'0'"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, blocks -8", {"'-8'"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, blocks", {"blocks is a whole number", "''"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, blocks 99999999999999999999", {"blocks is a whole number"}},
    {"host(mapped) -> gpu:0(registers) by sm, 64KiB, width 12", {"4, 8 or 16 bytes wide, not 12"}},
    {"host(mapped) -> gpu:0(registers) by sm, 64KiB, threads 100", {"whole warps of 32 threads", "not 100"}},
    {"host(mapped) -> gpu:0(registers) by sm, 64KiB, width 16, offset 4", {"a multiple of its width"}},
    {"host(mapped) -> gpu:0(registers) by sm, 64KiB, access scattered", {"a scattered walk", "pieces of 0"}},
    // Twice.
    {"host(pinned) -> gpu:0 by sm, 64KiB, flush, flush", {"flush is written twice"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, blocks 4, blocks 8", {"blocks is written twice"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, 4KiB..64KiB", {"65536 bytes are written twice"}},
    // Pairs that cannot be, and options that would change nothing.
    {"host(pageable) -> gpu:0 by sm, 64KiB", {"a kernel cannot address pageable memory", "page-lock it"}},
    {"host(pinned) -> host(pinned) by copy_engine, 64KiB", {"stay on the host cross no link"}},
    {"host(device) -> gpu:0 by sm, 64KiB", {"device memory is on a GPU", "pinned"}},
    {"gpu:0(pinned) -> gpu:1 by sm, 64KiB", {"pinned memory is on the host", "device memory"}},
    {"host(managed) -> gpu:0(managed) by copy_engine, 64KiB", {"managed memory moves by fault or prefetch"}},
    {"host(pinned) -> gpu:0 by prefetch, 64KiB", {"both ends must be managed"}},
    {"gpu:0 -> gpu:0 by prefetch, 64KiB", {"nowhere to go there"}},
    {"gpu:0(device) -> gpu:1(registers) by copy_engine, 64KiB", {"only a kernel (sm)"}},
    {"host(write_combined) -> gpu:0 by sm, 64KiB, flush", {"flush is for memory of the host that"}},
    {"gpu:0 -> gpu:1 by sm, 64KiB, flush", {"flush is for memory of the host that"}},
    {"host(managed) -> gpu:0 by fault, 64KiB, flush", {"flush is for memory of the host that"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, pieces 4KiB", {"pieces is for copies, prefetches"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB, width 16", {"width is for kernels with registers"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, blocks 4", {"blocks is for kernels (sm)"}},
    {"host(managed) -> gpu:0 by fault, 64KiB, host_threads 4", {"host_threads is for faults of the host"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, by_source", {"by_source is for copies between two GPUs"}},
    {"gpu:0(registers) -> gpu:1 by sm, 64KiB, by_source", {"by_source is for copies between two GPUs"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, node 1", {"host(...,node:N)"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, no_peer_access", {"peer access is between two GPUs"}},
    {"gpu:0 -> gpu:1 by sm, 64KiB, no_peer_access", {"without peer access only copies"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, accessed_by", {"only mapped memory"}},
    {"host(pageable) -> gpu:0 by copy_engine, 64KiB, submission", {"waits at a closed gate"}},
    {"host(pinned) -> gpu:0 by copy_engine, 64KiB, stride 4KiB",
     {"only pieces that the GPU reads on demand"}},
    {"gpu:0 -> gpu:1 by fault, 64KiB, by_source", {"the source cannot send them"}},
    // Together.
    {"host(pinned) -> gpu:0 by sm, 64KiB, background", {"the first transfer of a line is measured"}},
    {"compute(gpu:0), 5ms; host(pinned) -> gpu:0 by sm", {"the first transfer of a line is measured"}},
    {"compute(gpu:0), 5ms", {"the first transfer of a line is measured"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB; compute(gpu:0)", {"compute(gpu:0), 5ms"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB; compute(gpu:0), 11s", {"1 to 10000 ms"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB; compute(gpu:0), 5ms, flush", {"compute(gpu:0), 5ms"}},
    {"host(pinned) -> gpu:0 by sm, 64KiB; gpu:0 -> host(pinned) by sm, repeats 2", {"repeats is for"}},
    {"host(managed) -> gpu:0 by fault, 64KiB; gpu:0 -> host(managed) by fault, background, repeats 2",
     {"nowhere to go", "repeats"}},
    {"host(pinned) -> gpu:0 by sm, 4, 8; gpu:0 -> host(pinned) by sm, 4, 8, 16",
     {"the same number of sizes"}},
    {"host(pinned) -> gpu:0 by copy_engine, 4, submission; gpu:0 -> host(pinned) by sm",
     {"submission is timed of one transfer alone"}},
    {"gpu:0 -> gpu:1 by copy_engine, 4; gpu:1 -> gpu:0 by copy_engine, no_peer_access",
     {"no_peer_access for all between them, or for none"}},
    {"host(pinned) -> gpu:0 by copy_engine, 4; gpu:0 -> host(pinned) by copy_engine, 1MiB, pieces 4KiB, "
     "background, repeats 3",
     {"a stream takes 512 copies"}},
};

TEST(RefusedTransfers, say_what_would_be_right) {
  for (const auto& [line, said] : kRefused) {
    try {
      static_cast<void>(parse_written(line));
      ADD_FAILURE() << "'" << line << "' was accepted";
    } catch (const UsageError& error) {
      const std::string message = error.what();
      for (const std::string& words : said) {
        EXPECT_NE(message.find(words), std::string::npos)
            << line << ": '" << words << "' is not in: " << message;
      }
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
}

TEST(RefusedTransfers, are_lines_without_end_and_crowds) {
  EXPECT_THROW(parse_written(std::string(5000, ' ')), UsageError);
  std::string crowd = "gpu:0 -> gpu:0 by sm, 4";
  for (int i = 1; i < 64; ++i) {
    crowd += ";gpu:0 -> gpu:0 by sm";
  }
  EXPECT_EQ(read_one(crowd).size(), 64U);
  EXPECT_THROW(parse_written(crowd + ";gpu:0 -> gpu:0 by sm"), UsageError);
}

TEST(WrittenTransfers, reach_everything_that_can_be) {
  int read = 0;
  for (const Transfer& transfer : test::every_transfer(kMiB, 0)) {
    WrittenLane lane;
    lane.transfer = transfer;
    const std::string line = to_text({lane});
    bool possible = true;
    try {
      require_possible(transfer);
    } catch (const UsageError&) {
      possible = false;
    }
    if (transfer.walks() && transfer.between_gpus() && !transfer.within_gpu() && !possible) {
      continue;  // who issues it is not written: the GPU that has the registers
    }
    if (!possible) {
      EXPECT_THROW(parse_written(line), UsageError) << line;
      continue;
    }
    ++read;
    const Transfer again = read_one(line).front().transfer;
    EXPECT_EQ(again.source.placement, transfer.source.placement) << line;
    EXPECT_EQ(again.destination.placement, transfer.destination.placement) << line;
    EXPECT_EQ(again.gpu(), transfer.gpu()) << line;
    EXPECT_EQ(again.by_source, transfer.by_source) << line;
    EXPECT_EQ(to_text(read_one(line)), line);
  }
  EXPECT_GT(read, 60);
}

// Whatever is written, it is refused with a sentence, or can be and is written again as it was read.
void expect_read_or_refused(const std::string& line) {
  std::vector<WrittenLanes> sets;
  try {
    sets = parse_written(line);
  } catch (const UsageError& refused) {
    EXPECT_FALSE(std::string(refused.what()).empty());
    return;
  }
  EXPECT_FALSE(sets.empty());
  for (const WrittenLanes& lanes : sets) {
    const std::string again = to_text(lanes);
    EXPECT_EQ(to_text(read_one(again)), again) << line;
    for (const WrittenLane& lane : lanes) {
      if (lane.computing_ms == 0) {
        EXPECT_NO_THROW(require_possible(lane.transfer)) << line;
      }
    }
  }
}

TEST(WrittenTransfers, of_any_bytes_are_read_or_refused) {
  std::mt19937 random(2026);
  const auto below = [&](std::size_t count) { return random() % count; };
  const std::string letters = "hostgpu:()->by,;0159-.KMGiB \t\"%_x";
  for (int i = 0; i < 20'000; ++i) {
    std::string line(below(60), ' ');
    for (char& letter : line) {
      letter = i % 2 == 0 ? static_cast<char>(below(256)) : letters[below(letters.size())];
    }
    expect_read_or_refused(line);
  }
}

TEST(WrittenTransfers, that_were_damaged_are_read_or_refused) {
  std::mt19937 random(97);
  const auto below = [&](std::size_t count) { return random() % count; };
  const std::vector<std::string> words{"host(pinned)",
                                       "host(mapped,node:1)",
                                       "gpu:0",
                                       "gpu:1(registers)",
                                       "gpu:0(managed)",
                                       "->",
                                       " by ",
                                       "sm",
                                       "copy_engine",
                                       "fault",
                                       "prefetch",
                                       ",",
                                       ";",
                                       "64KiB",
                                       "4..1GiB",
                                       "18446744073709551615",
                                       "-1",
                                       "0",
                                       "flush",
                                       "pieces 4",
                                       "width 16",
                                       "access scattered",
                                       "by_source",
                                       "background",
                                       "repeats 512",
                                       "no_peer_access",
                                       "compute(gpu:0)",
                                       "5ms",
                                       "stride 1TiB",
                                       "host(managed)"};
  for (int i = 0; i < 20'000; ++i) {
    std::string line;
    if (i % 2 == 0) {
      line = kLines[below(kLines.size())].written;
      for (std::size_t damage = below(4); damage > 0; --damage) {
        const std::size_t at = below(line.size() + 1);
        switch (below(3)) {
          case 0:
            line.insert(at, words[below(words.size())]);
            break;
          case 1:
            line.erase(at, below(8));
            break;
          default:
            line.insert(at, 1, static_cast<char>(below(256)));
        }
      }
    } else {
      for (std::size_t count = below(14); count > 0; --count) {
        line += words[below(words.size())];
        line += below(2) == 0 ? "," : " ";
      }
    }
    expect_read_or_refused(line);
  }
}

TEST(WrittenGrammar, names_every_option_and_engine) {
  const std::string grammar = written_grammar();
  for (const Line& line : kLines) {
    for (const WrittenLane& lane : read_one(line.written)) {
      EXPECT_NE(grammar.find(name(lane.transfer.engine)), std::string::npos);
      for (const auto& [word, value] : options_of(lane)) {
        EXPECT_NE(grammar.find(word), std::string::npos) << word;
      }
    }
  }
}

}  // namespace
}  // namespace grainscope::transfer
