// SPDX-License-Identifier: Apache-2.0
#include "cli/web/page_parts.h"

#include <gtest/gtest.h>

namespace copse::web {
namespace {

TEST(PagePartsTest, WhatHasChangedComesAlone) {
  PageParts parts;
  EXPECT_EQ(parts.After(0), R"({"version":0})");
  parts.Set("nodes", "[1]");
  parts.Set("teams", "[]");
  EXPECT_EQ(parts.After(0), R"({"version":2,"nodes":[1],"teams":[]})");
  EXPECT_EQ(parts.After(2), R"({"version":2})");
  parts.Set("nodes", "[1]");
  EXPECT_EQ(parts.After(2), R"({"version":2})");
  parts.Set("nodes", "[2]");
  EXPECT_EQ(parts.After(2), R"({"version":3,"nodes":[2]})");
}

TEST(PagePartsTest, AVersionOfAnotherProgramGetsAll) {
  PageParts parts;
  parts.Set("nodes", "[1]");
  EXPECT_EQ(parts.After(7), R"({"version":1,"nodes":[1]})");
}

TEST(PagePartsTest, WhatWasForgottenComesAgain) {
  PageParts parts;
  parts.Set("nodes", "[1]");
  parts.Clear();
  EXPECT_EQ(parts.After(0), R"({"version":1})");
  parts.Set("nodes", "[1]");
  EXPECT_EQ(parts.After(1), R"({"version":2,"nodes":[1]})");
}

}  // namespace
}  // namespace copse::web
