// Reading and parsing the kernel's small text files.

#include "grainscope/system/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

namespace grainscope::sysfs {

namespace {

// A kernel list names CPUs, nodes and the like; more than this many is a broken file, not a machine.
constexpr int kLargestListNumber = (1 << 20) - 1;
constexpr std::streamsize kLargestFile = 1 << 20;

template <class Integer>
std::optional<Integer> parse_whole(std::string_view text) {
  text = trim(text);
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

template <class Parse>
auto read_with(const std::filesystem::path& path, Parse parse) -> decltype(parse(std::string_view{})) {
  const auto text = read_text(path);
  return text ? parse(std::string_view(*text)) : std::nullopt;
}

// `node12` is {node, 12}; a name without digits at its end has -1.
std::pair<std::string_view, long> split_number(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  const auto number = parse_whole<long>(name.substr(digits));
  return {name.substr(0, digits), number.value_or(-1)};
}

}  // namespace

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  std::string text;
  char chunk[4096];
  while (static_cast<std::streamsize>(text.size()) < kLargestFile) {
    file.read(chunk, sizeof chunk);
    text.append(chunk, static_cast<std::size_t>(file.gcount()));
    if (!file) {
      break;
    }
  }
  // A read that failed (EIO, EINVAL: common in sysfs, and for a directory) is not an empty file.
  if (file.bad()) {
    return std::nullopt;
  }
  return std::string(trim(text));
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}
std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  return parse_whole<std::uint64_t>(text);
}

std::string boot_id() {
  return read_text("/proc/sys/kernel/random/boot_id").value_or("");
}

std::optional<std::int64_t> read_integer(const std::filesystem::path& path) {
  return read_with(path, parse_integer);
}

std::optional<std::uint64_t> read_unsigned(const std::filesystem::path& path) {
  return read_with(path, parse_unsigned);
}

std::optional<bool> read_switch(const std::filesystem::path& path) {
  return read_with(path, [](std::string_view text) -> std::optional<bool> {
    if (text == "1" || text == "Y" || text == "on") {
      return true;
    }
    if (text == "0" || text == "N" || text == "off") {
      return false;
    }
    return std::nullopt;
  });
}

std::optional<std::string> read_choice(const std::filesystem::path& path) {
  return read_with(path, [](std::string_view text) -> std::optional<std::string> {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos || close == open + 1) {
      return std::nullopt;
    }
    return std::string(text.substr(open + 1, close - open - 1));
  });
}

std::optional<std::vector<int>> parse_list(std::string_view text) {
  text = trim(text);
  std::vector<int> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t dash = range.find('-');
    const auto first = parse_whole<int>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_whole<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kLargestListNumber) {
      return std::nullopt;
    }
    for (int number = *first; number <= *last; ++number) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::optional<std::vector<int>> read_list(const std::filesystem::path& path) {
  return read_with(path, parse_list);
}

std::string format_list(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
      ++end;
    }
    text += text.empty() ? "" : ",";
    text += std::to_string(numbers[i]);
    if (end - i > 1) {
      text += '-';
      text += std::to_string(numbers[end - 1]);
    }
    i = end;
  }
  return text.empty() ? "none" : text;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  text = trim(text);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_whole<std::uint64_t>(text.substr(0, digits));
  const std::string_view unit = trim(text.substr(digits));
  int shift = 0;
  if (unit == "K" || unit == "kB" || unit == "KB" || unit == "k") {
    shift = 10;
  } else if (unit == "M" || unit == "MB") {
    shift = 20;
  } else if (unit == "G" || unit == "GB") {
    shift = 30;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (!number || *number > (UINT64_MAX >> shift)) {
    return std::nullopt;
  }
  return *number << shift;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (text = trim(text); !text.empty(); text = trim(text)) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\v\f"), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::optional<std::string> value_of(std::string_view text, std::string_view key) {
  for (const std::string& line : split_lines(text)) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trim(std::string_view(line).substr(0, colon)) == key) {
      return std::string(trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return std::nullopt;
}

std::vector<std::string> list_directory(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end(), [](const std::string& left, const std::string& right) {
    const auto a = split_number(left);
    const auto b = split_number(right);
    return a != b ? a < b : left < right;
  });
  return names;
}

std::optional<int> number_after(std::string_view name, std::string_view prefix) {
  if (name.size() <= prefix.size() || name.substr(0, prefix.size()) != prefix) {
    return std::nullopt;
  }
  const auto number = parse_whole<int>(name.substr(prefix.size()));
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace grainscope::sysfs

namespace grainscope {

namespace {

// Is this a virtual machine, what is it called, how much memory has it?

// Names that firmware of virtual machines gives itself. Cloud names alone do not tell: bare-metal instances
// carry them too.
constexpr std::string_view kVirtualProducts[] = {"KVM",
                                                 "QEMU",
                                                 "VMware",
                                                 "VirtualBox",
                                                 "Bochs",
                                                 "OpenStack",
                                                 "Virtual Machine",
                                                 "HVM domU",
                                                 "Firecracker",
                                                 "Google Compute Engine"};

}  // namespace

std::optional<std::string> product_name(const Roots& roots) {
  const auto dmi = roots.filesystem / "sys/class/dmi/id";
  std::string name;
  for (const char* file : {"sys_vendor", "product_name"}) {
    const auto part = sysfs::read_text(dmi / file);
    if (part && !part->empty()) {
      name += (name.empty() ? "" : " ") + *part;
    }
  }
  if (name.empty()) {
    // AArch64 and POWER boards name themselves in the device tree, ended by a NUL.
    name = sysfs::read_text(roots.filesystem / "proc/device-tree/model").value_or("");
    name.erase(std::remove(name.begin(), name.end(), '\0'), name.end());
  }
  return name.empty() ? std::nullopt : std::optional<std::string>(name);
}

std::optional<bool> is_virtual_machine(const Roots& roots) {
  const auto cpuinfo = sysfs::read_text(roots.filesystem / "proc/cpuinfo");
  if (cpuinfo) {
    if (const auto flags = sysfs::value_of(*cpuinfo, "flags")) {
      // x86: the hypervisor shows itself in CPUID, and only a hypervisor sets the bit.
      const auto words = sysfs::split_words(*flags);
      return std::find(words.begin(), words.end(), "hypervisor") != words.end();
    }
  }
  std::error_code error;
  if (std::filesystem::exists(roots.filesystem / "proc/device-tree/hypervisor", error)) {
    return true;
  }
  const auto product = product_name(roots);
  if (!product) {
    return std::nullopt;
  }
  return std::any_of(std::begin(kVirtualProducts), std::end(kVirtualProducts),
                     [&](std::string_view name) { return product->find(name) != std::string::npos; });
}

std::optional<std::uint64_t> meminfo_bytes(const Roots& roots, const std::string& key) {
  const auto text = sysfs::read_text(roots.filesystem / "proc/meminfo");
  const auto value = text ? sysfs::value_of(*text, key) : std::nullopt;
  return value ? sysfs::parse_size(*value) : std::nullopt;
}

std::optional<std::uint64_t> total_memory_bytes(const Roots& roots) {
  return meminfo_bytes(roots, "MemTotal");
}

}  // namespace grainscope
