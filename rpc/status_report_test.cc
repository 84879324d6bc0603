// SPDX-License-Identifier: Apache-2.0
#include "rpc/status_report.h"

#include <string>

#include "gtest/gtest.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::rpc {
namespace {

schedule::DaemonStatus Status() {
  schedule::DaemonStatus status{.node = "n1", .counters = {{"calls.in_flight", 2}}};
  status.latencies.push_back({.sum_ns = 7, .buckets = {{3, 1}}});
  status.accounts.push_back({.uid = 1000, .job = "j", .claimed = {"c"}, .holdings = {{"teams", 1, 4}}});
  for (const double age_s : {4.9, 5.0}) status.calls.push_back({.sequence = CallSeq(age_s > 4.95), .age_s = age_s});
  status.progress.push_back({TeamId(1), Rank(2), CallSeq(3)});
  return status;
}

TEST(StatusReportTest, ItsPartsAreOneRowTogether) {
  const schedule::StatusReport report = ReportOf(Status());
  v1::NodeStats row;
  ASSERT_TRUE(row.ParseFromString(report.counters));
  EXPECT_EQ(row.latencies_size() + row.accounts_size(), 0);
  ASSERT_TRUE(row.ParseFromString(report.counters + report.latencies + report.accounts));
  EXPECT_EQ(row.counters().at("calls.in_flight"), 2u);
  EXPECT_EQ(row.latencies(0).sum_ns(), 7u);
  EXPECT_EQ(row.accounts(0).job(), "j");
  EXPECT_EQ(row.accounts(0).claimed(0), "c");
  EXPECT_EQ(row.accounts(0).holdings(0).limit(), 4u);
}

TEST(StatusReportTest, OfCallsItHasThoseInFlightForLong) {
  const schedule::StatusReport report = ReportOf(Status());
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_EQ(report.calls[0].sequence, CallSeq(1));
  EXPECT_EQ(report.progress, Status().progress);
}

TEST(StatusReportTest, RowsThatAreTooLongAreLeftOut) {
  schedule::DaemonStatus status = Status();
  status.accounts[0].claimed.assign(kReportRowsBytesMax / 1024, std::string(1024, 'c'));
  const schedule::StatusReport report = ReportOf(status);
  EXPECT_EQ(report.accounts, "");
  EXPECT_NE(report.counters, "");
}

}  // namespace
}  // namespace copse::rpc
