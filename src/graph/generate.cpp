// Generated edges, degree × 2^scale of them for scales 1 to 31; weights for graphs that have none, and the
// vertices that GAP starts its trials from.

#include "grainscope/graph/generate.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/csr.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace grainscope::graph {

namespace {

constexpr std::uint32_t kGapSeed = 27491095;

// degree × 2^scale edges between 2^scale vertices, whose ends are not set. Throws EnvironmentError where
// there is no memory for them.
EdgeList unfilled_list(int scale, int degree) {
  const std::uint64_t count = static_cast<std::uint64_t>(degree) << scale;
  require_memory(2 * count * sizeof(Vertex));
  return {std::uint64_t{1} << scale, HostArray<Vertex>(count), HostArray<Vertex>(count), {}};
}

// GAP's synthetic graphs, bit for bit (sbeamer/gapbs, generator.h).
//
// Edges come in blocks of 2^18, each from an engine of its own, seeded with 27491095 + its number. urand: two
// uniform vertices an edge. kron: Graph500's quadrants 0.57, 0.19, 0.19, 0.05, one draw a level, most
// significant bit first; then the vertices are renumbered by a shuffle. Weights, by blocks likewise: 1 … 255.

constexpr std::uint64_t kBlock = std::uint64_t{1} << 18;

// Calls block(first, count, engine) for every block of `edges` edges and returns the largest of what they
// return. All threads.
template <class Block>
Vertex for_blocks(std::uint64_t edges, const Block& block) {
  const std::uint64_t blocks = (edges + kBlock - 1) / kBlock;
  Vertex largest = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : largest)
  for (std::uint64_t b = 0; b < blocks; ++b) {
    Mersenne random(kGapSeed + static_cast<std::uint32_t>(b));
    const std::uint64_t first = b * kBlock;
    largest = std::max<Vertex>(largest, block(first, std::min(kBlock, edges - first), random));
  }
  return largest;
}

// The two bits that a draw stands for, in one word: the first endpoint's from bit 16 on, the second's from
// bit 0 on, so that up to 16 levels add up in one word.
constexpr int kLevelsAWord = 16;
constexpr std::uint32_t bits_of_draw(std::uint32_t draw) {
  constexpr auto kA = static_cast<std::uint32_t>(0.57 * Mersenne::max());
  constexpr auto kB = static_cast<std::uint32_t>(0.19 * Mersenne::max());
  const std::uint32_t lower = draw >= kA + kB ? 1 : 0;
  const std::uint32_t right = lower != 0 ? draw > kA + kB + kB : draw > kA;
  return lower << kLevelsAWord | right;
}

// Reads `scale` words an edge and puts the endpoints together.
void join_levels(const std::uint32_t* bits, int scale, std::uint64_t edges, Vertex* from, Vertex* to) {
  const int first = std::min(scale, kLevelsAWord);
  const int rest = scale - first;
  constexpr std::uint32_t kLow = (1U << kLevelsAWord) - 1;
  for (std::uint64_t e = 0; e < edges; ++e) {
    std::uint32_t high = 0;
    std::uint32_t low = 0;
    for (int level = 0; level < first; ++level) {
      high = 2 * high + *bits++;
    }
    for (int level = 0; level < rest; ++level) {
      low = 2 * low + *bits++;
    }
    from[e] = (high >> kLevelsAWord) << rest | low >> kLevelsAWord;
    to[e] = (high & kLow) << rest | (low & kLow);
  }
}

