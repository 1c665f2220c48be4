// Asking the kernel where pages are: move_pages, smaps, pagemap.

#include "grainscope/system/placement.hpp"

#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/sysfs.hpp"
#include "memory_policy.hpp"

namespace grainscope {

namespace {

// The base pages of a range, and which of them are looked at.
class PageSamples {
 public:
  PageSamples(const void* data, std::size_t bytes, std::size_t max_samples) : page_(base_page_bytes()) {
    const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % page_;
    first_ = static_cast<const char*>(data) - before;
    pages_ = bytes == 0 ? 0 : (before + bytes + page_ - 1) / page_;
    samples_ = max_samples == 0 ? pages_ : std::min(pages_, max_samples);
  }
  [[nodiscard]] std::size_t pages() const { return pages_; }
  [[nodiscard]] std::size_t size() const { return samples_; }
  [[nodiscard]] bool sampled() const { return samples_ < pages_; }
  // Where a sample's page begins. The first and the last page are always among the samples.
  [[nodiscard]] void* address(std::size_t sample) const {
    const std::size_t page = samples_ < 2 ? 0 : sample * (pages_ - 1) / (samples_ - 1);
    return const_cast<char*>(first_) + page * page_;
  }
  // The page's number in the address space.
  [[nodiscard]] std::uintptr_t number(std::size_t sample) const {
    return reinterpret_cast<std::uintptr_t>(address(sample)) / page_;
  }

