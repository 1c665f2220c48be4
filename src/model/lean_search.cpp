// A direction-optimising search over lean lists, taken on the CPU, and what its levels turn by.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/model/lean.hpp"
#include "lean_lists.hpp"

namespace grainscope::model {
namespace {

using graph::Csr;
using graph::Vertex;
using lean::Step;

constexpr std::uint64_t kWordBits = lean::kWarpLanes;
constexpr std::uint64_t kManyWords = 1024;  // that a team of threads is worth

class Search {
 public:
  Search(const TieredLists& out, const TieredLists& in, lean::ReadCounts* reads)
      : out_(out),
        in_(in),
        reads_(reads),
        words_((out.lists->vertices() + kWordBits - 1) / kWordBits),
        seen_(words_),
        front_(words_),
        next_(words_) {}

  BfsPrediction run(Vertex source, const lean::Turning& turning) {
    const Csr& graph = *out_.lists;
    BfsPrediction result;
    result.depths.assign(graph.vertices(), graph::kUnreached);
    result.depths[source] = 0;
    seen_[source / kWordBits] = front_[source / kWordBits] = 1U << source % kWordBits;
    LevelPrediction level;
    level.active = 1;
    level.edges = graph.degree(source);
    auto ahead = lean::LevelAhead::of_source(level.edges, in_.lists->degree(source) > 0,
                                             lean::vertices_listed(*in_.lists), graph.edges());
    for (std::uint32_t depth = 1; level.active > 0; ++depth) {
      read_words(level, [&](std::uint64_t word, Requests& link, std::uint64_t& hot_reads) {
        if (level.pull) {
          next_[word] = pull_word(word, link, hot_reads);
        } else {
          push_word(word, link, hot_reads);
        }
      });
      result.levels.push_back(level);
      level = settle(depth, result.depths);
      ahead.advance(level.active, level.edges);
      level.pull = turning.pulls(ahead);
    }
    return result;
  }

 private:
  // The first of a word's vertices that have their bit.
  static Vertex vertex_of(std::uint64_t word, std::uint32_t bits) {
    return static_cast<Vertex>(word * kWordBits + static_cast<unsigned>(std::countr_zero(bits)));
  }

  static bool has(const std::vector<std::uint32_t>& bits, Vertex v) {
    return (bits[v / kWordBits] >> v % kWordBits & 1) != 0;
  }

  // Every word's reads by `read(word, link, hot_reads)`, into the level. All threads.
  template <class Read>
  void read_words(LevelPrediction& level, const Read& read) {
    Requests all;
    std::uint64_t hot_reads = 0;
#pragma omp parallel reduction(+ : hot_reads) if (words_ >= kManyWords)
    {
      Requests mine;
#pragma omp for schedule(dynamic, 64)
      for (std::uint64_t word = 0; word < words_; ++word) {
        read(word, mine, hot_reads);
      }
#pragma omp critical
      all += mine;
    }
    level.link = all;
    level.hot_reads = hot_reads;
  }

  void push_word(std::uint64_t word, Requests& link, std::uint64_t& hot_reads) {
    for (std::uint32_t bits = front_[word]; bits != 0; bits &= bits - 1) {
      const Vertex v = vertex_of(word, bits);
      const List list = list_of(out_, v);
      hot_reads += list.hot;
      add_list(list, link);
      for (const Vertex neighbour : out_.lists->neighbours(v)) {
        mark(neighbour);
      }
    }
  }

  void mark(Vertex v) {
    const std::uint32_t bit = 1U << v % kWordBits;
    if (!has(seen_, v)) {
      std::atomic_ref<std::uint32_t>(next_[v / kWordBits]).fetch_or(bit, std::memory_order_relaxed);
    }
  }

  // Loads of up to four teams of eight lanes at a time.
  class Turns {
   public:
    explicit Turns(Requests& link) : link_(link) {}
    ~Turns() { end(); }
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;
    // The next vertex's team, with words that it loads or none.
    void add(const Step& words) {
      if (words.from < words.to) {
        together_[loading_++] = words;
      }
      if (++teams_ == together_.size()) {
        end();
      }
    }

