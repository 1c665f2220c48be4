#include "grainscope/core/spelling.hpp"

#include <algorithm>
#include <numeric>

namespace grainscope {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

namespace {

// The word of `known`, which is not empty, that takes the fewest changes.
const std::string& closest(std::string_view word, const std::vector<std::string>& known) {
  return *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
}

}  // namespace

std::string not_among(std::string_view word, std::string_view what, const std::vector<std::string>& known) {
  std::string text = "'" + std::string(word) + "' is not " + std::string(what) + "; the nearest is " +
                     closest(word, known) + "; there are ";
  for (const std::string& name : known) {
    text += (&name == &known.front() ? "" : ", ") + name;
  }
  return text;
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  if (known.empty()) {
    return {};
  }
  const std::string& best = closest(word, known);
  // Of few letters two are half of them.
  const std::size_t most = word.size() < 4 ? 1 : std::max<std::size_t>(2, best.size() / 3);
  return edit_distance(word, best) <= most ? best : std::string();
}

}  // namespace grainscope
