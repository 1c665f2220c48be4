#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SCREEN_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SCREEN_HPP

// What a stream can show, text that fits it, and the progress of a run.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark.hpp"

namespace grainscope::harness {

struct Screen {
  std::size_t width = 100;  // in letters
  bool terminal = false;    // a line on it can be written anew
  bool color = false;
  bool utf8 = false;
};

// Of standard output or standard error. The width is that of COLUMNS, else the terminal's, else 100, and 40
// at least. `color`: auto is where the stream is a terminal and NO_COLOR is not set.
[[nodiscard]] Screen screen_of(int stream, const std::string& color = "auto");

// How many letters it shows, of text in UTF-8 without escapes.
[[nodiscard]] std::size_t letters(std::string_view text);

// The text as the screen can show it: "3.79 µs ±0.5 %" where it shows UTF-8, else "3.79 us +-0.5 %". The
// suite's own text has "us" and "+-".
[[nodiscard]] std::string for_screen(std::string text, const Screen& screen);

// At most `width` letters: what is too long lacks its middle, since names differ at either end.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t width);

// Exactly `width` letters where it has no more, filled up behind or, `right`, before.
[[nodiscard]] std::string filled(const std::string& text, std::size_t width, bool right = false);

// A label and a text behind it, in lines that begin at `indent` and have at most `width` letters.
[[nodiscard]] std::string wrapped(const std::string& label, const std::string& text, std::size_t indent = 12,
                                  std::size_t width = 88);

// How long a run takes, and how far it is: the plan's estimates, the time left by them and by what visits
// have taken, and the line at the bottom of a terminal that tells it.

// What a visit to a case takes, and how many it gets: a model says the same at each.
[[nodiscard]] double visit_estimate_s(const Benchmark& benchmark, const Scope& scope);
[[nodiscard]] int visits_to(const Benchmark& benchmark, const Scope& scope);
// The same where it is the first of its process to need the memory that it shares, which is locked then.
[[nodiscard]] double visit_at_most_s(const Benchmark& benchmark, const Scope& scope);

// What all visits to some cases take. Memory that cases of a group share is locked once at each visit, as
// much as the largest of them needs.
class PlannedTime {
 public:
  explicit PlannedTime(const Scope& scope) : scope_(&scope) {}
  void add(const Benchmark& benchmark);
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double with(const Benchmark& benchmark) const;

 private:
  [[nodiscard]] double locked_s(const std::string& shared) const;

  const Scope* scope_;  // outlives it
  double seconds_ = 0;
  std::map<std::string, double> locked_s_;  // by what is shared
};
[[nodiscard]] double plan_estimate_s(const std::vector<Benchmark>& cases, const Scope& scope);

// The time that visits still take. A case that was visited takes as long again; one that was not takes what
// the plan says, times what the plan was wrong by in its family and in the run so far.
class TimeLeft {
 public:
  void expect(const std::string& name, const std::string& family, double visit_s, int visits);
  // A visit has ended. Visits that were not expected count for nothing.
  void finished(const std::string& name, double took_s);
  // No visit to it is to come.
  void drop(const std::string& name);
  [[nodiscard]] double seconds() const;
  [[nodiscard]] std::size_t visits() const { return visits_; }  // to come

 private:
  struct Visited {
    std::string family;
    double plan_s = 0;
    int left = 0;
    int done = 0;
    double took_s = 0;  // of those that are done
  };
  struct Family {
    double plan_done_s = 0;
    double took_s = 0;
    double plan_left_s = 0;   // of cases that were not visited
    double again_left_s = 0;  // of those that were
  };
  // What a case adds to the time left of its family, times `sign`.
  void count(const Visited& visited, double sign);

  std::map<std::string, Visited> cases_;
  std::map<std::string, Family> families_;
  std::size_t visits_ = 0;
  double planned_s_ = 0;  // of all that was expected
};

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] TimeLeft& time_left() { return time_left_; }
  // The visits to come are all that were expected.
  void begin();
  void start_case(const std::string& name);
  void finish_case(const std::string& name);
  // Wipes the line so that something else can be written; `draw` brings it back.
  void wipe() const;
  void draw() const;

 private:
  Screen screen_;
  TimeLeft time_left_;
  std::size_t all_ = 0;
  double begun_s_;
  double latest_s_;
  std::string name_;
};

// A word as a shell takes it: in quotes where it has other than letters, digits and a few signs.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace grainscope::harness

#endif