   private:
    void end() {
      if (loading_ > 0) {
        add_load({together_.data(), loading_}, link_);
      }
      loading_ = teams_ = 0;
    }
    Requests& link_;
    std::array<Step, lean::kWarpLanes / lean::kTeamLanes> together_;
    std::size_t loading_ = 0;
    std::size_t teams_ = 0;
  };

  // Which of a word's vertices have a neighbour in the frontier.
  std::uint32_t pull_word(std::uint64_t word, Requests& link, std::uint64_t& hot_reads) {
    std::uint32_t found = 0;
    std::uint32_t rest = unreached(word);
    if (in_.firsts != nullptr) {
      const Looked firsts = look_at_firsts(word, rest, link);
      found = firsts.found;
      rest = firsts.more;
    }
    Turns turns(link);
    for (std::uint32_t bits = rest; bits != 0; bits &= bits - 1) {
      if (pull_list(vertex_of(word, bits), turns, link, hot_reads)) {
        found |= bits & -bits;
      }
    }
    return found;
  }

  // Vertices of a word, a bit each, that are not reached and have a list.
  [[nodiscard]] std::uint32_t unreached(std::uint64_t word) const {
    std::uint32_t listed = 0;
    for (std::uint32_t bits = ~seen_[word]; bits != 0; bits &= bits - 1) {
      const std::uint64_t v = word * kWordBits + static_cast<unsigned>(std::countr_zero(bits));
      if (v < in_.lists->vertices() && in_.lists->degree(static_cast<Vertex>(v)) > 0) {
        listed |= bits & -bits;
      }
    }
    return listed;
  }

  // Which have their first neighbour in the frontier, and of which there are others to ask: of those with a
  // hot part all, which is asked first.
  struct Looked {
    std::uint32_t found = 0;
    std::uint32_t more = 0;
  };
  Looked look_at_firsts(std::uint64_t word, std::uint32_t asked, Requests& link) const {
    Looked firsts;
    std::uint32_t cold = 0;
    for (std::uint32_t bits = asked; bits != 0; bits &= bits - 1) {
      const Vertex v = vertex_of(word, bits);
      if (in_.tier != nullptr && in_.tier->of(v) > 0) {
        firsts.more |= bits & -bits;
        continue;
      }
      cold |= bits & -bits;
      const auto list = in_.lists->neighbours(v);
      const bool hit = has(front_, list.front());
      firsts.found |= hit ? bits & -bits : 0;
      firsts.more |= !hit && list.size() > 1 ? bits & -bits : 0;
    }
    add_firsts(in_.firsts->block(word), cold, link);
    return firsts;
  }

  // Whether one of a list's neighbours is in the frontier: its hot part, or else its first portion, by a team
  // of eight lanes; then, by a warp, line by line.
  bool pull_list(Vertex v, Turns& turns, Requests& link, std::uint64_t& hot_reads) {
    const List list = list_of(in_, v);
    std::uint64_t read = 0;  // from the beginning of the list
    bool answered = hot_answers(list, read);
    hot_reads += read;
    Portion first;
    if (list.hot == 0) {
      first = first_portion(in_, v, list);
      answered = look(first, link, read);
    }
    turns.add(first.words);
    if (!answered && in_.lists->offsets[v] + read < list.cold.to) {
      answered = lines_answer(v, list, link, read);
    }
    if (reads_ != nullptr) {
      note_reads(v, read);
    }
    return answered;
  }

  // Looks at a portion's elements, whose words are loaded by the caller.
  bool look(const Portion& portion, Requests& link, std::uint64_t& read) const {
    link.elements += portion.elements.to - portion.elements.from;
    read += portion.elements.to - portion.elements.from;
    return answers(portion.elements);
  }

  [[nodiscard]] bool answers(const Step& elements) const {
    const auto* targets = in_.lists->targets.data();
    return std::any_of(targets + elements.from, targets + elements.to,
                       [&](Vertex u) { return has(front_, u); });
  }

