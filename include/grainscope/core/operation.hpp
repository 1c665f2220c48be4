#ifndef GRAINSCOPE_CORE_OPERATION_HPP
#define GRAINSCOPE_CORE_OPERATION_HPP

// Anything that can be sampled: a transfer, a latency, a gather, a training run. It holds its buffers; who
// samples it knows no more of it than this.

#include <functional>
#include <string>
#include <utility>

#include "grainscope/core/measurement.hpp"

namespace grainscope {

// Not thread-safe.
class Operation {
 public:
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Brings everything to where a sample starts: pages at their source, caches overwritten. Untimed.
  virtual void prepare() {}
  // One sample, in seconds, by the operation's own clock and gate; then, untimed, its check. Operations with
  // several inputs take them in turn. Throws FailedError for a wrong result.
  [[nodiscard]] virtual double run() = 0;
  // Throws FailedError unless everything that was sampled really happened; says what was checked.
  [[nodiscard]] virtual std::string verify() = 0;
  // What `run` times.
  [[nodiscard]] virtual Timing timing() const = 0;
  // Whether the calling thread alone does what the host does of a sample: then it can be given a CPU that
  // nobody else disturbs.
  [[nodiscard]] virtual bool on_callers_thread() const { return false; }

  // Inputs that each get one sample, in their order, and no more: a traversal's sources. 0: samples are
  // alike, and a plan says how many there are.
  [[nodiscard]] virtual int trials() const { return 0; }
  // What a sample's kernels do, once more and from the beginning, untimed and behind no gate: for a profiler,
  // which waits for each kernel before the next is submitted. Nothing where no kernel of its own is at work.
  virtual void run_counted() {}
  // What it knows of itself beside its times: bytes, operations, counters. May run parts of itself again.
  virtual void describe(Measurement& /*measurement*/) {}

 protected:
  Operation() = default;
};

// One sample with what comes before it.
[[nodiscard]] inline double sample(Operation& operation) {
  operation.prepare();
  return operation.run();
}

// An operation whose buffers lie in the scope around it.
struct OperationParts {
  std::function<void()> prepare = [] {};
  std::function<double()> run;
  std::function<std::string()> verify;
  Timing timing;
  int trials = 0;
  bool on_callers_thread = false;
};
class LocalOperation final : public Operation {
 public:
  explicit LocalOperation(OperationParts parts) : parts_(std::move(parts)) {}
  void prepare() override { parts_.prepare(); }
  double run() override { return parts_.run(); }
  std::string verify() override { return parts_.verify(); }
  [[nodiscard]] Timing timing() const override { return parts_.timing; }
  [[nodiscard]] int trials() const override { return parts_.trials; }
  [[nodiscard]] bool on_callers_thread() const override { return parts_.on_callers_thread; }

 private:
  OperationParts parts_;
};

}  // namespace grainscope

#endif
