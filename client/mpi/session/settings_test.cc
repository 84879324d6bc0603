// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/settings.h"

#include <stdlib.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/process/time_slice.h"
#include "base/testing/status_matchers.h"
#include "client/mpi/api/wait_time.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

using copse::testing::Names;

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }

  Settings Read(const std::vector<std::pair<const char*, const char*>>& environment) {
    Clear();
    for (const auto& [name, value] : environment) setenv(name, value, 1);
    complaints_.clear();
    return Settings::FromEnvironment(&complaints_);
  }

  Complaints complaints_;

 private:
  static void Clear() {
    for (const char* name : {"COPSE_MPI_CALLS_BEFORE", "COPSE_MPI_OFFLOAD", "COPSE_MPI_TIME_SLICE", "COPSE_MPI_STATS",
                             "COPSE_MPI_STATS_FILE", "COPSE_TIMEOUT"}) {
      unsetenv(name);
    }
  }
};

TEST_F(SettingsTest, WithoutVariablesCallsGoTheFasterWay) {
  for (const Settings& settings : {Read({}), Read({{"COPSE_MPI_OFFLOAD", "faster"},
                                                   {"COPSE_MPI_CALLS_BEFORE", ""},
                                                   {"COPSE_MPI_TIME_SLICE", ""},
                                                   {"COPSE_MPI_STATS", "0"}})}) {
    EXPECT_EQ(settings.calls_before, 64u);
    EXPECT_EQ(settings.calls_before_of_world, 4u);
    EXPECT_TRUE(settings.weighs_teams);
    EXPECT_TRUE(settings.chooses_path);
    EXPECT_EQ(settings.message_bytes_max, uint64_t{256} << 20);
    EXPECT_EQ(settings.time_slice_ns, kShortSliceNs);
    EXPECT_LT(settings.timeout_s, 0);
    EXPECT_FALSE(settings.keeps_times());
    EXPECT_TRUE(complaints_.empty());
  }
}

TEST_F(SettingsTest, VariablesAreObeyed) {
  const Settings settings = Read({{"COPSE_MPI_CALLS_BEFORE", "7"},
                                  {"COPSE_MPI_OFFLOAD", "all"},
                                  {"COPSE_MPI_TIME_SLICE", "250"},
                                  {"COPSE_MPI_STATS", "1"},
                                  {"COPSE_TIMEOUT", "2.5"}});
  EXPECT_EQ(settings.calls_before, 7u);
  EXPECT_EQ(settings.calls_before_of_world, 7u);
  EXPECT_FALSE(settings.weighs_teams);
  EXPECT_FALSE(settings.chooses_path);
  EXPECT_EQ(settings.time_slice_ns, 250'000u);
  EXPECT_EQ(settings.timeout_s, 2.5);
  EXPECT_TRUE(settings.keeps_times());
  EXPECT_EQ(settings.stats, Settings::StatsForm::kText);
  EXPECT_TRUE(complaints_.empty());
  EXPECT_EQ(Read({{"COPSE_MPI_TIME_SLICE", "0"}}).time_slice_ns, 0u);
  EXPECT_EQ(Read({{"COPSE_MPI_CALLS_BEFORE", "99999999999999999999"}}).calls_before, uint64_t{INT64_MAX});
  EXPECT_FALSE(Read({{"COPSE_MPI_CALLS_BEFORE", "3"}}).weighs_teams);
}

TEST_F(SettingsTest, StatisticsMayBeJson) {
  const Settings json = Read({{"COPSE_MPI_STATS", "json"}});
  EXPECT_EQ(json.stats, Settings::StatsForm::kJson);
  EXPECT_TRUE(json.keeps_times());
  const Settings file = Read({{"COPSE_MPI_STATS_FILE", "/tmp/stats.json"}});
  EXPECT_EQ(file.stats, Settings::StatsForm::kNone);
  EXPECT_EQ(file.stats_file, "/tmp/stats.json");
  EXPECT_TRUE(file.keeps_times());
}

TEST_F(SettingsTest, ValuesThatMakeNoSenseAreIgnoredWithALineEach) {
  const std::pair<const char*, const char*> kRows[] = {
      {"COPSE_MPI_CALLS_BEFORE", "-1"},     {"COPSE_MPI_CALLS_BEFORE", "four"}, {"COPSE_MPI_OFFLOAD", "some"},
      {"COPSE_MPI_TIME_SLICE", "99"},       {"COPSE_MPI_TIME_SLICE", "100001"}, {"COPSE_MPI_TIME_SLICE", "-1"},
      {"COPSE_MPI_TIME_SLICE", "1 second"},
  };
  for (const auto& [name, value] : kRows) {
    const Settings settings = Read({{name, value}});
    EXPECT_EQ(settings.calls_before, 64u);
    EXPECT_TRUE(settings.chooses_path);
    EXPECT_EQ(settings.time_slice_ns, kShortSliceNs);
    ASSERT_EQ(complaints_.size(), 1u);
    EXPECT_THAT(complaints_[0], Names(std::string(name) + ": ", std::string("value=") + value));
  }
}

TEST_F(SettingsTest, RanksAgreeOnTheLeast) {
  std::vector<Settings> ranks = {Read({{"COPSE_MPI_CALLS_BEFORE", "9"}}), Read({{"COPSE_MPI_OFFLOAD", "all"}})};
  ranks[1].message_bytes_max = 5;
  std::vector<Agreement> agreements;
  for (int rank = 0; rank < 2; ++rank) ranks[rank].AddTo(&agreements.emplace_back(rank, 2));
  std::vector<long long> minima;
  for (size_t i = 0; i < agreements[0].numbers().size(); ++i) {
    minima.push_back(std::min(agreements[0].numbers()[i], agreements[1].numbers()[i]));
  }
  for (int rank = 0; rank < 2; ++rank) {
    agreements[rank].Settle(minima);
    ranks[rank].Apply(&agreements[rank]);
    EXPECT_EQ(ranks[rank].calls_before, 9u);
    EXPECT_EQ(ranks[rank].calls_before_of_world, 4u);
    EXPECT_EQ(ranks[rank].message_bytes_max, 5u);
    EXPECT_FALSE(ranks[rank].weighs_teams);
    EXPECT_FALSE(ranks[rank].chooses_path);
  }
}

TEST_F(SettingsTest, ACallIsOverAfterTheTimeOutOnly) {
  Settings settings = Read({});
  EXPECT_FALSE(settings.IsOver(0));
  settings.timeout_s = 0.5;
  EXPECT_TRUE(settings.IsOver(NowSeconds() - 1));
  EXPECT_FALSE(settings.IsOver(NowSeconds() + 100));
  EXPECT_THAT(settings.TimeIsOverText(), Names("cause=caller-time-out", "limit=500"));
}

}  // namespace
}  // namespace copse::mpi
