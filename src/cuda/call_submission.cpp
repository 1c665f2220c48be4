// What it costs the CPU to hand work to a GPU and to wait for it, alone or by several threads that share a
// context and its locks. Every kernel launched is counted by itself.

#include <algorithm>
#include <string>
#include <vector>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::cuda {
namespace {

// Some tens of microseconds of calls a sample, and never near the thousand that a stream can hold.
constexpr int kManyCalls = 128;
constexpr int kFewCalls = 16;  // where each waits for the GPU

// Launches alone, with more arguments, or each with a wait for its end.
class LaunchProbe final : public CallProbe {
 public:
  explicit LaunchProbe(const CallSpec& spec)
      : waits_(spec.what == Call::launch_and_wait),
        guard_(spec.gpu),
        counter_(spec.gpu, spec.what == Call::launch_with_arguments ? spec.argument_bytes : 8) {}

  [[nodiscard]] std::optional<double> around_s(double run_s) const override { return run_s; }
  double run() override {
    launches_ += static_cast<std::uint64_t>(calls());
    const double seconds = time_calls(calls(), "launch a kernel", [this](int) {
      const cudaError_t status = counter_.try_launch(stream_);
      return waits_ && status == cudaSuccess ? cudaStreamSynchronize(stream_.get()) : status;
    });
    stream_.synchronize();
    return seconds;
  }

  std::string verify() override {
    counter_.expect(launches_, stream_);
    return "every kernel launched added 1 to a counter on the GPU";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            waits_ ? "launches of a kernel of one thread, each followed by cudaStreamSynchronize"
                   : "launches of a kernel of one thread into a stream that is empty at first"};
  }
  void describe(Measurement& measurement) override {
    measurement.operations = static_cast<std::uint64_t>(calls());
  }

 private:
  [[nodiscard]] int calls() const { return waits_ ? kFewCalls : kManyCalls; }

  bool waits_;
  DeviceGuard guard_;
  Stream stream_;
  LaunchCounter counter_;
  std::uint64_t launches_ = 0;
};

// Waiting for what is done already: the least that a wait costs.
class IdleWaitProbe final : public CallProbe {
 public:
  explicit IdleWaitProbe(const CallSpec& spec) : what_(spec.what), guard_(spec.gpu), counter_(spec.gpu) {}

  double run() override {
    counter_.launch(stream_);
    ++launches_;
    event_.record(stream_);
    stream_.synchronize();
    return time_calls(kManyCalls, "wait for work that is done", [this](int) {
      return what_ == Call::event_synchronize    ? cudaEventSynchronize(event_.get())
             : what_ == Call::device_synchronize ? cudaDeviceSynchronize()
                                                 : cudaStreamSynchronize(stream_.get());
    });
  }

  std::string verify() override {
    counter_.expect(launches_, stream_);
    return "the work waited for was done: its kernels added 1 to a counter on the GPU";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            what_ == Call::event_synchronize    ? "cudaEventSynchronize on an event that has happened"
            : what_ == Call::device_synchronize ? "cudaDeviceSynchronize on a GPU whose work is done"
                                                : "cudaStreamSynchronize on a stream whose work is done"};
  }
  void describe(Measurement& measurement) override { measurement.operations = kManyCalls; }

 private:
  Call what_;
  DeviceGuard guard_;
  Stream stream_;
  Event event_;
  LaunchCounter counter_;
  std::uint64_t launches_ = 0;
};

class EventRecordProbe final : public CallProbe {
 public:
  explicit EventRecordProbe(const CallSpec& spec) : guard_(spec.gpu), events_(kManyCalls) {}

  double run() override {
    before_.record(stream_);
    const double seconds = time_calls(kManyCalls, "record an event", [this](int i) {
      return cudaEventRecord(events_[static_cast<std::size_t>(i)].get(), stream_.get());
    });
    stream_.synchronize();
    const Event* last = &before_;
    for (const Event& event : events_) {
      // One that was left out would still have the time of the sample before.
      if (elapsed_s(*last, event) < 0) {
        throw FailedError("wrong result: events did not happen in the order in which they were recorded");
      }
      last = &event;
    }
    return seconds;
  }

