#ifndef GRAINSCOPE_CORE_OPERATION_HPP
#define GRAINSCOPE_CORE_OPERATION_HPP

// An operation, which is what a benchmark's body samples, and the measurement that the body hands back:
// samples, what they moved, and what makes them credible.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/sampler.hpp"

namespace grainscope {

enum class Clock {
  event,   // device events around device work
  steady,  // the host's steady clock around host work
};

struct Timing {
  Clock clock = Clock::steady;
  bool gated = false;  // everything was enqueued before the first timed operation could start
  std::string timed;   // what lies between the two readings, in a few words
};

// The fastest rate that the path of a transfer can physically have, or the shortest time of an operation.
struct PhysicalLimit {
  double gb_s = 0;         // 0: none is known
  std::string source;      // "PCIe 5.0 x16, 32 GT/s a lane, 128b/130b"
  double operation_s = 0;  // of one operation, else of a sample; 0: none is known
};

// Requests and bytes over the link in one sample. A model's count unless `counted`.
struct Traffic {
  bool counted = false;
  std::uint64_t requests = 0;
  std::map<int, std::uint64_t> requests_by_size;  // bytes of a request → how many
  std::uint64_t bytes = 0;
  double amplification = 0;  // bytes over bytes asked for; 0: nothing was
};

// One of several transfers that ran at once.
struct LaneResult {
  std::string name;  // "to_gpu"
  std::string from;  // "host:0", "gpu:1"
  std::string to;
  std::uint64_t bytes = 0;        // in one sample; 0: a kernel that only computes
  std::vector<double> seconds;    // its own time in each sample
  bool background = false;        // only there to load what the others are measured on
  std::optional<double> alone_s;  // median of the same lane alone, in the same session
};

// One of several runs of a program on different inputs, each timed by itself: a traversal from one source.
struct Trial {
  std::string label;              // "source:4194303"
  std::vector<double> samples_s;  // its own times
  std::map<std::string, double> counters;
  std::uint64_t link_bytes = 0;  // the least that each of its samples moved over the link; 0: nothing
  std::uint64_t bytes = 0;       // what each read, where nothing is over the link
};

// One round of a program that runs in rounds.
struct LevelResult {
  std::uint64_t active = 0;  // vertices
  std::uint64_t edges = 0;   // in their lists
  double seconds = 0;        // 0: not timed
  std::uint64_t requests = 0;
  std::uint64_t link_bytes = 0;
};

// When a stage of a program was at work, in seconds from its run's beginning, in order.
struct TimelineLane {
  std::string stage;
  int gpu = -1;  // -1: the CPU
  std::vector<double> begin_s;
  std::vector<double> end_s;
};

// The graph that a program ran on.
struct GraphFacts {
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;                               // adjacency entries
  std::vector<std::pair<std::uint64_t, double>> edge_cdf;  // (degree, share of entries in lists up to it)
};

// The file whose rows a program gathered.
struct FeatureFacts {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t element = 0;  // bytes
};

// A library, loaded at run time, that did what was timed.
struct LibraryFacts {
  std::string name;
  std::string version;
  std::string path;                      // of its file
  std::vector<std::string> connections;  // ways by which it joined GPUs, in its own words; empty: not told
  std::map<std::string, std::string> variables;  // of the environment, that steer it
  int hosts = 1;                                 // on which it worked together
};

struct Measurement {
  bool modelled = false;  // nothing ran: the time is a model's
  Samples samples;        // of a program with trials: one time each, in their order
  Timing timing;
  // Samples for which no CPU without a neighbour was found; no value where none was looked for.
  std::optional<std::uint64_t> disturbed;
  std::uint64_t bytes = 0;  // asked for in one sample; 0: the case moves nothing
  // Over the link in one sample, where not `bytes`: asked for, and the least that must have crossed.
  std::optional<std::uint64_t> link_bytes_asked, link_bytes_least;
  std::uint64_t operations = 0;  // equal operations in one sample; 0: not such a case
  // Of `link_bytes_least` a second, of `bytes` where nothing crosses a link; and of an operation's time.
  std::optional<PhysicalLimit> limit;
  bool in_turn = false;      // samples are steps of one run: one that was late shortens the next
  std::string verification;  // what was checked; empty: nothing was, and the row fails
  std::optional<Traffic> traffic;
  std::optional<double> around_s;        // what passed around a sample by another clock: the median
  std::optional<double> energy_j;        // a sample with what lies between samples, on the GPU's board
  std::optional<double> power_w;         // of that board, the mean while the operation went on and on
  std::optional<double> link_peak_gb_s;  // measured copy peak of the same path
  std::map<std::string, double> counters;
  std::vector<LaneResult> lanes;  // where several ran at once; `samples` is when any that is measured ran
  std::vector<Trial> trials;
  std::vector<LevelResult> levels;  // of the first trial
  std::vector<TimelineLane> timeline;
  std::optional<GraphFacts> graph;
  std::optional<FeatureFacts> features;  // of a table of one's own
  std::optional<LibraryFacts> library;
  // Of a ranking of rows: (share of the rows, the first; share of accesses that they take), ascending.
  std::vector<std::pair<double, double>> hit_curve;
  std::optional<double> overlap;  // median over samples: time all lanes ran over time any measured one ran
};

// Empty, or why this measurement cannot be true: nothing verified, or faster than its physical limit.
// The fastest tenth of the samples is compared with the limit, not the median alone; of steps of one run the
// mean.
[[nodiscard]] std::string why_impossible(const Measurement& measurement);

// Anything that can be sampled: a transfer, a latency, a gather, a training run. It holds its buffers; who
// samples it knows no more of it than this. Not thread-safe.
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
  // What a sample's kernels do, once more after prepare(), untimed and behind no gate, until it is done: for
  // whoever counts, as a profiler, which waits for each kernel before the next is submitted. Nothing where no
  // kernel of its own is at work.
  virtual void run_counted() {}
  // Seconds by another clock around the sample that the last run() timed; `run_s` are those around all of
  // run(). Nothing where it cannot tell.
  [[nodiscard]] virtual std::optional<double> around_s(double /*run_s*/) const { return std::nullopt; }
  // A sample that nobody takes, with what comes before it: for whoever looks at something other than its
  // time, before samples are taken. False where there is no more than each input's one.
  [[nodiscard]] virtual bool rehearse() {
    if (trials() > 0) {
      return false;
    }
    prepare();
    static_cast<void>(run());
    return true;
  }
  // Whether managed memory of the host is read by run_counted(): the driver counts what moves.
  [[nodiscard]] virtual bool reads_managed() const { return false; }
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
  std::function<std::optional<double>(double run_s)> around_s = [](double) { return std::nullopt; };
};
// As `around_s`, of a run() that does nothing that takes long but what it times.
inline std::optional<double> all_of_run(double run_s) {
  return run_s;
}

class LocalOperation final : public Operation {
 public:
  explicit LocalOperation(OperationParts parts) : parts_(std::move(parts)) {}
  void prepare() override { parts_.prepare(); }
  double run() override { return parts_.run(); }
  std::string verify() override { return parts_.verify(); }
  [[nodiscard]] Timing timing() const override { return parts_.timing; }
  [[nodiscard]] int trials() const override { return parts_.trials; }
  [[nodiscard]] bool on_callers_thread() const override { return parts_.on_callers_thread; }
  [[nodiscard]] std::optional<double> around_s(double run_s) const override { return parts_.around_s(run_s); }

 private:
  OperationParts parts_;
};

}  // namespace grainscope

#endif
