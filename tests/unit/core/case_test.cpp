#include "grainscope/core/case.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace grainscope {
namespace {

Case copy_case() {
  return {"transfer/memcpy",
          {{"path", "pinned_to_gpu", AxisStyle::bare},
           {"flush", "on"},
           {"locality", "local", AxisStyle::hidden},
           {"bytes", std::int64_t{4096}}},
          {{"numa", 1}, {"gpu", 0}}};
}

TEST(CaseName, is_family_then_bare_axes_then_site_then_keyed_axes) {
  EXPECT_EQ(copy_case().name(), "transfer/memcpy/pinned_to_gpu/numa:1/gpu:0/flush:on/bytes:4096");
}

TEST(CaseName, site_and_axes_keep_their_order) {
  Case other = copy_case();
  std::swap(other.site[0], other.site[1]);
  std::swap(other.axes[1], other.axes[3]);
  EXPECT_EQ(other.name(), "transfer/memcpy/pinned_to_gpu/gpu:0/numa:1/bytes:4096/flush:on");
}

TEST(CaseName, hidden_axes_do_not_show) {
  Case other = copy_case();
  other.axes[2].value = "remote";
  EXPECT_EQ(other.name(), copy_case().name());
}

TEST(CaseName, without_axes_and_site_is_the_family) {
  EXPECT_EQ((Case{"host/empty", {}, {}}).name(), "host/empty");
}

TEST(CaseAxis, finds_every_axis_whether_it_shows_or_not) {
  const Case id = copy_case();
  EXPECT_EQ(std::get<std::string>(id.axis("path")), "pinned_to_gpu");
  EXPECT_EQ(std::get<std::string>(id.axis("locality")), "local");
  EXPECT_EQ(std::get<std::int64_t>(id.axis("bytes")), 4096);
}

TEST(CaseAxis, a_missing_one_is_named) {
  try {
    static_cast<void>(copy_case().axis("threads"));
    FAIL() << "an axis that is not there was found";
  } catch (const std::out_of_range& error) {
    EXPECT_NE(std::string(error.what()).find("'threads'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(copy_case().name()), std::string::npos) << error.what();
  }
}

TEST(CaseAxis, a_site_is_not_an_axis) {
  EXPECT_THROW(static_cast<void>(copy_case().axis("gpu")), std::out_of_range);
}

TEST(AxisValueText, numbers_and_words_show_as_they_are) {
  EXPECT_EQ(to_string(AxisValue(std::int64_t{-3})), "-3");
  EXPECT_EQ(to_string(AxisValue("4KiB")), "4KiB");
}

}  // namespace
}  // namespace grainscope
