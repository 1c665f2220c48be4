// How cuBLAS is found. Needs no GPU.

#include "cublas_api.hpp"

#include <gtest/gtest.h>

#include "grainscope/core/error.hpp"

namespace grainscope::gnn {
namespace {

std::string why_not(const std::string& library) {
  try {
    static_cast<void>(load_cublas(library));
  } catch (const SkipError& error) {
    return error.what();
  }
  return "";
}

TEST(CublasApi, that_is_not_there_or_is_another_library_says_what_to_do) {
  EXPECT_EQ(why_not("libcublas.so.0"),
            "training on a GPU needs libcublas.so.0: install cuBLAS of the CUDA Toolkit, or name its folder "
            "in LD_LIBRARY_PATH");
  EXPECT_EQ(why_not("libm.so.6").find("libm.so.6 has no cublasCreate_v2: put the library of CUDA "), 0U);
}

TEST(CublasApi, has_all_functions_of_the_library_that_this_was_built_with) {
  const CublasApi& api = cublas_api();
  EXPECT_STREQ(api.status_name(CUBLAS_STATUS_SUCCESS), "CUBLAS_STATUS_SUCCESS");
  EXPECT_NE(api.sgemm, nullptr);
}

}  // namespace
}  // namespace grainscope::gnn