// Draws whole batches that make whole edges: the least common multiple of 624 and the scale.
void kron_block(int scale, std::uint64_t count, Mersenne& random, Vertex* from, Vertex* to) {
  const int batches = scale / std::gcd(scale, Mersenne::kBatch);
  const auto edges = static_cast<std::uint64_t>(batches) * Mersenne::kBatch / static_cast<unsigned>(scale);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(batches) * Mersenne::kBatch);
  for (std::uint64_t done = 0; done < count; done += edges) {
    for (int batch = 0; batch < batches; ++batch) {
      const Mersenne::Batch& draws = random.next_batch();
      std::uint32_t* const out = bits.data() + std::size_t{Mersenne::kBatch} * batch;
      for (int i = 0; i < Mersenne::kBatch; ++i) {
        out[i] = bits_of_draw(draws[i]);
      }
    }
    join_levels(bits.data(), scale, std::min(edges, count - done), from + done, to + done);
  }
}

Vertex renumber(Vertex* ends, std::uint64_t count, const HostArray<Vertex>& numbers) {
  constexpr std::uint64_t kAhead = 32;  // most of the numbers lie beyond the cache of a core
  Vertex largest = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      __builtin_prefetch(numbers.data() + ends[i + kAhead]);
    }
    ends[i] = numbers[ends[i]];
    largest = std::max(largest, ends[i]);
  }
  return largest;
}

EdgeList kron_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
  const HostArray<Vertex> numbers = shuffled_identity(std::uint64_t{1} << scale, kGapSeed);
  edges.vertices =
      std::uint64_t{1} + for_blocks(edges.from.size(), [&](auto first, auto count, Mersenne& random) {
        Vertex* const from = edges.from.data() + first;
        Vertex* const to = edges.to.data() + first;
        kron_block(scale, count, random, from, to);
        return std::max(renumber(from, count, numbers), renumber(to, count, numbers));
      });
  return edges;
}

EdgeList urand_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
  const GapUniform uniform(Mersenne::max(), std::uint32_t{1} << scale);
  edges.vertices =
      std::uint64_t{1} + for_blocks(edges.from.size(), [&](auto first, auto count, Mersenne& random) {
        Vertex largest = 0;
        for (std::uint64_t i = first; i < first + count; ++i) {
          edges.from[i] = uniform(random);
          edges.to[i] = uniform(random);
          largest = std::max({largest, edges.from[i], edges.to[i]});
        }
        return largest;
      });
  return edges;
}

// GAP's weights 1 … 255 for edges in the order of the list.
void add_gap_weights(EdgeList& edges) {
  edges.weights = HostArray<Weight>(edges.from.size());
  const GapUniform uniform(Mersenne::max(), 255);
  for_blocks(edges.from.size(), [&](auto first, auto count, Mersenne& random) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      edges.weights[i] = uniform(random) + 1;
    }
    return Vertex{0};
  });
}

constexpr std::uint64_t kGroup = 64;

// In every 64 vertices each of 64 ranks is taken once, by number `v xor hash(v / 64)`. The first r of them
// have `links_before(r, 64, degree)` links; end_of_link(v, link, V) is where one leads.
template <class Hash, class LinksBefore, class EndOfLink>
EdgeList edges_by_rank(int scale, int degree, const Hash& hash, const LinksBefore& links_before,
                       const EndOfLink& end_of_link) {
  EdgeList edges = unfilled_list(scale, degree);
  const auto draws = static_cast<std::uint64_t>(degree);
  const std::uint64_t group = std::min(kGroup, edges.vertices);
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::uint64_t v = 0; v < edges.vertices; ++v) {
    const std::uint64_t rank = (v ^ hash(v / group)) & (group - 1);
    const std::uint64_t place = v / group * group * draws;
    const std::uint64_t first = links_before(rank, group, draws);
    const std::uint64_t past = links_before(rank + 1, group, draws);
    for (std::uint64_t link = first; link < past; ++link) {
      edges.from[place + link] = static_cast<Vertex>(v);
      edges.to[place + link] = end_of_link(v, link - first, edges.vertices);
    }
  }
  return edges;
}

