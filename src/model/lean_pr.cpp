#include "grainscope/model/lean_pr.hpp"

#include <atomic>
#include <cmath>

#include "grainscope/core/error.hpp"
#include "lean_lists.hpp"

namespace grainscope::model {
namespace {

using graph::Csr;
using graph::kDamping;
using graph::Vertex;

constexpr std::uint64_t kManyVertices = 1 << 12;  // that a team of threads is worth

class Ranks {
 public:
  Ranks(const TieredLists& in, const Csr& out)
      : in_(*in.lists),
        out_(out),
        vertices_(in_.vertices()),
        base_(static_cast<float>((1 - kDamping) / static_cast<double>(vertices_))),
        ranks_(vertices_),
        shares_(vertices_),
        long_(vertices_) {
    std::uint64_t ranked = 0;
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      const List list = list_of(in, static_cast<Vertex>(v));
      long_[v] = std::max(list.hot, list.words.to - list.words.from) > lean::kLongList;
      ranked += in_.degree(static_cast<Vertex>(v)) > 0 ? 1 : 0;
    }
    ranked_share_ = static_cast<double>(ranked) / static_cast<double>(vertices_);
    const auto edges = static_cast<double>(std::max<std::uint64_t>(in_.edges(), 1));
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      const double of_all = static_cast<double>(in_.degree(static_cast<Vertex>(v))) / edges;
      set(static_cast<Vertex>(v), static_cast<float>(base_ + kDamping * ranked_share_ * of_all));
    }
  }

  // No more than what another step would change.
  double sweep() {
    double changed = 0;
    double mass = 0;
    settle(false, changed, mass);
    settle(true, changed, mass);
    const double factor = !in_.directed && mass > 0 ? ranked_share_ / mass : 1;
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      if (in_.degree(static_cast<Vertex>(v)) > 0) {
        set(static_cast<Vertex>(v), ranks_[v] * static_cast<float>(factor));
      }
    }
    return lean::rank_bound(changed, factor, ranked_share_);
  }

  std::vector<float> take() { return std::move(ranks_); }

 private:
  void set(Vertex v, float rank) {
    ranks_[v] = rank;
    const float share = out_.degree(v) > 0 ? rank / static_cast<float>(out_.degree(v)) : 0;
    std::atomic_ref<float>(shares_[v]).store(share, std::memory_order_relaxed);
  }

  // New ranks of the vertices with long lists, or of the others.
  void settle(bool of_long, double& changed, double& mass) {
#pragma omp parallel for reduction(+ : changed, mass) schedule(dynamic, 512) if (vertices_ >= kManyVertices)
    for (std::uint64_t i = 0; i < vertices_; ++i) {
      const auto v = static_cast<Vertex>(i);
      if (in_.degree(v) == 0 || long_[i] != of_long) {
        continue;
      }
      double carried = 0;
      for (const Vertex u : in_.neighbours(v)) {
        carried += std::atomic_ref<float>(shares_[u]).load(std::memory_order_relaxed);
      }
      const float before = ranks_[v];
      set(v, static_cast<float>(base_ + kDamping * carried));
      changed += std::abs(static_cast<double>(ranks_[v]) - before);
      mass += ranks_[v];
    }
  }

  const Csr& in_;
  const Csr& out_;
  std::uint64_t vertices_;
  float base_;
  double ranked_share_ = 0;
  std::vector<float> ranks_;
  std::vector<float> shares_;
  std::vector<char> long_;  // lists that are settled after all others
};

}  // namespace

LeanPr replay_pr(const TieredLists& in, const Csr& out) {
  LeanPr pr;
  const std::uint64_t vertices = in.lists->vertices();
  if (vertices == 0) {
    return pr;
  }
#pragma omp parallel if (vertices >= kManyVertices)
  {
    Requests mine;
    std::uint64_t hot = 0;
#pragma omp for
    for (std::uint64_t v = 0; v < vertices; ++v) {
      const List list = list_of(in, static_cast<Vertex>(v));
      hot += list.hot;
      add_list(list, mine);
    }
#pragma omp critical
    {
      pr.hot_reads += hot;
      pr.sweep += mine;
    }
  }
  Ranks ranks(in, out);
  do {
    if (++pr.sweeps > lean::kMostSweeps) {
      throw FailedError("PageRank did not come to an end within " + std::to_string(lean::kMostSweeps) +
                        " sweeps");
    }
  } while (ranks.sweep() >= lean::kRankGoal);
  pr.ranks = ranks.take();
  return pr;
}

}  // namespace grainscope::model
