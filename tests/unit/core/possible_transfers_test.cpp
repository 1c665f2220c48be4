// Which transfers there are: every kind of memory to every other by every engine either can be, or is refused
// for what stands in the way.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "every_transfer.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::transfer {
namespace {

std::string text(const Endpoint& end) {
  return (end.on_host() ? "host" : "gpu" + std::to_string(end.id)) + ":" + name(end.placement);
}

std::string text(const Transfer& transfer) {
  return text(transfer.source) + " -> " + text(transfer.destination) + " by " + name(transfer.engine) +
         (transfer.by_source ? ", by source" : "");
}

// What can be, written down once more without the library's help.
std::set<std::string> what_can_be() {
  std::set<std::string> all;
  const auto add = [&](const std::string& from, const std::string& to, const char* engine) {
    all.insert(from + " -> " + to + " by " + engine);
  };
  const auto both_ways = [&](const std::string& a, const std::string& b, const char* engine) {
    add(a, b, engine);
    add(b, a, engine);
  };
  for (const std::string own : {"gpu0", "gpu1"}) {
    const std::string other = own == "gpu0" ? "gpu1" : "gpu0";
    for (const char* host : {"pageable", "pinned", "registered", "write_combined", "mapped"}) {
      both_ways(std::string("host:") + host, own + ":device", "copy_engine");
    }
    for (const char* host : {"pinned", "registered", "write_combined", "mapped"}) {
      both_ways(std::string("host:") + host, own + ":device", "sm");
      both_ways(std::string("host:") + host, own + ":registers", "sm");
    }
    for (const char* engine : {"copy_engine", "sm"}) {
      add(own + ":device", own + ":device", engine);
      for (const char* issuer : {"", ", by source"}) {
        all.insert(own + ":device -> " + other + ":device by " + engine + issuer);
      }
    }
    both_ways(own + ":device", own + ":registers", "sm");
    add(other + ":device", own + ":registers", "sm");
    all.insert(own + ":registers -> " + other + ":device by sm, by source");
    for (const char* engine : {"fault", "prefetch"}) {
      both_ways("host:managed", own + ":managed", engine);
      add(own + ":managed", other + ":managed", engine);
    }
  }
  return all;
}

// Why something cannot be. Another reason is a mistake, and so is one that nothing is refused for.
const std::set<std::string> kReasons{
    "device memory is on a GPU; memory of the host is pageable, pinned",
    "registers are on a GPU; memory of the host is pageable, pinned",
    "pageable memory is on the host; a GPU has",
    "pinned memory is on the host; a GPU has",
    "registered memory is on the host; a GPU has",
    "write_combined memory is on the host; a GPU has",
    "mapped memory is on the host; a GPU has",
    "bytes that stay on the host cross no link",
    "only a kernel (sm) moves bytes to or from registers",
    "moves pages of managed memory: both ends must be managed",
    "managed memory moves by fault or prefetch",
    "a kernel cannot address pageable memory: page-lock it",
    "has nowhere to go there",
    "the source cannot send them",
    "the GPU that has the registers runs the kernel",
};

TEST(EveryTransfer, can_be_or_is_refused_for_what_stands_in_the_way) {
  std::set<std::string> possible;
  std::set<std::string> said;
  for (const Transfer& transfer : test::every_transfer(kMiB, 0)) {
    try {
      require_possible(transfer);
      possible.insert(text(transfer));
    } catch (const UsageError& refused) {
      const std::string message = refused.what();
      const auto reason = std::find_if(kReasons.begin(), kReasons.end(), [&](const std::string& one) {
        return message.find(one) != std::string::npos;
      });
      ASSERT_NE(reason, kReasons.end()) << text(transfer) << " is refused because " << message;
      said.insert(*reason);
    }
  }
  EXPECT_EQ(possible, what_can_be());
  EXPECT_EQ(said, kReasons);
}

Transfer pinned_copy() {
  Transfer copy;
  copy.source = Endpoint::host(Placement::pinned, 0);
  copy.destination = Endpoint::gpu(Placement::device, 0);
  copy.bytes = kMiB;
  return copy;
}

void expect_refused(const Transfer& transfer, const std::string& said) {
  try {
    require_possible(transfer);
    ADD_FAILURE() << "this can be, instead of: " << said;
  } catch (const UsageError& refused) {
    EXPECT_NE(std::string(refused.what()).find(said), std::string::npos) << refused.what();
  }
}

TEST(PossibleSizes, are_below_what_any_machine_has) {
  Transfer copy = pinned_copy();
  copy.bytes = kMostBytes;
  EXPECT_NO_THROW(require_possible(copy));
  copy.bytes += 4;
  expect_refused(copy, "from 4 to 1 PiB");
  copy.bytes = 6;
  expect_refused(copy, "multiple of 4");
}

TEST(PossiblePieces, are_no_larger_than_the_whole_and_no_more_than_a_gate_holds) {
  Transfer copy = pinned_copy();
  copy.piece_bytes = 2 * kMiB;
  expect_refused(copy, "no larger than the whole");
  copy.piece_bytes = kMiB / 512;
  EXPECT_NO_THROW(require_possible(copy));
  copy.bytes += 4;
  expect_refused(copy, "a stream takes 512 copies");
  copy.source.placement = Placement::pageable;  // copied within the calls: none waits
  EXPECT_NO_THROW(require_possible(copy));
}

TEST(PossibleFaults, do_not_lie_in_more_memory_than_there_is) {
  Transfer demand = pinned_copy();
  demand.engine = Engine::fault;
  demand.source.placement = demand.destination.placement = Placement::managed;
  demand.piece_bytes = 16;
  demand.stride_bytes = kMostBytes;
  expect_refused(demand, "more than 1 PiB");
}

TEST(PossibleSubmissions, are_of_what_the_gpu_does_alone) {
  Transfer copy = pinned_copy();
  copy.submission_only = true;
  EXPECT_NO_THROW(require_possible(copy));
  copy.source.placement = Placement::pageable;
  expect_refused(copy, "waits at a closed gate");
  copy.source = Endpoint::gpu(Placement::device, 1);
  copy.peer_access = false;
  expect_refused(copy, "waits at a closed gate");
}

TEST(PossibleWalks, are_of_whole_warps) {
  Transfer walk = pinned_copy();
  walk.engine = Engine::sm;
  walk.destination.placement = Placement::registers;
  for (const int threads : {0, 16, 48, 1056, -32}) {
    walk.walk.threads = threads;
    expect_refused(walk, "whole warps");
  }
  walk.walk.threads = 32;
  EXPECT_NO_THROW(require_possible(walk));
}

TEST(PossibleMappings, are_made_in_several_ways_only_for_walks) {
  Transfer copy = pinned_copy();
  copy.allocation = Allocation::accessed_by;
  expect_refused(copy, "only mapped memory");
  copy.engine = Engine::sm;
  copy.destination.placement = Placement::registers;
  expect_refused(copy, "only mapped memory");
  copy.source.placement = Placement::mapped;
  EXPECT_NO_THROW(require_possible(copy));
}

TEST(PossiblePeers, do_without_access_only_where_there_is_some) {
  Transfer copy = pinned_copy();
  copy.peer_access = false;
  expect_refused(copy, "peer access is between two GPUs");
}

}  // namespace
}  // namespace grainscope::transfer
