#include "grainscope/transfer/mover.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/system/numa.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

// A lane with the stream and events of its GPU.
struct Running {
  MoverLane config;
  cuda::Stream stream;
  cuda::Event start;
  cuda::Event stop;

  [[nodiscard]] Lane& lane() const { return *config.lane; }
  void issue() const {
    for (int i = 0; i < config.repeats; ++i) {
      lane().issue(stream);
    }
  }
};

// The thread that is worker i of a team runs where lane i's CPUs are.
std::vector<int> first_cpus(const std::vector<Running>& lanes, const Topology& topology) {
  std::vector<int> cpus;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Node* node = topology.find_node(lanes[i].lane().node());
    if (node == nullptr || node->allowed_cpus.empty()) {
      return {};
    }
    cpus.push_back(node->allowed_cpus[i % node->allowed_cpus.size()]);
  }
  return cpus;
}

}  // namespace

struct Mover::State {
  State(std::vector<MoverLane> configs, const Topology& topology, bool submission)
      : binding(topology, configs.front().lane->node()), submission_only(submission) {
    for (MoverLane& config : configs) {
      const cuda::DeviceGuard guard(config.lane->gpu());
      cuda::Gate::load();
      lanes.push_back({std::move(config), {}, {}, {}});
    }
    spans.resize(lanes.size());
    const bool all_enqueued = std::all_of(lanes.begin(), lanes.end(), [](const Running& running) {
      return running.lane().conduct() == Conduct::enqueued;
    });
    if (all_enqueued || submission_only) {
      gate.emplace();
    } else if (lanes.size() > 1) {
      team.emplace(static_cast<int>(lanes.size()), first_cpus(lanes, topology));
    }
  }

  NodeBinding binding;
  bool submission_only;
  std::vector<Running> lanes;
  std::optional<cuda::Gate> gate;
  std::optional<ThreadTeam> team;
  std::vector<Span> spans;

  using Chosen = std::vector<std::size_t>;

  double run(const Chosen& chosen) {
    spans.assign(lanes.size(), {});
    if (submission_only) {
      time_submission(lanes.front());
    } else if (gate) {
      time_behind_gates(chosen);
    } else if (chosen.size() == 1) {
      spans[chosen.front()] = time_one(lanes[chosen.front()]);
    } else {
      time_on_threads();
    }
    std::vector<Span> measured;
    for (const std::size_t i : chosen) {
      const cuda::DeviceGuard guard(lanes[i].lane().gpu());
      lanes[i].lane().check_sample();
      if (!lanes[i].config.background || chosen.size() == 1) {
        measured.push_back(spans[i]);
      }
    }
    return time_any_ran(measured);
  }

  void time_behind_gates(const Chosen& chosen) {
    std::vector<cuda::GatedWork> works;
    for (const std::size_t i : chosen) {
      const Running& running = lanes[i];
      works.push_back({&running.stream, [&running] { running.issue(); }, &running.start, &running.stop,
                       running.lane().gpu()});
    }
    cuda::GatedRun(*gate, std::move(works)).open();
    const Running& first = lanes[chosen.front()];
    for (const std::size_t i : chosen) {
      const Running& running = lanes[i];
      // Events of two GPUs have no common clock; their gates open within a microsecond of each other.
      const double start_s = running.lane().gpu() == first.lane().gpu() && &running != &first
                                 ? cuda::elapsed_s(first.start, running.start)
                                 : 0;
      spans[i] = {start_s, start_s + cuda::elapsed_s(running.start, running.stop)};
    }
  }

  void time_submission(const Running& running) {
    const cuda::DeviceGuard guard(running.lane().gpu());
    const auto submit = [&] {
      const double start_s = steady_now_s();
      running.issue();
      spans.front() = {0, steady_now_s() - start_s};
    };
    cuda::GatedRun(*gate, {{&running.stream, submit}}).open();
  }

  // On the host's clock where the host has a part in it, else by events; the stream is idle at the start.
  static Span time_one(const Running& running) {
    const cuda::DeviceGuard guard(running.lane().gpu());
    if (running.lane().conduct() != Conduct::called) {
      return time_on_host(running, steady_now_s());
    }
    running.start.record(running.stream);
    running.issue();
    running.stop.record(running.stream);
    running.stop.synchronize();
    return {0, cuda::elapsed_s(running.start, running.stop)};
  }

  static Span time_on_host(const Running& running, double zero_s) {
    const double start_s = steady_now_s();
    running.issue();
    if (running.lane().conduct() == Conduct::on_host) {
      const double end_s = steady_now_s();
      return {end_s - running.lane().own_time_s().value_or(end_s - start_s) - zero_s, end_s - zero_s};
    }
    running.stop.record(running.stream);
    running.stop.synchronize();
    return {start_s - zero_s, steady_now_s() - zero_s};
  }