// A dense graph without hubs, in the manner of MOLIERE_2016 (Sybrandt, Shtutman and Safro, KDD 2017: 30.2
// million terms and abstracts, mean degree 222, nearly no edge at a vertex of a low degree): a page of host
// memory holds few lists, and nearly every list is several lines long.
//
// The law: vertex v draws between half and one and a half times `degree` links. In every 64 vertices each of
// 64 steps between these is taken once, by number `v xor a hash of v / 64`, so the number of edges is
// degree × 2^scale to the edge. Half of the links, by a hash, go to v's topic, the 4096 vertices with the
// same upper bits, half to any vertex. Symmetrised, v has about as many links again from others: at degree
// 128 the lists are between 150 and 370 long and 254 in the mean, for scales from 13 on.
//
// Everything is a hash of a seed, the vertex and the link's number: nothing depends on the machine.

constexpr std::uint64_t kDenseSeed = mixed(20160817);
constexpr std::uint64_t kTopic = 4096;

// Links of the first `rank` vertices of a group of `size`, from half of `degree` upwards.
constexpr std::uint64_t dense_links_before(std::uint64_t rank, std::uint64_t size, std::uint64_t degree) {
  return degree * rank * (size + rank) / (2 * size);
}

Vertex dense_end_of_link(std::uint64_t v, std::uint64_t link, std::uint64_t vertices) {
  const std::uint64_t random = mixed(mixed(kDenseSeed ^ v) + link);
  const std::uint64_t topic = std::min(kTopic, vertices);
  const bool in_topic = (random & 1) != 0;
  const std::uint64_t first = in_topic ? v & ~(topic - 1) : 0;
  return static_cast<Vertex>(first + below(random, static_cast<std::uint32_t>(in_topic ? topic : vertices)));
}

EdgeList dense_edges(int scale, int degree) {
  const auto step_of = [](std::uint64_t group) { return mixed(~kDenseSeed ^ group); };
  return edges_by_rank(scale, degree, step_of, dense_links_before, dense_end_of_link);
}

// A directed, local graph in the manner of the web crawls SK-2005 and UK-2007-05 of LAW, whose pages are
// numbered by address: most links stay within a host, near in number, pages of a host share links (the
// copying of Kumar et al., FOCS 2000), few pages are linked from everywhere. Pages of memory that a traversal
// brings in are used well by their neighbours.
//
// The law, with n = 2^scale:
// - Hosts. Every 4096 numbers are cut into hosts of one size, 4096 >> h with h = 0 … 7 by a hash: 32 to 4096.
// - Out-degrees. In every 64 pages each of 64 ranks is taken once, by number `v xor a hash of v / 64`; the
//   first r of them have degree·(r/4 + 3·r⁴/(4·64³)) links. With degree 16: 4 to 50 a page, 16·n to the
//   link.
// - Link k of page v. A page in two copies from a prototype, an earlier page of its host: its link k is then
//   the prototype's, three times in four. Else it leads, in 13 of 16, into the host, d pages on (around the
//   host's end), d uniform below a power of two that is itself uniform up to the host's size; in 2 of 16 to a
//   hub, the first page of one of n/1024 hosts, of which the share x is linked by ∛x of those links; in 1 of
//   16 to any page.
// Self-loops and repeats go when the graph is built: of 16 links a page 12 remain, three quarters of them
// between numbers less than 4096 apart; the first hub is linked from a sixth of all pages.
//
// Everything is a hash of a seed, the page and the link's number: nothing depends on the machine.

constexpr std::uint64_t kWebSeed = mixed(20050601);
constexpr std::uint64_t kHostBlock = 4096;  // that hosts are cut from
constexpr std::uint64_t kPagesAHub = 1024;

// Independent numbers of a page or a link.
enum class Draw : std::uint64_t { rank, host, copies, prototype, hub, link };
std::uint64_t drawn(Draw what, std::uint64_t of) {
  return mixed(mixed(kWebSeed + static_cast<std::uint64_t>(what)) ^ of);
}

struct Host {
  std::uint64_t first = 0;
  std::uint64_t pages = 0;  // a power of two
};

