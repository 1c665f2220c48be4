// Damages good graph files and feature tables and reads them: whatever comes, a reader answers with a graph
// that is in order, with a table whose every byte can be read, or with a UsageError, and in memory that the
// file's size explains. The same files every time, for as long as
// asked; one of them alone to look into it.
//
//   graph_fuzz            for GRAINSCOPE_FUZZ_S seconds, 5 where that is not set
//   graph_fuzz NUMBER     the file of that number only, which is kept

#include <omp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <new>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/graph/io.hpp"
#include "mutate.hpp"
#include "seeds.hpp"

namespace {

using namespace grainscope;
using test::Random;
using test::Specimen;

// Files of at most a megabyte may speak of a million vertices, which takes some tens of MiB to build.
constexpr std::uint64_t kMostGrowthKib = 512 * 1024;

// The most that this process ever mapped, touched or not.
std::uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmPeak:")) {
      return std::strtoull(line.c_str() + 7, nullptr, 10);
    }
  }
  return 0;
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

// Rows that are said to be there are there.
void read_table(const std::string& path) {
  const gnn::NpyFile table(path);
  std::uint64_t ends = 0;
  for (std::uint64_t row = 0; row < table.rows(); ++row) {
    ends += std::to_integer<unsigned>(table.row(row)[table.row_bytes() - 1]);
  }
  if (table.bytes() == 0 || table.bytes() > std::filesystem::file_size(path) || ends > 255 * table.bytes()) {
    throw std::runtime_error("a table of nothing, or of more than its file");
  }
}

// Throws where the reader does anything but its duty.
void read_once(const std::string& path, const graph::ReadOptions& options, Tally& tally) {
  try {
    if (path.ends_with(".npy")) {
      read_table(path);
    } else {
      const graph::Csr csr = graph::read_graph(path, options);
      graph::check_csr(csr);
    }
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
  const std::uint64_t before = peak_kib();
  try {
    read_once((folder / specimen.read_as).string(), options, tally);
  } catch (const std::exception& error) {
    throw std::runtime_error("file " + std::to_string(number) + " (" + specimen.read_as +
                             "): " + error.what());
  }
  if (peak_kib() - before > kMostGrowthKib) {
    throw std::runtime_error("file " + std::to_string(number) + " (" + specimen.read_as + ") took " +
                             std::to_string((peak_kib() - before) / 1024) + " MiB");
  }
}

int keep_one(std::uint64_t number) {
  const auto folder = std::filesystem::temp_directory_path() / "grainscope-fuzz";
  std::filesystem::create_directories(folder);
  std::cerr << "graph_fuzz: file " << number << " goes to " << folder.string() << '\n';
  Tally tally;
  fuzz_one(number, test::good_specimens(), folder, tally);
  return 0;
}

// `number` is told all along, so that it outlives this process.
int fuzz(const std::filesystem::path& folder, std::atomic<std::uint64_t>& number) {
  const std::vector<Specimen> good = test::good_specimens();
  const char* const asked = std::getenv("GRAINSCOPE_FUZZ_S");
  const double end_s = steady_now_s() + (asked != nullptr ? std::strtod(asked, nullptr) : 5.0);
  const std::uint64_t before = peak_kib();
  Tally tally;
  for (; steady_now_s() < end_s; ++number) {
    fuzz_one(number, good, folder, tally);
  }
  std::cout << number << " files: " << tally.read << " read, " << tally.refused << " refused, "
            << (peak_kib() - before) / 1024 << " MiB at most" << std::endl;
  // Neither alone would say that readers work.
  return tally.read > 0 && tally.refused > 0 ? 0 : 1;
}

int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::cerr << "graph_fuzz: " << error.what() << '\n';
    return 1;
  }
}

// In a process of its own: a reader that dies tells nobody over which file.
int fuzz_in_a_child() {
  void* const shared = mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    throw std::runtime_error("no memory to share");
  }
  auto& number = *new (shared) std::atomic<std::uint64_t>(0);
  const test::TemporaryDirectory folder;
  const pid_t child = fork();
  if (child == 0) {
    _exit(guarded([&] { return fuzz(folder.path(), number); }));
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (status != 0) {
    std::cerr << "graph_fuzz: it ended over file " << number << "; `graph_fuzz " << number << "` keeps it\n";
  }
  return status == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded(
      [&] { return argc > 1 ? keep_one(std::strtoull(argv[1], nullptr, 10)) : fuzz_in_a_child(); });
}
