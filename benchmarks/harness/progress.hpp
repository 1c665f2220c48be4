#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_PROGRESS_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_PROGRESS_HPP

// One line on stderr that says how far a run is and how long it will still take, on a terminal only.

#include <cstddef>
#include <string>

namespace grainscope::harness {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // How many visits are still to come.
  void expect(std::size_t visits);
  void start_case(const std::string& name);
  void finish_case();
  // Wipes the line so that something else can be written; `draw` brings it back.
  void wipe() const;
  void draw() const;

 private:
  bool terminal_;
  std::size_t cases_ = 1;
  std::size_t done_ = 0;
  double start_s_;
  std::string name_;
};

}  // namespace grainscope::harness

#endif