Host host_of(std::uint64_t page, std::uint64_t vertices) {
  const std::uint64_t block = std::min(kHostBlock, vertices);
  const std::uint64_t pages = std::max<std::uint64_t>(block >> (drawn(Draw::host, page / block) & 7U), 1);
  return {page & ~(pages - 1), pages};
}

// The links of the first `rank` pages of a group of `size`.
constexpr std::uint64_t web_links_before(std::uint64_t rank, std::uint64_t size, std::uint64_t degree) {
  const std::uint64_t cube = size * size * size;
  return degree * (rank * cube + 3 * rank * rank * rank * rank) / (4 * cube);
}

std::uint64_t hub(std::uint64_t random, std::uint64_t vertices) {
  const std::uint64_t hubs = std::max<std::uint64_t>(vertices / kPagesAHub, 1);
  const std::uint64_t x = random >> 43;  // 21 bits: its cube fits in 64
  const std::uint64_t number = (x * x * x >> 32) * hubs >> 31;
  return host_of(drawn(Draw::hub, number) & (vertices - 1), vertices).first;
}

std::uint64_t own_link(std::uint64_t page, std::uint64_t random, const Host& host, std::uint64_t vertices) {
  const std::uint64_t kind = random & 15U;
  if (kind < 13) {
    const auto sizes = static_cast<std::uint32_t>(std::bit_width(host.pages));
    const auto reach = std::uint32_t{1} << below(random << 16, sizes);
    const std::uint64_t distance = 1 + below(mixed(random), reach);
    return host.first + ((page - host.first + distance) & (host.pages - 1));
  }
  return kind < 15 ? hub(mixed(random), vertices) : mixed(random) & (vertices - 1);
}

Vertex web_end_of_link(std::uint64_t page, std::uint64_t link, std::uint64_t vertices) {
  const Host host = host_of(page, vertices);
  std::uint64_t random = mixed(drawn(Draw::link, page) + link);
  while (page != host.first && (drawn(Draw::copies, page) & 1U) != 0 && (random >> 62) != 0) {
    page = host.first + below(drawn(Draw::prototype, page), static_cast<std::uint32_t>(page - host.first));
    random = mixed(drawn(Draw::link, page) + link);
  }
  return static_cast<Vertex>(own_link(page, random, host, vertices));
}

EdgeList web_edges(int scale, int degree) {
  const auto rank_of = [](std::uint64_t group) { return drawn(Draw::rank, group); };
  return edges_by_rank(scale, degree, rank_of, web_links_before, web_end_of_link);
}

// An undirected graph whose degrees follow a Pareto law from the first vertex to the last, without kron's
// empty half: what hit rates of tiers are shown on.
//
// The law (Chung and Lu, Annals of Combinatorics 6, 2002): the vertex of rank r = 0 … n − 1 has the weight
// (r / n)^(−3/4), so that the share x of the vertices with the most edges has the share x^(1/4) of all ends:
// 1 % has 32 %, as the dissertation (4.4.2) says of ogbn-papers100M, and of 2^scale vertices the share that
// has at least k edges falls as k^(−4/3). Each of the degree × 2^scale edges draws both its ends by weight;
// repeats and self-loops go when the graph is built, which takes from the hubs. Ranks are spread over the
// numbers of vertices by a bijection, so that the original order is not already the one by degree.
//
// Everything is a hash of a seed and the edge's number: nothing depends on the machine.

constexpr std::uint64_t kParetoSeed = mixed(18970101);  // Pareto's Cours d'économie politique
constexpr int kRounds = 4;

// The upper half of a square: of a number from 0 to 1, counted in 2⁻⁶⁴.
std::uint64_t squared(std::uint64_t x) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(x) * x) >> 64);
}

// A bijection of 0 … 2^scale − 1: each step is one.
std::uint64_t spread(std::uint64_t rank, int scale) {
  const std::uint64_t mask = (std::uint64_t{1} << scale) - 1;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t random = mixed(kParetoSeed + static_cast<std::uint64_t>(round));
    rank = (rank * (random | 1) + (random >> 32)) & mask;
    rank ^= rank >> ((scale + 1) / 2);
  }
  return rank;
}

