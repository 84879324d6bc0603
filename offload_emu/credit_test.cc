// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/credit.h"

#include "gtest/gtest.h"

namespace copse::emu {
namespace {

TEST(NearestCallTest, PlacesSixteenBits) {
  EXPECT_EQ(NearestCall(0, 0), 0u);
  EXPECT_EQ(NearestCall(0, 7), 7u);
  EXPECT_EQ(NearestCall(70'000, static_cast<uint16_t>(70'003)), 70'003u);
  EXPECT_EQ(NearestCall(70'000, static_cast<uint16_t>(69'000)), 69'000u);
  EXPECT_EQ(NearestCall(65'535, 2), 65'538u);
  EXPECT_EQ(NearestCall(3, 65'535), 0u);  // before the first call: a peer's error
}

TEST(CreditTest, ReportsThatAreOldOrRepeatedGiveNothing) {
  Credit credit(4);
  EXPECT_TRUE(credit.MaySend(3));
  EXPECT_FALSE(credit.MaySend(4));
  EXPECT_TRUE(credit.Heard(2, 0));
  EXPECT_FALSE(credit.Heard(2, 0));
  EXPECT_FALSE(credit.Heard(1, 0));
  EXPECT_TRUE(credit.MaySend(5));
  EXPECT_FALSE(credit.MaySend(6));
}

TEST(CreditTest, AsksOnceAStallForTheEarliestCall) {
  Credit credit(4);
  EXPECT_TRUE(credit.Stall(6));
  EXPECT_FALSE(credit.Stall(5));
  EXPECT_TRUE(credit.ask_due());
  EXPECT_EQ(credit.TakeAsk(), 5);
  EXPECT_FALSE(credit.ask_due());
  EXPECT_FALSE(credit.Stall(7));
  EXPECT_FALSE(credit.ask_due());
  EXPECT_TRUE(credit.Heard(1, 0));
  EXPECT_TRUE(credit.Stall(6));
  EXPECT_EQ(credit.TakeAsk(), 6);
}

TEST(CreditTest, IsReportedAfterHalfTheWindowWhereDataCameIn) {
  Credit credit(8);
  EXPECT_FALSE(credit.ReportDue(100));
  credit.DataArrived();
  EXPECT_TRUE(credit.ReportDue(4));
  EXPECT_FALSE(credit.ReportDue(3));
  EXPECT_EQ(credit.Report(4), 4);
  EXPECT_FALSE(credit.ReportDue(100));
  credit.DataArrived();
  EXPECT_FALSE(credit.ReportDue(7));
  EXPECT_TRUE(credit.ReportDue(8));
}

TEST(CreditTest, AWindowOfOneIsReportedEveryCall) {
  Credit credit(1);
  credit.DataArrived();
  EXPECT_FALSE(credit.ReportDue(0));
  EXPECT_TRUE(credit.ReportDue(1));
}

TEST(CreditTest, AnAskIsRememberedUntilItCanBeMet) {
  Credit credit(4);
  credit.Asked(5);
  EXPECT_FALSE(credit.ReportDue(1));
  EXPECT_EQ(credit.Report(1), 1);  // piggybacked; the ask stands
  EXPECT_TRUE(credit.ReportDue(2));
  EXPECT_EQ(credit.Report(2), 2);
  EXPECT_FALSE(credit.ReportDue(2));
}

TEST(CreditTest, AQuestionThatCameLateOrTwiceReplacesNoNewerOne) {
  Credit credit(4);
  credit.Asked(5);
  EXPECT_EQ(credit.Report(2), 2);
  credit.Asked(9);
  credit.Asked(5);  // again
  EXPECT_FALSE(credit.ReportDue(5));
  EXPECT_TRUE(credit.ReportDue(6));
  credit.Asked(8);  // the lower one waits, too; it asks for the other again
  EXPECT_TRUE(credit.ReportDue(5));
  credit.Asked(9);
  EXPECT_TRUE(credit.ReportDue(5));
  EXPECT_EQ(credit.Report(5), 5);
  EXPECT_FALSE(credit.ReportDue(6));
}

}  // namespace
}  // namespace copse::emu
