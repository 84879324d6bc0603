// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/audit_log.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace copse::planner {
namespace {

TEST(AuditLogTest, TheLastRecordsAreKept) {
  AuditLog log("/file");
  for (size_t i = 0; i < AuditLog::kRecordsMax + 5; ++i) log.Add({.who = absl::StrCat(i)});
  EXPECT_EQ(log.records().size(), AuditLog::kRecordsMax);
  EXPECT_EQ(log.records().front().who, "5");
}

}  // namespace
}  // namespace copse::planner
