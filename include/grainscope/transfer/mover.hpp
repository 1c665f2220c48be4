#ifndef GRAINSCOPE_TRANSFER_MOVER_HPP
#define GRAINSCOPE_TRANSFER_MOVER_HPP

// Lanes, and what times them. A lane is a transfer with its buffers, ready to be issued any number of
// times on a stream of one's choice; it knows nothing of time. A Mover starts lanes at once and times each
// of them. One lane is the usual case; two are a duplex transfer; many are all the GPUs of a node against
// one memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::cuda {
class Stream;  // cuda/device.hpp
}  // namespace grainscope::cuda

namespace grainscope::transfer {

using cuda::Surroundings;

// Who does the work of issue(), and so which clock can time it.
enum class Conduct {
  enqueued,  // the GPU, all of it: may stand behind a closed gate
  called,    // the GPU, but the driver works within the call: never behind a gate
  hosted,    // the CPU has a part in it: the host's clock
  on_host,   // the CPU, all of it: done when issue() returns
};

// Calls of a lane that stand behind a closed gate: near a thousand a stream is full, and the next call would
// wait for the gate.
inline constexpr std::uint64_t kMostBehindGate = 512;

// Every call is made with gpu() current, by a thread that is bound to node(). Not thread-safe.
class Lane {
 public:
  virtual ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  [[nodiscard]] int gpu() const { return gpu_; }    // the stream's
  [[nodiscard]] int node() const { return node_; }  // the issuing CPU's
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  // Brings everything to where a sample starts: pages at their source, caches flushed. Untimed.
  virtual void prepare() {}
  // Moves the bytes once: enqueues what the GPU does, does what the host does.
  virtual void issue(const cuda::Stream& stream) = 0;
  // Throws FailedError unless the sample just taken really moved; called after each, the stream idle.
  virtual void check_sample() {}
  // Throws FailedError unless everything asked for moved; says what was checked. The stream is idle.
  [[nodiscard]] virtual std::string verify() = 0;

  [[nodiscard]] virtual Conduct conduct() const { return Conduct::enqueued; }
  // Whether issue() launches kernels of its own, which a profiler can count.
  [[nodiscard]] virtual bool launches_kernels() const { return true; }
  // Whether these ask for managed memory that lives on the host.
  [[nodiscard]] virtual bool reads_managed() const { return false; }
  // Seconds of the last issue() by the lane's own watch, which on_host lanes may hold: their threads take
  // time to wake before they start together.
  [[nodiscard]] virtual std::optional<double> own_time_s() const { return {}; }
  // Whether the thread that issues does all that the host does.
  [[nodiscard]] virtual bool on_callers_thread() const { return true; }
  // What issue() is, after "time of": "one cudaMemcpyAsync".
  [[nodiscard]] virtual std::string action() const = 0;
  // Anything worth a number beside the times.
  virtual void describe(Measurement& measurement) const { static_cast<void>(measurement); }

 protected:
  Lane(int gpu, int node, std::uint64_t bytes) : gpu_(gpu), node_(node), bytes_(bytes) {}

 private:
  int gpu_;
  int node_;
  std::uint64_t bytes_;
};

// Allocates and initialises. Throws UsageError for a transfer that cannot be, SkipError where this machine
// cannot hold it, EnvironmentError or FailedError where something that should work does not; in a build
// without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<Lane> make_lane(const Transfer& transfer, const Surroundings& surroundings);

// A kernel that computes, and touches no memory while it does, for about `seconds` on every multiprocessor
// of `gpu`: what a copy may have to share the card with. `beside_bulk`: its multiprocessors keep their shared
// memory free for a kernel that copies in bulk, which else waits for them to be idle.
[[nodiscard]] std::unique_ptr<Lane> make_computing_lane(int gpu, int node, double seconds,
                                                        const Surroundings& surroundings,
                                                        bool beside_bulk = false);

// When a lane ran within one sample, in seconds since the common start.
struct Span {
  double start_s = 0;
  double end_s = 0;
  [[nodiscard]] double length_s() const { return end_s - start_s; }
};

// Time during which at least one of `spans` ran, and during which all of them did.
[[nodiscard]] double time_any_ran(const std::vector<Span>& spans);
[[nodiscard]] double time_all_ran(const std::vector<Span>& spans);

struct MoverLane {
  std::unique_ptr<Lane> lane;
  bool background = false;  // it loads what the others are measured on; its own end is not waited for
  int repeats = 1;          // how often it is issued in a sample
};

class Mover final : public Operation {
 public:
  // Lanes that are all enqueued start behind closed gates that open together and are timed by events; a
  // single lane that the driver works on within the call is timed by events too; all others start together
  // on host threads and are timed by the host's clock.
  // `submission_only`, of a single lane: the time of issue() alone, behind a closed gate.
  Mover(std::vector<MoverLane> lanes, const Surroundings& surroundings, bool submission_only = false);
  ~Mover() override;

  void prepare() override;
  // Seconds during which any lane that is not background ran.
  double run() override;
  // The same of one lane alone.
  [[nodiscard]] double run_alone(std::size_t lane);
  // What a sample of a single lane issues; nothing where that launches no kernel.
  void run_counted() override;
  [[nodiscard]] bool reads_managed() const override;
  // When each lane ran in the sample before.
  [[nodiscard]] const std::vector<Span>& spans() const;
  std::string verify() override;
  [[nodiscard]] Timing timing() const override;
  [[nodiscard]] bool on_callers_thread() const override;
  [[nodiscard]] std::optional<double> around_s(double run_s) const override;
  // Where there is one lane.
  void describe(Measurement& measurement) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A mover of a single transfer.
[[nodiscard]] std::unique_ptr<Mover> make_mover(const Transfer& transfer, const Surroundings& surroundings);

// A copy that the runtime makes without a GPU at either end: from ordinary memory of the host to page-locked
// memory of it, which is how a program that stages its own transfers may fill its buffers.

struct HostCopy {
  int from_node = 0;  // whose CPUs call
  int to_node = 0;
  int gpu = 0;         // whose stream carries it
  bool flush = false;  // evict both ends from the CPU's caches before every sample
  std::uint64_t bytes = 0;
};

// Allocates and initialises; throws as make_mover does.
[[nodiscard]] std::unique_ptr<Mover> make_host_copy_mover(const HostCopy& copy,
                                                          const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
