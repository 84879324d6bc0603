// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/ledger.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace copse::campaign {
namespace {

std::string NewFile(const char* name) {
  std::string file = absl::StrCat(testing::TempDir(), "/", name);
  std::remove(file.c_str());
  return file;
}

const LedgerRow kRow{.commit = "abc",
                     .cluster = "simulated",
                     .shard = "1/2",
                     .first_seed = 4,
                     .last_seed = 10,
                     .cases = 4,
                     .failed = 1,
                     .programs = 12,
                     .ended_well = 9,
                     .calls = 90,
                     .seconds = 1.5};

TEST(LedgerTest, GoesOnAfterTheLastSeedOfItsCommitClusterAndShard) {
  const Ledger ledger(NewFile("goes_on"));
  EXPECT_EQ(ledger.NextSeed(kRow, 3).value(), 3u);
  ASSERT_TRUE(ledger.Append(kRow).ok());
  LedgerRow other = kRow;
  other.shard = "2/2";
  other.last_seed = 99;
  ASSERT_TRUE(ledger.Append(other).ok());
  EXPECT_EQ(ledger.NextSeed(kRow, 3).value(), 11u);
  EXPECT_EQ(ledger.NextSeed(kRow, 20).value(), 20u);
  other.commit = "def";
  EXPECT_EQ(ledger.NextSeed(other, 3).value(), 3u);
}

TEST(LedgerTest, RowsAreReadAsTheyWereWritten) {
  const auto row = ParseRow(FormatRow(kRow));
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(FormatRow(*row), FormatRow(kRow));
  EXPECT_EQ(row->calls, 90u);
}

TEST(LedgerTest, WhatIsNoRowIsAnError) {
  const std::string file = NewFile("damaged");
  std::ofstream(file) << "abc simulated 1/2 four 10 4 1 12 9 90 1.5\n";
  EXPECT_EQ(Ledger(file).NextSeed(kRow, 3).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace copse::campaign