Vertex drawn_vertex(std::uint64_t random, int scale) {
  const std::uint64_t rank = squared(squared(random)) >> (64 - scale);
  return static_cast<Vertex>(spread(rank, scale));
}

EdgeList pareto_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
#pragma omp parallel for
  for (std::uint64_t edge = 0; edge < edges.from.size(); ++edge) {
    const std::uint64_t random = mixed(kParetoSeed ^ edge);
    edges.from[edge] = drawn_vertex(random, scale);
    edges.to[edge] = drawn_vertex(mixed(random), scale);
  }
  return edges;
}

// Papers that cite earlier papers, in the manner of ogbn-papers100M (Hu et al., NeurIPS 2020: 111 million
// papers, 1.6 billion citations, 14.5 a paper): what scores of rows differ on. `citation` has an edge from a
// paper to each that it cites; `papers` has it both ways, as that data set is trained on.
//
// The law, with n = 2^scale papers numbered in the order of their time:
// - Years: n/64 papers each, but at least 64.
// - Topics. In every year topic t = 0 … 255 has the same share of the papers, √((t + 1)/256) − √(t/256): the
//   k-th largest has about 1/(32·√k). It belongs to field t mod 16. Papers of a year are numbered so that
//   topics lie mixed.
// - References. In every 64 papers each of 64 ranks is taken once, by number `v xor a hash of v / 64`; the
//   first r of them have degree·r³/64² references. With degree 16: 0 to 47 a paper, half of them 12 at most,
//   one in nine none, 16·n to the reference.
// - Reference k of paper v. A candidate is drawn: in 28 of 32 of v's topic, in 3 of another of its field, in
//   1 of any; as many years back as a number says that is uniform below a power of two, itself uniform up to
//   v's age; and of the papers of that topic and year the share x by ⁴√x of the draws, so that few are cited
//   often. Half of the draws cite the candidate. The others cite what one of its references cites: so what is
//   cited often is cited again (preferential attachment by copying, Kumar et al., FOCS 2000).
// A candidate is always earlier, so there is no cycle. Self-loops (of the first paper) and repeats go when
// the graph is built: some 15 references a paper remain in large graphs, three of four within the topic. A
// part of the papers is cited far more often than others, as the dissertation (4.4.2) says of
// ogbn-papers100M.
//
// Everything is a hash of a seed, the paper and the reference's number: nothing depends on the machine.

constexpr std::uint64_t kCitationSeed = mixed(20200502);
constexpr std::uint64_t kYears = 64;
constexpr std::uint64_t kTopics = 256;
constexpr std::uint64_t kFields = 16;
constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15U;  // odd: multiplying by it mixes the places of a year
constexpr std::uint64_t kUnstride = 0xf1de83e19937733dU;
static_assert(kStride * kUnstride == 1);

class Library {
 public:
  Library(int scale, int degree)
      : papers_(std::uint64_t{1} << scale),
        a_year_(std::max(papers_ / kYears, std::min(papers_, kGroup))),
        degree_(static_cast<std::uint64_t>(degree)) {
    std::uint64_t place = 0;
    for (std::uint64_t topic = 0; topic <= kTopics; ++topic) {
      while (place * place * kTopics < topic * a_year_ * a_year_) {
        ++place;
      }
      first_place_[topic] = place;
    }
  }

  [[nodiscard]] std::uint64_t papers() const { return papers_; }
  [[nodiscard]] std::uint64_t topic_of(std::uint64_t paper) const {
    return topic_at(((paper - shift_of(paper / a_year_)) * kUnstride) & (a_year_ - 1));
  }
  // Independent numbers of a group, a year or a paper.
  enum class Draw : std::uint64_t { rank, year, reference, label, training };
  [[nodiscard]] static std::uint64_t drawn(Draw what, std::uint64_t of) {
    return mixed(mixed(kCitationSeed + static_cast<std::uint64_t>(what)) ^ of);
  }

