#include "mutate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>

namespace grainscope::test {
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

}  // namespace grainscope::test
