#ifndef GRAINSCOPE_SYSTEM_SYSFS_HPP
#define GRAINSCOPE_SYSTEM_SYSFS_HPP

// Where the machine is read from, and how: the kernel's small text files.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grainscope {

struct Roots {
  // What stands for `/` when /proc and /sys are read.
  std::filesystem::path filesystem = "/";
  // Path of an hwloc XML export (`lstopo --of xml`). Empty: the topology is read below `filesystem`.
  std::string hwloc_xml;

  // Whether `/proc` and `/sys` are those of the machine that runs this program.
  [[nodiscard]] bool is_this_machine() const { return filesystem == "/" && hwloc_xml.empty(); }
};

}  // namespace grainscope

namespace grainscope::sysfs {

// How the kernel's small text files are read. A file that is missing, unreadable or malformed is
// std::nullopt: nothing here throws, and nothing here guesses a number.

// The file's text without surrounding white space; at most 1 MiB of it. An empty file is an empty string.
[[nodiscard]] std::optional<std::string> read_text(const std::filesystem::path& path);

// The whole file as one decimal number; nullopt when anything else stands in it or it does not fit.
[[nodiscard]] std::optional<std::int64_t> read_integer(const std::filesystem::path& path);
[[nodiscard]] std::optional<std::uint64_t> read_unsigned(const std::filesystem::path& path);

// `0`/`1`, `N`/`Y`, `off`/`on`; nullopt for anything else.
[[nodiscard]] std::optional<bool> read_switch(const std::filesystem::path& path);

// The word in brackets of a choice such as `always [madvise] never`.
[[nodiscard]] std::optional<std::string> read_choice(const std::filesystem::path& path);

// A kernel list such as `0-3,8,10-11`, sorted. An empty text is an empty list; a malformed one, or a
// number above 1,048,575, is nullopt.
[[nodiscard]] std::optional<std::vector<int>> parse_list(std::string_view text);
[[nodiscard]] std::optional<std::vector<int>> read_list(const std::filesystem::path& path);

// What tells this start of the machine from others; empty where the kernel does not tell.
[[nodiscard]] std::string boot_id();

// The inverse of parse_list: `0-3,8`. `none` for an empty list.
[[nodiscard]] std::string format_list(const std::vector<int>& numbers);

[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text);

// A size such as `32K`, `2048 kB` or `1G`, in bytes (binary multiples).
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string> split_lines(std::string_view text);
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

// The value after `key` and a colon in a text of `key : value` lines (cpuinfo, meminfo, status): the first.
[[nodiscard]] std::optional<std::string> value_of(std::string_view text, std::string_view key);

// The names in a directory, sorted as numbers where they end in one (`node2` before `node10`); empty when
// it cannot be read.
[[nodiscard]] std::vector<std::string> list_directory(const std::filesystem::path& path);

// The number that follows `prefix` when `name` is exactly that (`node12` after `node` is 12).
[[nodiscard]] std::optional<int> number_after(std::string_view name, std::string_view prefix);

}  // namespace grainscope::sysfs

namespace grainscope {

// Small facts about the platform that several readers need.

// Whether the kernel runs under a hypervisor; absent where nothing tells.
[[nodiscard]] std::optional<bool> is_virtual_machine(const Roots& roots);

// What the firmware calls the machine (`Standard PC (Q35 + ICH9, 2009)`), never a serial number.
[[nodiscard]] std::optional<std::string> product_name(const Roots& roots);

// MemTotal, in bytes.
[[nodiscard]] std::optional<std::uint64_t> total_memory_bytes(const Roots& roots);

// A `… kB` line of /proc/meminfo, in bytes.
[[nodiscard]] std::optional<std::uint64_t> meminfo_bytes(const Roots& roots, const std::string& key);

}  // namespace grainscope

#endif