 private:
  std::size_t page_;
  const char* first_ = nullptr;
  std::size_t pages_ = 0;
  std::size_t samples_ = 0;
};

class FileDescriptor {
 public:
  explicit FileDescriptor(const char* path) : value_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~FileDescriptor() {
    if (value_ >= 0) {
      close(value_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
};

// The header of a mapping in smaps, `7f…-7f… rw-p …`; nullopt for its other lines.
std::optional<Mapping> parse_mapping(const std::string& line) {
  Mapping mapping;
  const char* const last = line.data() + line.size();
  const auto begin = std::from_chars(line.data(), last, mapping.begin, 16);
  if (begin.ec != std::errc{} || begin.ptr == last || *begin.ptr != '-') {
    return std::nullopt;
  }
  const auto end = std::from_chars(begin.ptr + 1, last, mapping.end, 16);
  return end.ec == std::errc{} && end.ptr != last && *end.ptr == ' ' ? std::optional<Mapping>(mapping)
                                                                     : std::nullopt;
}

}  // namespace

Placement placement(const void* data, std::size_t bytes, std::size_t max_samples) {
  constexpr std::size_t kBatch = 16384;
  const PageSamples samples(data, bytes, max_samples);
  Placement found;
  found.pages = samples.pages();
  found.sampled = samples.sampled();
  for (std::size_t done = 0; done < samples.size(); done += kBatch) {
    const std::size_t count = std::min(kBatch, samples.size() - done);
    std::vector<void*> addresses(count);
    std::vector<int> status(count, -ENODATA);
    for (std::size_t i = 0; i < count; ++i) {
      addresses[i] = samples.address(done + i);
    }
    // With no list of nodes to move to, the call moves nothing and tells where each page is.
    if (numa_available() < 0 || move_pages(0, count, addresses.data(), nullptr, status.data(), 0) < 0) {
      Placement unknown;
      unknown.pages = samples.pages();
      unknown.why_unknown =
          "the kernel does not tell where pages are (move_pages: " + errno_text(errno) + ")";
      return unknown;
    }
    for (const int node : status) {
      if (node >= 0) {
        ++found.pages_on_node[node];
      } else {
        ++(node == -ENOENT ? found.absent : found.unreadable);
      }
    }
    found.looked_at += count;
  }
  return found;
}

std::string Placement::text() const {
  if (!known()) {
    return "unknown: " + why_unknown;
  }
  std::string line = std::to_string(looked_at) + (sampled ? " of " + std::to_string(pages) : "") + " pages: ";
  std::string parts;
  const auto add = [&](std::uint64_t count, const std::string& where) {
    if (count > 0) {
      parts += (parts.empty() ? "" : ", ") + std::to_string(count) + " " + where;
    }
  };
  for (const auto& [node, count] : pages_on_node) {
    add(count, "on node " + std::to_string(node));
  }
  add(absent, "not present");
  add(unreadable, "not told");
  return line + (parts.empty() ? "none looked at" : parts);
}

PlacementCheck verify_placement(const void* data, std::size_t bytes, int node, std::size_t max_samples) {
  const Placement found = placement(data, bytes, max_samples);
  if (!found.known()) {
    return PlacementCheck::unknown;
  }
  const auto there = found.pages_on_node.find(node);
  if (found.looked_at == 0 || (there != found.pages_on_node.end() && there->second == found.looked_at)) {
    return PlacementCheck::verified;
  }
  throw FailedError(
      "placing " + std::to_string(bytes) + " bytes on NUMA node " + std::to_string(node) +
      ": they are elsewhere (" + found.text() +
      "); check the node's free memory with `numactl --hardware`, and that every page was touched");
}

std::optional<std::uint64_t> huge_backing(const void* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t end = begin + bytes;
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  std::uint64_t huge = 0, covered = 0, overlap = 0;
  Mapping mapping;
  while (std::getline(smaps, line)) {
    if (const auto next = parse_mapping(line)) {
      mapping = *next;
      const std::uintptr_t low = std::max(begin, mapping.begin), high = std::min(end, mapping.end);
      overlap = low < high ? high - low : 0;
      covered += overlap;
    } else if (overlap > 0 && line.rfind("AnonHugePages:", 0) == 0) {
      const auto in_mapping = sysfs::parse_size(line.substr(14));
      const std::uint64_t size = mapping.end - mapping.begin;
      if (!in_mapping || (overlap<size&& * in_mapping> 0 && *in_mapping < size)) {
        return std::nullopt;  // which part of the mapping is huge is not told
      }
      huge += overlap == size ? *in_mapping : (*in_mapping > 0 ? overlap : 0);
      overlap = 0;
    }
  }
  return covered == bytes ? std::optional<std::uint64_t>(huge) : std::nullopt;
}

std::optional<bool> is_transparent_huge(const void* data, std::size_t bytes, double fraction) {
  const auto huge = huge_backing(data, bytes);
  if (!huge) {
    return std::nullopt;
  }
  return static_cast<double>(*huge) >= fraction * static_cast<double>(bytes);
}

std::optional<PagePresence> pages_present(const void* data, std::size_t bytes, std::size_t max_samples) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  const PageSamples samples(data, bytes, max_samples);
  const FileDescriptor pagemap("/proc/self/pagemap");
  std::vector<std::uint64_t> entries(4096);
  PagePresence found;
  found.sampled = samples.sampled();
  for (std::size_t done = 0; done < samples.size();) {
    // Neighbours are read together; samples far apart one by one.
    const std::size_t count = samples.sampled() ? 1 : std::min(entries.size(), samples.size() - done);
    const std::size_t wanted = count * sizeof(std::uint64_t);
    const auto offset = static_cast<off_t>(samples.number(done) * sizeof(std::uint64_t));
    if (pread(pagemap.value(), entries.data(), wanted, offset) != static_cast<ssize_t>(wanted)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < count; ++i) {
      ++((entries[i] & kPresent) != 0 ? found.present : found.absent);
    }
    done += count;
  }
  return found;
}

std::optional<double> contiguous_share(const void* data, std::size_t bytes, std::size_t max_blocks) {
  constexpr std::uint64_t kBlock = 2 << 20;
  constexpr std::uint64_t kFrame = (std::uint64_t{1} << 55) - 1;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uint64_t page = base_page_bytes();
  const std::uint64_t first = (begin + kBlock - 1) / kBlock;
  const std::uint64_t end = (begin + bytes) / kBlock;
  if (first >= end || page > kBlock || max_blocks == 0) {
    return std::nullopt;
  }
  const FileDescriptor pagemap("/proc/self/pagemap");
  std::vector<std::uint64_t> entries(kBlock / page);
  const std::uint64_t count = std::min<std::uint64_t>(end - first, max_blocks);
  std::uint64_t contiguous = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t block = first + (count < 2 ? 0 : i * (end - first - 1) / (count - 1));
    const std::uint64_t wanted = entries.size() * sizeof(std::uint64_t);
    const auto offset = static_cast<off_t>(block * entries.size() * sizeof(std::uint64_t));
    if (pread(pagemap.value(), entries.data(), wanted, offset) != static_cast<ssize_t>(wanted) ||
        (entries.front() & kFrame) == 0) {
      return std::nullopt;
    }
    bool whole = (entries.front() & kFrame) % entries.size() == 0;
    for (std::size_t k = 0; k < entries.size(); ++k) {
      whole &= (entries[k] & kFrame) == (entries.front() & kFrame) + k;
    }
    contiguous += whole ? 1 : 0;
  }
  return static_cast<double>(contiguous) / static_cast<double>(count);
}

std::uint64_t bring_pages(const std::function<std::uint64_t()>& bring) {
  constexpr int kAttempts = 3;
  std::uint64_t elsewhere = bring();
  for (int attempt = 1; attempt < kAttempts && elsewhere > 0; ++attempt) {
    elsewhere = bring();
  }
  return elsewhere;
}

}  // namespace grainscope
