// What it costs the CPU to hand work to a GPU and to wait for it. Every kernel launched is counted by itself.

#include <vector>

#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/launch_counter.hpp"

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

}  // namespace grainscope::cuda