  std::string verify() override { return "every event happened, in the order recorded"; }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false, "cudaEventRecord of events that take the time, into an empty stream"};
  }
  void describe(Measurement& measurement) override { measurement.operations = kManyCalls; }

 private:
  DeviceGuard guard_;
  Stream stream_;
  Event before_;
  std::vector<Event> events_;
};

// One stream is told to wait for another, which a gate holds back.
class StreamWaitProbe final : public CallProbe {
 public:
  explicit StreamWaitProbe(const CallSpec& spec) : guard_(spec.gpu), counter_(spec.gpu) {}

  double run() override {
    double seconds = 0;
    bool waited = false;
    const auto enqueue = [&] {
      seconds = time_calls(kCalls, "make a stream wait for an event",
                           [this](int) { return cudaStreamWaitEvent(waiting_.get(), event_.get(), 0); });
      counter_.launch(waiting_);
      ++launches_;
      waited = cudaStreamQuery(waiting_.get()) == cudaErrorNotReady;
      // That answer counts as an error until somebody reads it.
      static_cast<void>(cudaGetLastError());
    };
    GatedRun(gate_, {{&held_, enqueue, &event_}}).open();
    waiting_.synchronize();
    if (!waited) {
      throw FailedError("wrong result: the stream did not wait for the event");
    }
    return seconds;
  }

  std::string verify() override {
    counter_.expect(launches_, waiting_);
    return "work behind the waits began only when the event had happened, and then ran";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false, "cudaStreamWaitEvent on an event of another stream, yet to happen"};
  }
  void describe(Measurement& measurement) override { measurement.operations = kCalls; }

 private:
  static constexpr int kCalls = 64;

  DeviceGuard guard_;
  Stream held_;
  Stream waiting_;
  Event event_;
  LaunchCounter counter_;
  Gate gate_;
  std::uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<CallProbe> make_submission_call(const CallSpec& spec) {
  switch (spec.what) {
    case Call::launch:
    case Call::launch_with_arguments:
    case Call::launch_and_wait:
      return std::make_unique<LaunchProbe>(spec);
    case Call::stream_synchronize:
    case Call::device_synchronize:
    case Call::event_synchronize:
      return std::make_unique<IdleWaitProbe>(spec);
    case Call::event_record:
      return std::make_unique<EventRecordProbe>(spec);
    case Call::stream_wait_event:
      return std::make_unique<StreamWaitProbe>(spec);
    default:
      throw UsageError(std::string(name(spec.what)) + " is no call of submission");
  }
}

namespace {

// A call's cost to each of several threads that make it at once.
class ThreadedProbe final : public CallProbe {
 public:
  explicit ThreadedProbe(const CallSpec& spec)
      : launches_kernels_(spec.what == Call::launch_by_threads),
        guard_(spec.gpu),
        team_(spec.threads, current_affinity()),
        streams_(static_cast<std::size_t>(spec.threads)),
        statuses_(streams_.size(), cudaSuccess),
        counter_(spec.gpu) {
    // The current GPU is a thread's own; a thread keeps it from sample to sample.
    static_cast<void>(team_.run([&](int worker) { note(worker, cudaSetDevice(spec.gpu)); }));
    expect_success("make a GPU current on every thread");
  }

  [[nodiscard]] std::optional<double> around_s(double /*run_s*/) const override { return around_s_; }
  double run() override {
    if (!launches_kernels_) {
      launch_one_each();
    }
    const double begun_s = raw_now_s();
    const double seconds = team_.run([this](int worker) {
      const Stream& stream = streams_[static_cast<std::size_t>(worker)];
      for (int i = 0; i < kManyCalls; ++i) {
        note(worker, launches_kernels_ ? counter_.try_launch(stream) : cudaDeviceSynchronize());
      }
    });
    around_s_ = raw_now_s() - begun_s;  // without the kernels, for which the GPU may take longer
    expect_success(launches_kernels_ ? "launch kernels from many threads" : "wait on many threads");
    if (launches_kernels_) {
      launched_ += streams_.size() * kManyCalls;
      synchronize();
    }
    return seconds;
  }

