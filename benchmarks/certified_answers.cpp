#include "certified_answers.hpp"

namespace grainscope::harness {

const Verdict* CertifiedAnswers::find(graph::Algorithm algorithm, graph::Vertex source,
                                      const graph::Digest& digest) const {
  const auto found = answers_.find({algorithm, source});
  return found != answers_.end() && found->second.first == digest ? &found->second.second : nullptr;
}

void CertifiedAnswers::keep(graph::Algorithm algorithm, graph::Vertex source, const graph::Digest& digest,
                            const Verdict& verdict) {
  answers_[{algorithm, source}] = {digest, verdict};
}

}  // namespace grainscope::harness