  // The hot part, eight elements at a time.
  [[nodiscard]] bool hot_answers(const List& list, std::uint64_t& read) const {
    const std::uint64_t first = list.cold.from - list.hot;
    for (std::uint64_t at = 0; at < list.hot; at += lean::kTeamLanes) {
      const std::uint64_t last = std::min<std::uint64_t>(at + lean::kTeamLanes, list.hot);
      read = last;
      if (answers({first + at, first + last})) {
        return true;
      }
    }
    return false;
  }

  bool lines_answer(Vertex v, const List& list, Requests& link, std::uint64_t& read) const {
    for (const Portion& line : line_portions(in_, v, list)) {
      add_load({&line.words, 1}, link);
      if (look(line, link, read)) {
        return true;
      }
    }
    return false;
  }

  // The first `elements` of a list were read.
  void note_reads(Vertex v, std::uint64_t elements) {
    const std::uint64_t sectors = (elements + lean::kSectorElements - 1) / lean::kSectorElements;
    for (std::uint64_t s = 0; s < sectors; ++s) {
      std::uint16_t& count = reads_->counts[reads_->before[v] + s];
      if (count < std::numeric_limits<std::uint16_t>::max()) {
        ++count;
      }
    }
  }

  // What was found becomes the frontier.
  LevelPrediction settle(std::uint32_t depth, std::vector<std::uint32_t>& depths) {
    const Csr& graph = *out_.lists;
    std::uint64_t active = 0;
    std::uint64_t edges = 0;
#pragma omp parallel for reduction(+ : active, edges) schedule(dynamic, 1024) if (words_ >= kManyWords)
    for (std::uint64_t word = 0; word < words_; ++word) {
      const std::uint32_t fresh = next_[word];
      for (std::uint32_t bits = fresh; bits != 0; bits &= bits - 1) {
        const Vertex v = vertex_of(word, bits);
        depths[v] = depth;
        edges += graph.degree(v);
        ++active;
      }
      seen_[word] |= fresh;
      front_[word] = fresh;
      next_[word] = 0;
    }
    LevelPrediction level;
    level.active = active;
    level.edges = edges;
    return level;
  }

  TieredLists out_;
  TieredLists in_;
  lean::ReadCounts* reads_;
  std::uint64_t words_;
  std::vector<std::uint32_t> seen_;
  std::vector<std::uint32_t> front_;
  std::vector<std::uint32_t> next_;
};

}  // namespace

Requests BfsPrediction::total() const {
  Requests all;
  for (const LevelPrediction& level : levels) {
    all += level.link;
  }
  return all;
}

BfsPrediction replay_bfs(const TieredLists& out, const TieredLists& in, Vertex source,
                         const lean::Turning& turning, lean::ReadCounts* reads) {
  graph::require_vertex(source, out.lists->vertices());
  return Search(out, in, reads).run(source, turning);
}

// What a placement's pushes and pulls cost, by which a search turns.

lean::Turning turning_for(const TieredLists& out, const TieredLists& in) {
  constexpr double kVisited = 0.4;  // an edge that comes faster than a plain one over the link
  constexpr double kMostTold = 32;
  lean::Turning turning;
  const std::uint64_t all_listed = lean::vertices_listed(*in.lists);
  if (out.lists->edges() == 0 || all_listed == 0) {
    return turning;
  }
  const auto listed = static_cast<double>(all_listed);
  const auto edges = static_cast<double>(out.lists->edges());
  const double hot = out.tier != nullptr ? static_cast<double>(out.tier->elements()) / edges : 0;
  turning.push =
      out.compressed != nullptr
          ? static_cast<double>(out.compressed->bytes_read()) / sizeof(graph::Vertex) / edges + kVisited
          : 1 - hot + hot * kVisited;
  const double begun = listed - static_cast<double>(lean::cold_lists(*in.lists, in.tier));
  if (begun > 0) {
    turning.hot = begun / listed;
    turning.told = std::min(static_cast<double>(in.tier->elements()) / begun, kMostTold);
  }
  if (in.firsts != nullptr) {
    turning.firsts = true;
    turning.first = in.firsts->packed()
                        ? static_cast<double>(in.firsts->words.size()) / static_cast<double>(in.firsts->lists)
                        : 1;
  }
  return turning;
}

}  // namespace grainscope::model
