#include "grainscope/cuda/verification.hpp"

#include <cuda_runtime_api.h>

#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {
namespace {

class Patterns : public GpuTest {};

std::vector<std::uint32_t> read_back(const DeviceBuffer& buffer, std::size_t words) {
  std::vector<std::uint32_t> host(words);
  check(cudaMemcpy(host.data(), buffer.data(), words * 4, cudaMemcpyDeviceToHost), "read a buffer back");
  return host;
}

TEST_F(Patterns, the_gpu_writes_what_the_host_computes) {
  const Stream stream;
  for (const std::size_t words : {1U, 31U, 1000U, 300'001U}) {
    const DeviceBuffer buffer(0, words * 4);
    fill_pattern(static_cast<std::uint32_t*>(buffer.data()), words, 7, stream);
    const auto host = read_back(buffer, words);
    EXPECT_FALSE(grainscope::find_mismatch(host.data(), words, 7).has_value()) << words;
  }
}

TEST_F(Patterns, a_part_of_the_pattern_begins_where_it_is_told_to) {
  constexpr std::size_t kWords = 1000;
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 100;  // across the index's upper half
  const Stream stream;
  const DeviceBuffer buffer(0, kWords * 4);
  fill_pattern(static_cast<std::uint32_t*>(buffer.data()), kWords, 7, stream, kFirst);
  const auto host = read_back(buffer, kWords);
  for (std::size_t i = 0; i < kWords; ++i) {
    ASSERT_EQ(host[i], pattern_word(kFirst + i, 7)) << i;
  }
}

TEST_F(Patterns, a_planted_wrong_word_is_found_wherever_it_is) {
  constexpr std::size_t kWords = 300'001;
  const Stream stream;
  const DeviceBuffer buffer(0, kWords * 4);
  auto* data = static_cast<std::uint32_t*>(buffer.data());
  for (const std::size_t place : {std::size_t{0}, std::size_t{123'456}, kWords - 1}) {
    fill_pattern(data, kWords, 7, stream);
    ASSERT_FALSE(find_mismatch(data, kWords, 7, stream).has_value());
    const std::uint32_t wrong = ~pattern_word(place, 7);
    check(cudaMemcpy(data + place, &wrong, 4, cudaMemcpyHostToDevice), "plant a wrong word");
    EXPECT_EQ(find_mismatch(data, kWords, 7, stream), place);
  }
}

TEST_F(Patterns, the_first_of_several_wrong_words_is_named) {
  constexpr std::size_t kWords = 1 << 20;
  const Stream stream;
  const DeviceBuffer buffer(0, kWords * 4);
  auto* data = static_cast<std::uint32_t*>(buffer.data());
  fill_pattern(data, kWords, 7, stream);
  check(cudaMemset(data + 5000, 0, 4 * 600'000), "spoil a stretch");
  EXPECT_EQ(find_mismatch(data, kWords, 7, stream), 5000U);
}

}  // namespace
}  // namespace grainscope::cuda