  // References of the first `rank` papers of a group of `size`.
  static constexpr std::uint64_t references_before(std::uint64_t rank, std::uint64_t size,
                                                   std::uint64_t degree) {
    return degree * rank * rank * rank / (size * size);
  }

  [[nodiscard]] Vertex cited(std::uint64_t paper, std::uint64_t reference) const {
    while (paper != 0) {
      std::uint64_t random = mixed(drawn(Draw::reference, paper) + reference);
      const std::uint64_t candidate = candidate_of(paper, random);
      const std::uint64_t references = references_of(candidate);
      random = mixed(random ^ candidate);
      if (references == 0 || (random & 1U) == 0) {
        return static_cast<Vertex>(candidate);
      }
      paper = candidate;
      reference = below(random, static_cast<std::uint32_t>(references));
    }
    return 0;
  }

 private:
  // By how much the papers of a year, topic by topic, are shifted before they are mixed.
  static std::uint64_t shift_of(std::uint64_t year) { return drawn(Draw::year, year); }
  [[nodiscard]] std::uint64_t paper_at(std::uint64_t year, std::uint64_t place) const {
    return year * a_year_ + ((place * kStride + shift_of(year)) & (a_year_ - 1));
  }
  [[nodiscard]] std::uint64_t topic_at(std::uint64_t place) const {
    return place * place * kTopics / (a_year_ * a_year_);
  }

  [[nodiscard]] std::uint64_t references_of(std::uint64_t paper) const {
    const std::uint64_t group = std::min(kGroup, papers_);
    const std::uint64_t rank = (paper ^ drawn(Draw::rank, paper / group)) & (group - 1);
    return references_before(rank + 1, group, degree_) - references_before(rank, group, degree_);
  }

  // Of the topic of a paper: its own, another of its field, or any paper's.
  [[nodiscard]] std::uint64_t topic_cited(std::uint64_t own, std::uint64_t random) const {
    const std::uint32_t way = below(random, 32);
    const std::uint64_t any = topic_at(below(random << 32, static_cast<std::uint32_t>(a_year_)));
    const std::uint64_t of_field = any / kFields * kFields + own % kFields;
    return way < 28 || (way < 31 && size_of(of_field) == 0) ? own : way < 31 ? of_field : any;
  }
  // Of the papers of a year.
  [[nodiscard]] std::uint32_t size_of(std::uint64_t topic) const {
    return static_cast<std::uint32_t>(first_place_[topic + 1] - first_place_[topic]);
  }

  // An earlier paper than `paper`, which is not the first.
  [[nodiscard]] std::uint64_t candidate_of(std::uint64_t paper, std::uint64_t random) const {
    const std::uint64_t year = paper / a_year_;
    random = mixed(random);
    const std::uint64_t topic = topic_cited(topic_of(paper), random);
    random = mixed(random);
    const auto spans = static_cast<std::uint32_t>(std::bit_width(year));
    const std::uint64_t span = std::uint64_t{1} << below(random << 32, std::max(spans, 1U));
    const std::uint64_t back = year == 0 ? 0 : below(random, static_cast<std::uint32_t>(span));
    random = mixed(random);
    const std::uint64_t place = first_place_[topic] + below(squared(squared(random)), size_of(topic));
    const std::uint64_t candidate = paper_at(year - back, place);
    if (candidate < paper) {
      return candidate;
    }
    return year > 0 ? paper_at(year - 1, place) : below(mixed(random), static_cast<std::uint32_t>(paper));
  }

  std::uint64_t papers_;
  std::uint64_t a_year_;  // papers of a year, a power of two
  std::uint64_t degree_;
  std::array<std::uint64_t, kTopics + 1> first_place_{};  // of each topic in a year
};

