#ifndef GRAINSCOPE_TRANSFER_MOVER_HPP
#define GRAINSCOPE_TRANSFER_MOVER_HPP

// Starts lanes at once and times each of them. One lane is the usual case; two are a duplex transfer; many
// are all the GPUs of a node against one memory.

#include <memory>
#include <string>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/transfer/lane.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

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
  // When each lane ran in the sample before.
  [[nodiscard]] const std::vector<Span>& spans() const;
  std::string verify() override;
  [[nodiscard]] Timing timing() const override;
  [[nodiscard]] bool on_callers_thread() const override;
  // Where there is one lane.
  void describe(Measurement& measurement) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A mover of a single transfer.
[[nodiscard]] std::unique_ptr<Mover> make_mover(const Transfer& transfer, const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
