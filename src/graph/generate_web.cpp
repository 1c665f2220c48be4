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

#include <algorithm>
#include <bit>

#include "generators.hpp"
#include "hash.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kSeed = mixed(20050601);
constexpr std::uint64_t kGroup = 64;
constexpr std::uint64_t kBlock = 4096;  // that hosts are cut from
constexpr std::uint64_t kPagesAHub = 1024;

// Independent numbers of a page or a link.
enum class Draw : std::uint64_t { rank, host, copies, prototype, hub, link };
std::uint64_t drawn(Draw what, std::uint64_t of) {
  return mixed(mixed(kSeed + static_cast<std::uint64_t>(what)) ^ of);
}

struct Host {
  std::uint64_t first = 0;
  std::uint64_t pages = 0;  // a power of two
};

Host host_of(std::uint64_t page, std::uint64_t vertices) {
  const std::uint64_t block = std::min(kBlock, vertices);
  const std::uint64_t pages = std::max<std::uint64_t>(block >> (drawn(Draw::host, page / block) & 7U), 1);
  return {page & ~(pages - 1), pages};
}

// The links of the first `rank` pages of a group of `size`.
constexpr std::uint64_t links_before(std::uint64_t rank, std::uint64_t size, std::uint64_t degree) {
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

Vertex end_of_link(std::uint64_t page, std::uint64_t link, std::uint64_t vertices) {
  const Host host = host_of(page, vertices);
  std::uint64_t random = mixed(drawn(Draw::link, page) + link);
  while (page != host.first && (drawn(Draw::copies, page) & 1U) != 0 && (random >> 62) != 0) {
    page = host.first + below(drawn(Draw::prototype, page), static_cast<std::uint32_t>(page - host.first));
    random = mixed(drawn(Draw::link, page) + link);
  }
  return static_cast<Vertex>(own_link(page, random, host, vertices));
}

}  // namespace

EdgeList web_edges(int scale, int degree) {
  EdgeList edges = unfilled_list(scale, degree);
  const auto draws = static_cast<std::uint64_t>(degree);
  const std::uint64_t group = std::min(kGroup, edges.vertices);
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::uint64_t v = 0; v < edges.vertices; ++v) {
    const std::uint64_t rank = (v ^ drawn(Draw::rank, v / group)) & (group - 1);
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

}  // namespace grainscope::graph