EdgeList citation_edges(int scale, int degree) {
  const Library library(scale, degree);
  const auto rank_of = [](std::uint64_t group) { return Library::drawn(Library::Draw::rank, group); };
  return edges_by_rank(scale, degree, rank_of, Library::references_before,
                       [&](std::uint64_t paper, std::uint64_t reference, std::uint64_t /*papers*/) {
                         return library.cited(paper, reference);
                       });
}

// Junctions and roads, in the manner of the road networks of the 9th DIMACS challenge (that of the USA: 23.9
// million junctions with 2.44 roads each, none with more than nine, thousands of roads from end to end):
// lists of one to four entries, and searches of thousands of levels with few vertices each.
//
// The law: the 2^scale vertices are the places of a grid of 2^⌈scale/2⌉ columns, numbered in Z-order, so that
// what lies near has near numbers. Each has a road to its neighbour on the left or to the one above,
// whichever a hash says, or the one that there is; so all hang together, and some way to the first place, the
// upper left one, is as long as rows and columns say. The other road is there with probability 0.22. With n
// vertices that makes 1.22·n roads but for the edges of the grid: 2.44 a vertex, counted from both ends.
//
// Everything is a hash of a seed and the vertex: nothing depends on the machine.

constexpr std::uint64_t kRoadSeed = mixed(20061113);
constexpr std::uint64_t kOtherRoad = (std::uint64_t{1} << 32) / 100 * 22;  // of 2³²

// The even bits of a number, one beside another, and where they came from.
constexpr std::uint32_t even_bits(std::uint64_t number) {
  std::uint64_t bits = number & 0x5555555555555555U;
  bits = (bits | bits >> 1) & 0x3333333333333333U;
  bits = (bits | bits >> 2) & 0x0f0f0f0f0f0f0f0fU;
  bits = (bits | bits >> 4) & 0x00ff00ff00ff00ffU;
  bits = (bits | bits >> 8) & 0x0000ffff0000ffffU;
  return static_cast<std::uint32_t>(bits | bits >> 16);
}
constexpr std::uint64_t to_even_bits(std::uint64_t number) {
  std::uint64_t bits = number;
  bits = (bits | bits << 16) & 0x0000ffff0000ffffU;
  bits = (bits | bits << 8) & 0x00ff00ff00ff00ffU;
  bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0fU;
  bits = (bits | bits << 2) & 0x3333333333333333U;
  return (bits | bits << 1) & 0x5555555555555555U;
}
static_assert(even_bits(to_even_bits(0x9e3779b9U)) == 0x9e3779b9U);

Vertex place(std::uint32_t column, std::uint32_t row) {
  return static_cast<Vertex>(to_even_bits(column) | to_even_bits(row) << 1);
}

EdgeList road_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
#pragma omp parallel for
  for (std::uint64_t v = 0; v < edges.vertices; ++v) {
    const auto own = static_cast<Vertex>(v);
    const std::uint32_t column = even_bits(v);
    const std::uint32_t row = even_bits(v >> 1);
    const std::uint64_t random = mixed(kRoadSeed ^ v);
    const Vertex left = column > 0 ? place(column - 1, row) : own;
    const Vertex above = row > 0 ? place(column, row - 1) : own;
    const bool by_left = row == 0 || (column > 0 && (random & 1U) != 0);
    const bool both = random >> 32 < kOtherRoad;
    // Where there is no road, a loop, which goes when the graph is built.
    edges.from[2 * v] = own;
    edges.to[2 * v] = by_left ? left : above;
    edges.from[2 * v + 1] = own;
    edges.to[2 * v + 1] = both ? by_left ? above : left : own;
  }
  return edges;
}

Library library_of(const GraphSpec& spec) {
  if (!spec.has_topics()) {
    throw UsageError("the graph '" + spec.name() + "' has no topics; citation:SCALE and papers:SCALE have");
  }
  return {spec.scale, spec.degree};
}

