#include <omp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/graph/io.hpp"
#include "npy_files.hpp"

namespace grainscope::test {

using Random = std::mt19937_64;

// One small change: bytes flipped, cut out, doubled or put in, a number replaced by one at the edge of what
// fits, lines or halves swapped. `other` is where foreign bytes are taken from.
void mutate(std::string& content, bool text, const std::string& other, Random& random);

// A graph as it lies on a disk, one file or EMOGI's three; or a feature table.
struct Specimen {
  std::string read_as;                                     // what the reader is given
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  bool text = false;
};

// Good files of every format, small, and one text that is long enough to be cut.
[[nodiscard]] std::vector<Specimen> good_specimens();

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

constexpr std::array<const char*, 22> kWords{"-1",
                                             "0",
                                             "1",
                                             "4294967294",
                                             "4294967295",
                                             "4294967296",
                                             "2147483648",
                                             "1048575",
                                             "1048576",
                                             "18446744073709551615",
                                             "18446744073709551616",
                                             "9223372036854775808",
                                             "1e9",
                                             "0.5",
                                             "nan",
                                             "-0",
                                             "00000000000000000001",
                                             "%",
                                             "#",
                                             "\r\n",
                                             "\n\n",
                                             "\t \r"};

constexpr std::array<std::uint64_t, 14> kNumbers{0,
                                                 1,
                                                 2,
                                                 255,
                                                 0x7fffffff,
                                                 0x80000000,
                                                 0xffffffff,
                                                 0x100000000,
                                                 0x1fffffffffffffff,
                                                 0x2000000000000000,
                                                 0x7fffffffffffffff,
                                                 0x8000000000000000,
                                                 0xfffffffffffffffe,
                                                 0xffffffffffffffff};

std::size_t below(std::size_t bound, Random& random) {
  return bound == 0 ? 0 : random() % bound;
}

// A range of some bytes, mostly short.
struct Range {
  std::size_t at;
  std::size_t length;
};
Range range_of(const std::string& content, Random& random) {
  const std::size_t at = below(content.size() + 1, random);
  const std::size_t most = random() % 4 == 0 ? content.size() : 16;
  return {at, below(std::min(most, content.size() - at) + 1, random)};
}

void replace_word(std::string& content, Random& random) {
  std::size_t begin = below(content.size(), random);
  while (begin < content.size() && std::isspace(static_cast<unsigned char>(content[begin])) != 0) {
    ++begin;
  }
  std::size_t end = begin;
  while (end < content.size() && std::isspace(static_cast<unsigned char>(content[end])) == 0) {
    ++end;
  }
  content.replace(begin, end - begin, kWords[below(kWords.size(), random)]);
}

void replace_number(std::string& content, Random& random) {
  std::uint64_t number = kNumbers[below(kNumbers.size(), random)];
  const std::size_t bytes = random() % 2 == 0 ? 4 : 8;
  if (content.size() < bytes) {
    return;
  }
  // Arrays begin at byte 16 or 17, so most of what can be hit lies at multiples of 4, or one behind.
  std::size_t at = below(content.size() - bytes + 1, random);
  at = random() % 4 == 0 ? at : at / 4 * 4 + random() % 2;
  at = std::min(at, content.size() - bytes);
  if (random() % 2 == 0) {
    std::uint64_t old = 0;
    std::memcpy(&old, content.data() + at, bytes);
    number = old + random() % 5 - 2;
  }
  std::memcpy(content.data() + at, &number, bytes);
}

}  // namespace

void mutate(std::string& content, bool text, const std::string& other, Random& random) {
  const auto [at, length] = range_of(content, random);
  switch (random() % 8) {
    case 0:
      if (!content.empty()) {
        content[below(content.size(), random)] ^= static_cast<char>(1U << random() % 8);
      }
      break;
    case 1:
      content.erase(at, length);
      break;
    case 2:
      content.insert(below(content.size() + 1, random), content.substr(at, length));
      break;
    case 3:
      content.resize(random() % 2 == 0 ? at : content.size() - std::min<std::size_t>(content.size(), length));
      break;
    case 4: {
      const auto [from, count] = range_of(other, random);
      content.insert(at, other.substr(from, count));
      break;
    }
    case 5:
      content.insert(at,
                     std::string(random() % 64 == 0 ? 100000 : random() % 64, "0 \n\r\x80"[random() % 5]));
      break;
    default:
      text ? replace_word(content, random) : replace_number(content, random);
  }
  content.resize(std::min(content.size(), kMostBytes));
}

