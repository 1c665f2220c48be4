#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_FILTER_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_FILTER_HPP

// Which names a filter finds, and which are near to one that is none.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace grainscope::harness {

// A filter as Google Benchmark understands it: a POSIX extended expression found anywhere in the name; a
// leading '-' keeps what does not match; empty and "all" keep everything.
class Filter {
 public:
  // Throws UsageError for an expression that does not compile.
  explicit Filter(const std::string& text);
  [[nodiscard]] bool keeps(const std::string& name) const;

 private:
  std::string expression_;
  bool inverted_ = false;
};

// What a name or a filter consists of, between slashes and what an expression cuts words with.
[[nodiscard]] std::set<std::string> parts_of(const std::string& name);

// The names nearest to `text`, best first: those that share most of its parts, then by spelling.
[[nodiscard]] std::vector<std::string> near_names(const std::string& text,
                                                  const std::vector<std::string>& names, std::size_t most);

}  // namespace grainscope::harness

#endif