  std::string verify() override {
    synchronize();
    counter_.expect(launched_, streams_.front());
    return launches_kernels_ ? "every kernel that any thread launched added 1 to a counter on the GPU"
                             : "the work waited for was done: its kernels added 1 to a counter on the GPU";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::steady, false,
            launches_kernels_
                ? "launches of a kernel of one thread, by host threads that start together, each into a "
                  "stream of its own"
                : "cudaDeviceSynchronize on a GPU whose work is done, by host threads that start together"};
  }
  [[nodiscard]] bool on_callers_thread() const override { return false; }
  // What one thread does: a call's cost to who makes it.
  void describe(Measurement& measurement) override { measurement.operations = kManyCalls; }

 private:
  void note(int worker, cudaError_t status) {
    if (status != cudaSuccess) {
      statuses_[static_cast<std::size_t>(worker)] = status;
    }
  }

  void expect_success(const char* tried) {
    for (cudaError_t& status : statuses_) {
      check(std::exchange(status, cudaSuccess), tried);
    }
  }

  void launch_one_each() {
    for (const Stream& stream : streams_) {
      counter_.launch(stream);
      ++launched_;
    }
    synchronize();
  }

  void synchronize() const {
    for (const Stream& stream : streams_) {
      stream.synchronize();
    }
  }

  bool launches_kernels_;
  DeviceGuard guard_;
  ThreadTeam team_;
  std::vector<Stream> streams_;
  std::vector<cudaError_t> statuses_;  // of each thread: the last that was no success
  LaunchCounter counter_;
  std::uint64_t launched_ = 0;
  double around_s_ = 0;  // all threads' calls
};

}  // namespace

std::unique_ptr<CallProbe> make_threaded_call(const CallSpec& spec) {
  if (spec.threads < 2) {
    throw UsageError("calls by threads are by two or more, not " + std::to_string(spec.threads));
  }
  if (const auto cpus = current_affinity().size(); static_cast<std::size_t>(spec.threads) > cpus) {
    throw SkipError(std::to_string(spec.threads) + " threads do not find a CPU each: the node has " +
                    std::to_string(cpus));
  }
  return std::make_unique<ThreadedProbe>(spec);
}

namespace {

std::unique_ptr<CallProbe> make_unbound(const CallSpec& spec, const Topology& topology,
                                        ManagedBudget& budget) {
  switch (spec.what) {
    case Call::launch:
    case Call::launch_with_arguments:
    case Call::launch_and_wait:
    case Call::stream_synchronize:
    case Call::device_synchronize:
    case Call::event_record:
    case Call::event_synchronize:
    case Call::stream_wait_event:
      return make_submission_call(spec);
    case Call::launch_by_threads:
    case Call::device_synchronize_by_threads:
      return make_threaded_call(spec);
    case Call::graph_instantiate:
    case Call::graph_launch:
    case Call::graph_instantiate_copies:
    case Call::graph_launch_copies:
    case Call::graph_launch_copies_3d:
      return make_graph_call(spec);
    case Call::malloc:
    case Call::free:
    case Call::host_alloc:
    case Call::host_free:
    case Call::host_register:
    case Call::host_unregister:
    case Call::malloc_managed:
    case Call::managed_free:
      return make_memory_call(spec, topology, budget);
    case Call::malloc_async:
    case Call::free_async:
      return make_pool_call(spec);
    case Call::managed_first_touch:
    case Call::managed_first_touch_by_host:
      return make_first_touch_call(spec, budget);
    case Call::take_mapped:
    case Call::give_back_mapped:
    case Call::fork_with_mapped:
      return make_mapped_call(spec, topology, budget);
  }
  throw UsageError("there is no such call");
}

}  // namespace

std::unique_ptr<Operation> make_call(const CallSpec& spec, const Topology& topology, ManagedBudget& budget) {
  auto binding = std::make_unique<NodeBinding>(topology, spec.node);
  auto call = make_unbound(spec, topology, budget);
  call->keep(std::move(binding));
  return call;
}

}  // namespace grainscope::cuda
