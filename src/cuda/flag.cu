// Round trips of a flag, between the CPU and a GPU or between two GPUs.

#include <cuda_runtime.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/latency.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "launch.cuh"

namespace grainscope::cuda {
namespace {

// Flags apart by this never share a cache line, nor a pair of lines that a prefetcher takes together.
constexpr std::size_t kApart = 256;
// A poll crosses the link, and reading a clock must not lengthen it: one look in so many polls.
constexpr std::uint32_t kPollsPerLook = 64;
constexpr double kSlowestStart_s = 5;
const char* const kEveryRound = "both sides heard the number of every round, in turn";

// What a GPU's thread tells the host, in host memory.
struct Report {
  volatile std::uint32_t running;
  volatile std::uint32_t rounds;  // heard in turn
  volatile std::uint32_t timed_out;
};

struct Game {
  bool leads;
  std::uint32_t rounds;
  std::uint32_t lost_round;
  std::uint64_t timeout_ns;
};

__device__ bool hear(const volatile std::uint32_t* flag, std::uint32_t round, std::uint64_t timeout_ns) {
  std::uint64_t first_look = 0;
  for (std::uint32_t polls = 1;; ++polls) {
    if (*flag == round) {
      return true;
    }
    if (polls % kPollsPerLook == 0) {
      const std::uint64_t now = global_timer_ns();
      first_look = first_look == 0 ? now : first_look;
      if (now - first_look > timeout_ns) {
        return false;
      }
    }
  }
}

__global__ void play(const volatile std::uint32_t* heard, volatile std::uint32_t* said, Game game,
                     Report* report) {
  report->running = 1;
  std::uint32_t heard_rounds = 0;
  for (std::uint32_t round = 1; round <= game.rounds; ++round) {
    if (game.leads) {
      *said = round;
    }
    if (!hear(heard, round, game.timeout_ns)) {
      report->timed_out = 1;
      break;
    }
    if (!game.leads && round != game.lost_round) {
      *said = round;
    }
    heard_rounds = round;
  }
  report->rounds = heard_rounds;
}

void clear(Report& report) {
  report.running = 0;
  report.rounds = 0;
  report.timed_out = 0;
}

Game game_of(const PingPongPlan& plan, bool leads) {
  return {leads, plan.rounds, plan.lost_round, static_cast<std::uint64_t>(plan.timeout_s * 1e9)};
}

void wait_until_running(const Report& report) {
  const double start_s = steady_now_s();
  while (report.running == 0) {
    if (steady_now_s() - start_s > kSlowestStart_s) {
      throw FailedError("the kernel that answers a flag did not start: is the GPU busy with other work?");
    }
  }
}

void expect_all_rounds(const Report& report, const PingPongPlan& plan, const char* who) {
  if (report.timed_out != 0 || report.rounds != plan.rounds) {
    throw FailedError("wrong result: " + std::string(who) + " heard " + std::to_string(report.rounds) +
                      " of " + std::to_string(plan.rounds) + " rounds of the flag" +
                      (report.timed_out != 0 ? " and then waited in vain" : ""));
  }
}

}  // namespace

struct HostPingPong::Lines {
  alignas(kApart) volatile std::uint32_t to_gpu;
  alignas(kApart) volatile std::uint32_t to_host;
  alignas(kApart) Report report;
};

HostPingPong::HostPingPong(const FlagSpec& spec, const Topology& topology, const PingPongPlan& plan)
    : binding_(topology, spec.node),
      guard_(spec.gpu),
      plan_(plan),
      memory_(sizeof(Lines), PinnedBuffer::Kind::cached) {
  load_kernel(play, "load the kernel that answers a flag");
  // With one node there is nowhere else to be; the driver's own mappings do not always tell.
  if (topology.nodes().size() > 1) {
    verify_placement(memory_.data(), memory_.bytes(), spec.node);
  }
}

std::string HostPingPong::verify() {
  return kEveryRound;
}

Timing HostPingPong::timing() const {
  return {Clock::steady, false,
          "round trips of a flag between the CPU and a kernel that runs, by flags in host memory"};
}

HostPingPong::Lines& HostPingPong::lines() const {
  return *static_cast<Lines*>(memory_.data());
}

double HostPingPong::run() {
  Lines& flags = lines();
  flags.to_gpu = 0;
  flags.to_host = 0;
  clear(flags.report);
  auto* mapped = static_cast<Lines*>(memory_.device_data());
  play<<<1, 1, 0, stream_.get()>>>(&mapped->to_gpu, &mapped->to_host, game_of(plan_, false), &mapped->report);
  check_launch("play");
  double seconds = 0;
  try {
    wait_until_running(flags.report);
    seconds = lead();
  } catch (...) {
    // The kernel leaves by its own clock; what it writes to must live until then.
    static_cast<void>(cudaStreamSynchronize(stream_.get()));
    throw;
  }
  stream_.synchronize();
  expect_all_rounds(flags.report, plan_, "the GPU");
  return seconds;
}

double HostPingPong::lead() const {
  Lines& flags = lines();
  const double start_s = steady_now_s();
  for (std::uint32_t round = 1; round <= plan_.rounds; ++round) {
    flags.to_gpu = round;
    double first_look_s = 0;
    for (std::uint32_t polls = 1;; ++polls) {
      const std::uint32_t answer = flags.to_host;
      if (answer == round) {
        break;
      }
      if (answer != round - 1) {
        throw FailedError("wrong result: the GPU answered round " + std::to_string(answer) + " in round " +
                          std::to_string(round));
      }
      if (polls % (kPollsPerLook * kPollsPerLook) == 0) {
        const double now_s = steady_now_s();
        first_look_s = first_look_s == 0 ? now_s : first_look_s;
        if (now_s - first_look_s > plan_.timeout_s) {
          throw FailedError("wrong result: round " + std::to_string(round) +
                            " of the flag was lost: the GPU did not answer");
        }
      }
    }
  }
  return steady_now_s() - start_s;
}

struct PeerPingPong::Reports {
  alignas(kApart) Report leading;
  alignas(kApart) Report answering;
};

PeerPingPong::Side PeerPingPong::make_side(int gpu) {
  const DeviceGuard guard(gpu);
  load_kernel(play, "load the kernel that answers a flag");
  return {gpu, Stream(), DeviceBuffer(gpu, kApart)};
}

PeerPingPong::PeerPingPong(const FlagSpec& spec, const PingPongPlan& plan)
    : guard_(spec.gpu),
      plan_(plan),
      memory_(sizeof(Reports), PinnedBuffer::Kind::cached),
      leading_(make_side(spec.gpu)),
      answering_(make_side(spec.peer)) {
  if (spec.peer != spec.gpu) {
    there_.emplace(spec.gpu, spec.peer);
    back_.emplace(spec.peer, spec.gpu);
  }
}

std::string PeerPingPong::verify() {
  return kEveryRound;
}

Timing PeerPingPong::timing() const {
  return {Clock::event, true,
          "a kernel that leads the round trips of a flag, each side waiting on its own memory, while the "
          "peer's answers"};
}

PeerPingPong::Reports& PeerPingPong::reports() const {
  return *static_cast<Reports*>(memory_.data());
}

double PeerPingPong::run() {
  Reports& told = reports();
  clear(told.leading);
  clear(told.answering);
  for (const Side* side : {&leading_, &answering_}) {
    const DeviceGuard guard(side->gpu);
    check(cudaMemsetAsync(side->heard.data(), 0, kApart, side->stream.get()), "clear a flag");
    side->stream.synchronize();
  }
  const auto start = [this](const Side& side, const Side& other, bool leads) {
    auto* mapped = static_cast<Reports*>(memory_.device_data());
    play<<<1, 1, 0, side.stream.get()>>>(
        static_cast<const std::uint32_t*>(side.heard.data()), static_cast<std::uint32_t*>(other.heard.data()),
        game_of(plan_, leads), leads ? &mapped->leading : &mapped->answering);
    check_launch("play");
  };
  {
    const DeviceGuard guard(answering_.gpu);
    start(answering_, leading_, false);
  }
  double seconds = 0;
  try {
    wait_until_running(told.answering);
    const DeviceGuard guard(leading_.gpu);
    seconds = stopwatch_.time_s(leading_.stream, [&] { start(leading_, answering_, true); });
  } catch (...) {
    static_cast<void>(cudaStreamSynchronize(answering_.stream.get()));
    throw;
  }
  answering_.stream.synchronize();
  expect_all_rounds(told.leading, plan_, "the leading GPU");
  expect_all_rounds(told.answering, plan_, "the answering GPU");
  return seconds;
}

std::unique_ptr<Operation> make_flag(const FlagSpec& spec, const Topology& topology) {
  if (spec.between_gpus) {
    return std::make_unique<PeerPingPong>(spec);
  }
  return std::make_unique<HostPingPong>(spec, topology);
}

}  // namespace grainscope::cuda
