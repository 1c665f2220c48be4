#include "file_check.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::gnn {

std::uint64_t count_unlike_file(const Features& features, const std::byte* out,
                                std::span<const graph::Vertex> rows, const cuda::Stream& stream) {
  constexpr std::uint64_t kPieceBytes = 16 * kMiB;
  const std::uint64_t row_bytes = features.row_bytes();
  const std::uint64_t rows_of_piece = std::clamp<std::uint64_t>(kPieceBytes / row_bytes, 1, rows.size() + 1);
  std::vector<std::byte> piece(rows_of_piece * row_bytes);
  std::uint64_t wrong = 0;
  for (std::uint64_t first = 0; first < rows.size(); first += rows_of_piece) {
    const auto here = rows.subspan(first, std::min<std::uint64_t>(rows_of_piece, rows.size() - first));
    cuda::check(cudaMemcpyAsync(piece.data(), out + first * row_bytes, here.size() * row_bytes,
                                cudaMemcpyDeviceToHost, stream.get()),
                "copy gathered rows back to the host");
    stream.synchronize();
    wrong += features.count_wrong(piece.data(), here);
  }
  return wrong;
}

}  // namespace grainscope::gnn