  // All lanes, each on a thread of its own.
  void time_on_threads() {
    std::vector<std::exception_ptr> errors(lanes.size());
    const double zero_s = steady_now_s();
    static_cast<void>(team->run([&](int worker) {
      const auto i = static_cast<std::size_t>(worker);
      try {
        const cuda::DeviceGuard guard(lanes[i].lane().gpu());
        spans[i] = time_on_host(lanes[i], zero_s);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }));
    for (const std::exception_ptr& error : errors) {
      if (error) {
        std::rethrow_exception(error);
      }
    }
  }
};

Mover::Mover(std::vector<MoverLane> lanes, const Surroundings& surroundings, bool submission_only) {
  if (lanes.empty() || (submission_only && lanes.size() > 1)) {
    throw UsageError("a mover has at least one lane, and only one where submission is timed");
  }
  state_ = std::make_unique<State>(std::move(lanes), *surroundings.topology, submission_only);
}

Mover::~Mover() = default;

void Mover::prepare() {
  for (const Running& running : state_->lanes) {
    const cuda::DeviceGuard guard(running.lane().gpu());
    running.lane().prepare();
  }
}

double Mover::run() {
  State::Chosen all(state_->lanes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return state_->run(all);
}

double Mover::run_alone(std::size_t lane) {
  return state_->run({lane});
}

void Mover::run_counted() {
  const Running& only = state_->lanes.front();
  if (!only.lane().launches_kernels()) {
    return;
  }
  const cuda::DeviceGuard guard(only.lane().gpu());
  only.issue();
  only.stream.synchronize();
}

bool Mover::reads_managed() const {
  return state_->lanes.size() == 1 && state_->lanes.front().lane().reads_managed();
}

const std::vector<Span>& Mover::spans() const {
  return state_->spans;
}

std::string Mover::verify() {
  std::string checked;
  for (const Running& running : state_->lanes) {
    const cuda::DeviceGuard guard(running.lane().gpu());
    running.stream.synchronize();
    const std::string text = running.lane().verify();
    if (checked.find(text) == std::string::npos) {
      checked += (checked.empty() ? "" : "; ") + text;
    }
  }
  return state_->lanes.size() == 1 ? checked : "of every lane: " + checked;
}

Timing Mover::timing() const {
  const Running& first = state_->lanes.front();
  const std::string action = first.lane().action();
  if (state_->submission_only) {
    return {Clock::steady, true, "the call that submits " + action + ", behind a closed gate"};
  }
  if (state_->lanes.size() > 1) {
    return state_->gate
               ? Timing{Clock::event, true,
                        "each lane between two events, all behind gates that open together"}
               : Timing{Clock::steady, false, "each lane on a host thread of its own, started together"};
  }
  switch (first.lane().conduct()) {
    case Conduct::enqueued:
      return {Clock::event, true, action + " between two events"};
    case Conduct::called:
      return {Clock::event, false, action + ", between two events on an idle stream"};
    case Conduct::hosted:
      return {Clock::steady, false, action + ", from the call until an event behind it has completed"};
    case Conduct::on_host:
      return {Clock::steady, false, action};
  }
  return {};
}

bool Mover::on_callers_thread() const {
  return state_->lanes.size() == 1 && state_->lanes.front().lane().on_callers_thread();
}

std::optional<double> Mover::around_s(double run_s) const {
  const bool told = state_->lanes.size() == 1 && !state_->submission_only &&
                    state_->lanes.front().lane().conduct() == Conduct::hosted;
  return told ? std::optional(run_s) : std::nullopt;
}

void Mover::describe(Measurement& measurement) {
  if (state_->lanes.size() == 1) {
    const cuda::DeviceGuard guard(state_->lanes.front().lane().gpu());
    state_->lanes.front().lane().describe(measurement);
  }
}

void expect_payload(std::optional<std::uint64_t> mismatch, const char* where) {
  if (mismatch) {
    throw FailedError("wrong result: word " + std::to_string(*mismatch) + " " + where +
                      " does not hold what was sent; the transfer did not move everything");
  }
}

std::unique_ptr<Lane> make_lane(const Transfer& transfer, const Surroundings& surroundings) {
  require_possible(transfer);
  const NodeBinding binding(*surroundings.topology, transfer.node());
  const cuda::DeviceGuard guard(transfer.gpu());
  if (transfer.relay.used()) {
    return make_relay_lane(transfer, surroundings);
  }
  switch (transfer.engine) {
    case Engine::copy_engine:
      return make_copy_lane(transfer, surroundings);
    case Engine::sm:
      return transfer.walks() ? make_walk_lane(transfer, surroundings)
                              : make_kernel_copy_lane(transfer, surroundings);
    case Engine::fault:
    case Engine::prefetch:
      return make_managed_lane(transfer, surroundings);
  }
  throw UsageError("a transfer names an engine that does not exist");
}

std::unique_ptr<Mover> make_mover(const Transfer& transfer, const Surroundings& surroundings) {
  std::vector<MoverLane> lanes;
  lanes.push_back({make_lane(transfer, surroundings)});
  return std::make_unique<Mover>(std::move(lanes), surroundings, transfer.submission_only);
}

}  // namespace grainscope::transfer
