// What is said where a flush evicts, and where it does not: tests/golden/flush_proof.txt. The linker puts
// this file's flush between the families and the library's (--wrap in CMakeLists.txt).

#include <regex>

#include "../harness/fakes.hpp"
#include "families.hpp"
#include "golden_text.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "harness/selection.hpp"

namespace {

enum class Flush { real, nothing, first_line };
Flush flush = Flush::real;
bool can = true;

}  // namespace

// Names of the linker's, as the Itanium ABI spells flush_cache(const void*, size_t, int) and can_flush().
extern "C" {
void __real__ZN10grainscope11flush_cacheEPKvmi(const void* data, std::size_t bytes, int threads);
void __wrap__ZN10grainscope11flush_cacheEPKvmi(const void* data, std::size_t bytes, int threads) {
  if (flush != Flush::nothing) {
    __real__ZN10grainscope11flush_cacheEPKvmi(
        data, flush == Flush::first_line ? std::min<std::size_t>(bytes, 1) : bytes, threads);
  }
}
bool __wrap__ZN10grainscope9can_flushEv() {
  return can;
}
}

namespace grainscope::harness {
namespace {

class FlushProof : public testing::Test {
 protected:
  // What one case says of itself; numbers that differ from run to run are N.
  void measure(const std::string& title, const Family& family, const std::string& name) {
    const Scope scope = make_scope(Preset::smoke, {}, false, {machine_.topology.usable_nodes().front()});
    const Filter filter(name);
    for (const Benchmark& benchmark : list_all({family}, machine_, scope)) {
      if (filter.keeps(benchmark.id.name())) {
        lines_.push_back(title + ", " + family.name + ": " + said_by(benchmark));
        return;
      }
    }
    ADD_FAILURE() << name << " is no case";
  }

  std::string said_by(const Benchmark& benchmark) {
    if (!benchmark.skip.empty()) {
      return "skipped, " + benchmark.skip;
    }
    LinkPeaks peaks(machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(machine_, {.budget_s = 0, .warmups = 1}, peaks, nullptr, [] { return false; });
    try {
      const Measurement measurement = benchmark.run(session);
      const auto ratio = measurement.counters.find("load_time_ratio");
      const bool proved = ratio != measurement.counters.end() && ratio->second >= 5;
      return "ok, " + measurement.verification + (proved ? "; load_time_ratio is at least 5" : "");
    } catch (const FailedError& error) {
      return "failed, " + std::regex_replace(error.what(), std::regex(R"([0-9]+\.[0-9]+)"), "N");
    }
  }

  Machine machine_ = test::machine_without_gpu();
  std::vector<std::string> lines_;
};

TEST_F(FlushProof, says_what_it_said) {
  const bool here = cache_line_bytes() > 0 && flush_instruction() != "none";
  if (!here) {
    GTEST_SKIP() << "this architecture cannot flush from user space";
  }
  const std::string cached = "cached.*bytes:65536$";
  measure("a flush of the whole buffer", host_flush(), cached);
  flush = Flush::nothing;
  measure("a flush that does nothing", host_flush(), cached);
  flush = Flush::first_line;
  measure("a flush of the first line alone", host_flush(), cached);
  flush = Flush::real;
  measure("a flush of the whole buffer", host_memcpy(), "flush:on.*threads:1/bytes:65536$");
  can = false;
  measure("a processor without the instruction", host_flush(), cached);
  measure("a processor without the instruction, flushed", host_memcpy(), "flush:on.*threads:1/bytes:65536$");
  measure("a processor without the instruction, cached", host_memcpy(), "flush:off.*threads:1/bytes:65536$");
  can = true;
  try {
    flush_cache(lines_.data(), 64, 0);
  } catch (const UsageError& error) {
    lines_.push_back(std::string("a flush by no threads: ") + error.what());
  }
  test::expect_golden("flush_proof.txt", lines_);
}

}  // namespace
}  // namespace grainscope::harness
