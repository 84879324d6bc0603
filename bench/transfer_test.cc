// SPDX-License-Identifier: Apache-2.0
#include "bench/transfer.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace copse::bench {
namespace {

// The pairs compare what has come with what was sent: a cell with wrong bytes is unfinished.
TEST(TransferTest, EveryWayBringsEveryPiece) {
  std::map<std::string, int> values, ratios;
  const absl::Status status = RunTransfer({.quick = true}, [&](const Row& row) {
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.what << ": " << row.note;
    EXPECT_GT(row.p10, 0) << row.system << ": " << row.what;
    ++(row.peer.empty() ? values : ratios)[row.system];
    if (row.peer.empty()) return;
    EXPECT_EQ(row.peer, "ucx-eager");
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(values, (std::map<std::string, int>{
                        {"ucx-eager", 8}, {"ucx-eager-copied", 8}, {"ucx-put", 8}, {"ucx-rendezvous", 8}}));
  EXPECT_EQ(ratios, (std::map<std::string, int>{{"ucx-eager-copied", 8}, {"ucx-put", 8}, {"ucx-rendezvous", 8}}));
}

TEST(TransferTest, OnlyWhatIsWantedIsMeasured) {
  int rows = 0;
  const Options options = {.quick = true, .systems = {"ucx-put"}, .only = "32 KiB, throughput"};
  const absl::Status status = RunTransfer(options, [&](const Row& row) {
    EXPECT_EQ(row.system, "ucx-put");
    EXPECT_EQ(row.what, "pieces of 32 KiB, throughput");
    EXPECT_EQ(row.unit, "MB/s");
    ++rows;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(rows, 1);
}

}  // namespace
}  // namespace copse::bench