// Of four fields, a quarter of all papers.
bool is_of_archive(std::uint64_t topic) {
  return topic % 4 == 1;
}

EdgeList unweighted_edges(const GraphSpec& spec) {
  switch (spec.kind) {
    case GraphSpec::Kind::kron:
      return kron_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::urand:
      return urand_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::dense:
      return dense_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::web:
      return web_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::pareto:
      return pareto_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::citation:
    case GraphSpec::Kind::papers:
      return citation_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::road:
      return road_edges(spec.scale, spec.degree);
    case GraphSpec::Kind::builtin:
    case GraphSpec::Kind::file:
      break;
  }
  throw UsageError("generating the graph '" + spec.name() + "': it is read, not generated");
}

}  // namespace

EdgeList generate_edges(const GraphSpec& spec, bool weights) {
  EdgeList edges = unweighted_edges(spec);
  if (weights) {
    add_gap_weights(edges);
  }
  return edges;
}

std::vector<std::uint16_t> topic_labels(const GraphSpec& spec) {
  const Library library = library_of(spec);
  std::vector<std::uint16_t> labels(library.papers());
#pragma omp parallel for
  for (std::uint64_t paper = 0; paper < labels.size(); ++paper) {
    const std::uint64_t random = Library::drawn(Library::Draw::label, paper);
    const bool right = (random & 7U) != 0;
    labels[paper] = static_cast<std::uint16_t>(right ? library.topic_of(paper) : below(random, kTopics));
  }
  return labels;
}

std::vector<Vertex> archived_papers(const GraphSpec& spec, std::uint64_t count) {
  const Library library = library_of(spec);
  if (count > library.papers()) {
    throw UsageError("choosing " + std::to_string(count) + " of the " + std::to_string(library.papers()) +
                     " papers of " + spec.name());
  }
  // From the top: 2 bits that rank first, 30 drawn, 32 of the paper's number.
  std::vector<std::uint64_t> keys(library.papers());
#pragma omp parallel for
  for (std::uint64_t paper = 0; paper < keys.size(); ++paper) {
    const bool late = paper >= keys.size() / 2;
    const std::uint64_t rank = !is_of_archive(library.topic_of(paper)) ? 2 : late ? 0 : 1;
    keys[paper] = rank << 62 | Library::drawn(Library::Draw::training, paper) >> 34 << 32 | paper;
  }
  const auto end = keys.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(keys.begin(), end, keys.end());
  std::vector<Vertex> chosen(count);
  std::transform(keys.begin(), end, chosen.begin(),
                 [](std::uint64_t key) { return static_cast<Vertex>(key); });
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<Vertex> gap_sources(const Csr& graph, int count) {
  if (graph.edges() == 0) {
    throw UsageError("choosing sources in the graph '" + graph.name + "': no vertex has an edge");
  }
  std::mt19937_64 random(kGapSeed);
  const GapUniform uniform(std::mt19937_64::max(), graph.vertices());
  std::vector<Vertex> sources(static_cast<std::size_t>(std::max(count, 0)));
  for (Vertex& source : sources) {
    do {
      source = uniform(random);
    } while (graph.degree(source) == 0);
  }
  return sources;
}

void draw_weights(Csr& graph, Weight low, Weight high, std::uint64_t seed) {
  if (low > high || high - low == UINT32_MAX) {
    throw UsageError("weights from " + std::to_string(low) + " to " + std::to_string(high) +
                     ": the first must not be above the second, nor may they span all of 32 bits");
  }
  HostArray<Weight> weights(graph.edges());
  const std::uint32_t span = high - low + 1;
  const std::uint64_t key = mixed(seed);
  for_all(graph, [&](std::uint64_t v) {
    for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
      const std::uint64_t u = graph.targets[i];
      const std::uint64_t ends = std::min(u, v) << 32 | std::max(u, v);
      weights[i] = low + below(mixed(ends ^ key), span);
    }
  });
  graph.weights = std::move(weights);
}

}  // namespace grainscope::graph