namespace {

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A ring of eight with two chords, so that degrees differ.
struct Ring {
  std::vector<std::int64_t> offsets{0, 3, 6, 8, 10, 13, 16, 18, 20};
  std::vector<std::int32_t> targets{1, 4, 7, 0, 2, 5, 1, 3, 2, 4, 0, 3, 5, 1, 4, 6, 5, 7, 0, 6};
};

std::string serialised(bool directed, bool weights) {
  const Ring ring;
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(directed ? 1 : 0));
  put(bytes, static_cast<std::int64_t>(ring.targets.size()));
  put(bytes, static_cast<std::int64_t>(ring.offsets.size() - 1));
  for (int way = 0; way < (directed ? 2 : 1); ++way) {
    for (const std::int64_t offset : ring.offsets) {
      put(bytes, offset);
    }
    for (const std::int32_t target : ring.targets) {
      put(bytes, target);
      if (weights) {
        put(bytes, std::int32_t{7});
      }
    }
  }
  return bytes;
}

Specimen bel() {
  const Ring ring;
  std::string col;
  std::string dst;
  std::string val;
  const auto header = [](std::string& bytes, std::size_t count) {
    put(bytes, std::uint64_t{count});
    put(bytes, std::uint64_t{0});
  };
  header(col, ring.offsets.size());
  header(dst, ring.targets.size());
  header(val, ring.targets.size());
  for (const std::int64_t offset : ring.offsets) {
    put(col, offset);
  }
  for (const std::int32_t target : ring.targets) {
    put(dst, static_cast<std::uint64_t>(target));
    put(val, static_cast<std::uint32_t>(target + 3));
  }
  return {"g.bel", {{"g.bel.col", col}, {"g.bel.dst", dst}, {"g.bel.val", val}}, false};
}

std::string metis(bool weights, const char* header) {
  const Ring ring;
  std::string text = header;
  for (std::size_t v = 0; v + 1 < ring.offsets.size(); ++v) {
    for (auto i = ring.offsets[v]; i < ring.offsets[v + 1]; ++i) {
      text += std::to_string(ring.targets[static_cast<std::size_t>(i)] + 1) + (weights ? " 5 " : " ");
    }
    text += "\n";
  }
  return text;
}

std::string long_list() {
  std::string text;
  for (int i = 0; i < 30000; ++i) {
    text += std::to_string(i % 997) + " " + std::to_string(i % 1009) + "\n";
  }
  return text;
}

Specimen text(const char* name, std::string content) {
  return {name, {{name, std::move(content)}}, true};
}

}  // namespace

std::vector<Specimen> good_specimens() {
  const char* const el = "0 1\n1 2\n2 3\n3 0\n0 5\n7 7\n5 6\n";
  const char* const wel = "# c\n0 1 8\n1 2 72\r\n2 3 1\n3 0 255\n\n0 5 0\n";
  const char* const snap = "# Nodes: 4 Edges: 3\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n3\t0\n";
  const char* const pattern =
      "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n5 5 4\n2 1\n3 1\n5 4\n4 2\n";
  const char* const real =
      "%%MatrixMarket matrix coordinate real general\r\n5 5 3\r\n2 1 1.0\r\n3 1 2e1\r\n5 4 7\r\n";
  const char* const integer = "%%MatrixMarket matrix coordinate integer general\n4 4 2\n1 2 -3\n3 4 9\n";
  return {
      text("g.el", el),
      text("g.wel", wel),
      text("g.txt", snap),
      text("g.snap", wel),
      text("g.mtx", pattern),
      text("g.mtx", real),
      text("g.mtx", integer),
      text("g.graph", metis(false, "% c\n8 10\n")),
      text("g.graph", metis(true, "8 10 001\n")),
      text("g.graph", "4 3 011 2\n1 1 2 9 3 9\n2 2 1 9 4 9\n3 3 1 9\n4 4 2 9\n"),
      {"g.sg", {{"g.sg", serialised(false, false)}}, false},
      {"g.sg", {{"g.sg", serialised(true, false)}}, false},
      {"g.wsg", {{"g.wsg", serialised(false, true)}}, false},
      {"g.wsg", {{"g.wsg", serialised(true, true)}}, false},
      bel(),
      text("g.el", long_list()),
      {"t.npy", {{"t.npy", npy_table(9, 5)}}, false},
      {"t.npy", {{"t.npy", npy_table(9, 5, 2)}}, false},
      // The header as a text: its words are replaced by others.
      {"t.npy", {{"t.npy", npy_table(9, 5)}}, true},
      {"t.npy", {{"t.npy", npy_header(npy_dictionary("<f4", "(1, 4)"), '\3') + std::string(16, '\0')}}, true},
  };
}

}  // namespace grainscope::test

// Damages good graph files and feature tables and reads them: whatever comes, a reader answers with a graph
// that is in order, with a table whose every byte can be read, or with a UsageError, and in memory that the
// file's size explains. The same files every time, for as long as
// asked; one of them alone to look into it.
//
//   graph_fuzz            for GRAINSCOPE_FUZZ_S seconds, 5 where that is not set
//   graph_fuzz NUMBER     the file of that number only, which is kept

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
