// SPDX-License-Identifier: Apache-2.0

#include "base/string_view.h"

#include <string_view>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace copse {
namespace {

TEST(StringViewTest, ConvertsBothWaysWithoutCopying) {
  const std::string_view text("a\0b", 3);
  EXPECT_EQ(AbslView(text).data(), text.data());
  EXPECT_EQ(AbslView(text).size(), 3u);
  EXPECT_EQ(StdView(AbslView(text)), text);
  EXPECT_EQ(absl::StrCat(AbslView("x"), 1), "x1");
}

}  // namespace
}  // namespace copse
