// Damages good graph files and reads them: whatever comes, a reader answers with a graph that is in order or
// with a UsageError, and in memory that the file's size explains. The same files every time, for as long as
// asked; one of them alone to look into it.
//
//   graph_fuzz            for GRAINSCOPE_FUZZ_S seconds, 5 where that is not set
//   graph_fuzz NUMBER     the file of that number only, which is kept

#include <omp.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/graph/io.hpp"
#include "mutate.hpp"
#include "seeds.hpp"

namespace {

using namespace grainscope;
using test::Random;
using test::Specimen;

constexpr long kMostGrowthKib = 256 * 1024;
constexpr rlim_t kMostAddresses = rlim_t{4} << 30;

// What is asked for and never touched counts too, except under a sanitizer, which reserves terabytes itself.
void limit_addresses() {
#ifndef __SANITIZE_ADDRESS__
  const rlimit limit{kMostAddresses, kMostAddresses};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

long resident_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

Specimen damaged(const std::vector<Specimen>& good, Random& random) {
  Specimen specimen = good[random() % good.size()];
  const Specimen& other = good[random() % good.size()];
  const auto changes = random() % 6;
  for (std::uint64_t i = 0; i < changes; ++i) {
    auto& content = specimen.files[random() % specimen.files.size()].second;
    test::mutate(content, specimen.text, other.files.front().second, random);
  }
  return specimen;
}

struct Tally {
  std::uint64_t read = 0;
  std::uint64_t refused = 0;
};

// Throws where the reader does anything but its duty.
void read_once(const std::string& path, const graph::ReadOptions& options, Tally& tally) {
  try {
    const graph::Csr csr = graph::read_graph(path, options);
    graph::check_csr(csr);
    ++tally.read;
  } catch (const UsageError&) {
    ++tally.refused;
  }
}

void fuzz_one(std::uint64_t number, const std::vector<Specimen>& good, const std::filesystem::path& folder,
              Tally& tally) {
  omp_set_num_threads(number % 16 == 0 ? 2 : 1);  // small files need one; where several matter, some get them
  Random random(number);
  const Specimen specimen = damaged(good, random);
  for (const auto& [name, content] : specimen.files) {
    test::write_text(folder / name, content);
  }
  const graph::ReadOptions options{.directed = random() % 2 == 0, .weights = random() % 2 == 0};
  const long before = resident_kib();
  try {
    read_once((folder / specimen.read_as).string(), options, tally);
  } catch (const std::exception& error) {
    throw std::runtime_error("file " + std::to_string(number) + " (" + specimen.read_as +
                             "): " + error.what());
  }
  if (resident_kib() - before > kMostGrowthKib) {
    throw std::runtime_error("file " + std::to_string(number) + " (" + specimen.read_as + ") took " +
                             std::to_string((resident_kib() - before) / 1024) + " MiB");
  }
}

int run(int argc, char** argv) {
  const std::vector<Specimen> good = test::good_specimens();
  Tally tally;
  if (argc > 1) {
    const auto folder = std::filesystem::temp_directory_path() / "grainscope-fuzz";
    std::filesystem::create_directories(folder);
    std::cerr << "graph_fuzz: writing file " << argv[1] << " to " << folder.string() << '\n';
    fuzz_one(std::strtoull(argv[1], nullptr, 10), good, folder, tally);
    return 0;
  }
  const char* const asked = std::getenv("GRAINSCOPE_FUZZ_S");
  const double end_s = steady_now_s() + (asked != nullptr ? std::strtod(asked, nullptr) : 5.0);
  const test::TemporaryDirectory folder;
  std::uint64_t number = 0;
  for (; steady_now_s() < end_s; ++number) {
    fuzz_one(number, good, folder.path(), tally);
  }
  std::cout << number << " files: " << tally.read << " read, " << tally.refused << " refused, "
            << resident_kib() / 1024 << " MiB at most\n";
  // Neither alone would say that readers work.
  return tally.read > 0 && tally.refused > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    limit_addresses();
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "graph_fuzz: " << error.what() << "\n`graph_fuzz NUMBER` keeps that file\n";
    return 1;
  }
}
