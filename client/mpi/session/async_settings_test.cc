// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/async_settings.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "client/mpi/session/agreement.h"
#include "client/tnbc/trace/trace_file.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

using copse::testing::Names;
using copse::testing::NamesMatcher;

// Ranks that settle what their environments say, in one process.
class AsyncSettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/async_settings";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    Clear();
  }
  void TearDown() override { Clear(); }

  std::string Profile(const std::string& name, const std::string& order) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "copse-profile 1\norder communicator=1 collective=bcast length=4 parts=2 order=" << order
                        << "\n";
    return path;
  }
  // A rank of these settings; adds to what rank 0 says.
  void AddRank(const std::string& order, const std::string& profile, const std::string& trace = "") {
    Clear();
    if (!order.empty()) setenv("COPSE_TNBC_ORDER", order.c_str(), 1);
    if (!profile.empty()) setenv("COPSE_TNBC_PROFILE", profile.c_str(), 1);
    if (!trace.empty()) setenv("COPSE_TNBC_TRACE", trace.c_str(), 1);
    ::testing::internal::CaptureStderr();
    ranks_.push_back(AsyncSettings::FromEnvironment(ranks_.empty()));
    said_ += ::testing::internal::GetCapturedStderr();
  }
  void Settle() {
    const int size = static_cast<int>(ranks_.size());
    std::vector<Agreement> agreements;
    std::vector<long long> minima;
    for (int rank = 0; rank < size; ++rank) {
      ranks_[rank].AddTo(&agreements.emplace_back(rank, size));
      const std::span<const long long> mine = agreements.back().numbers();
      minima.resize(mine.size(), std::numeric_limits<long long>::max());
      for (size_t i = 0; i < mine.size(); ++i) minima[i] = std::min(minima[i], mine[i]);
    }
    ::testing::internal::CaptureStderr();
    for (int rank = 0; rank < size; ++rank) {
      agreements[rank].Settle(minima);
      ranks_[rank].Apply(rank, size, &agreements[rank]);
    }
    said_ += ::testing::internal::GetCapturedStderr();
  }
  void ExpectOrder(FragmentOrder order) const {
    for (const AsyncSettings& settings : ranks_) {
      EXPECT_EQ(settings.order, order);
      EXPECT_EQ(settings.profile.has_value(), order == FragmentOrder::kProfile);
      EXPECT_EQ(settings.launch, ranks_[0].launch);
    }
  }

  void ExpectSaidOnce(const NamesMatcher& names) const {
    EXPECT_EQ(std::count(said_.begin(), said_.end(), '\n'), 1) << said_;
    EXPECT_THAT(said_, names);
  }

  std::string folder_, said_;
  std::vector<AsyncSettings> ranks_;

 private:
  static void Clear() {
    for (const char* name : {"COPSE_TNBC_ORDER", "COPSE_TNBC_PROFILE", "COPSE_TNBC_TRACE"}) unsetenv(name);
  }
};

TEST_F(AsyncSettingsTest, OrdersAreLearnedUnlessThereIsAProfile) {
  for (int rank = 0; rank < 3; ++rank) AddRank("", "");
  Settle();
  ExpectOrder(FragmentOrder::kLearned);
  ranks_.clear();
  for (int rank = 0; rank < 3; ++rank) AddRank("", Profile("profile" + std::to_string(rank), "1,0"));
  Settle();
  ExpectOrder(FragmentOrder::kProfile);
  EXPECT_EQ(said_, "");
}

TEST_F(AsyncSettingsTest, TheLeastOfTheOrdersHolds) {
  AddRank("profile", Profile("profile", "1,0"));
  AddRank("off", Profile("profile", "1,0"));
  Settle();
  ExpectOrder(FragmentOrder::kOff);
  EXPECT_EQ(said_, "");
}

TEST_F(AsyncSettingsTest, ProfilesThatDifferAreIgnored) {
  AddRank("", Profile("one", "1,0"));
  AddRank("", Profile("other", "0,1"));
  Settle();
  ExpectOrder(FragmentOrder::kLearned);
  ExpectSaidOnce(Names("copse-mpi: COPSE_TNBC_PROFILE: ", "value=" + folder_ + "/one"));
}

TEST_F(AsyncSettingsTest, TheFirstRankWithoutAProfileSaysWhy) {
  AddRank("", Profile("good", "1,0"));
  AddRank("", folder_ + "/none");
  AddRank("", Profile("bad", "1,1"));
  Settle();
  ExpectOrder(FragmentOrder::kLearned);
  ExpectSaidOnce(Names("copse-mpi: COPSE_TNBC_PROFILE: " + folder_ + "/none: "));
}

TEST_F(AsyncSettingsTest, ValuesThatMeanNothingAreSaidByRankZero) {
  AddRank("best", "");
  AddRank("best", "");
  Settle();
  ExpectOrder(FragmentOrder::kLearned);
  ExpectSaidOnce(Names("copse-mpi: COPSE_TNBC_ORDER: ", "value=best"));
  said_.clear();
  ranks_.clear();
  AddRank("profile", "");
  AddRank("profile", "");
  Settle();
  ExpectOrder(FragmentOrder::kLearned);
  ExpectSaidOnce(Names("copse-mpi: COPSE_TNBC_ORDER: ", "COPSE_TNBC_PROFILE", "value=profile"));
}

TEST_F(AsyncSettingsTest, AFolderForTracesIsMadeAndABadOneIsSaidOnce) {
  const std::string file = Profile("file", "1,0");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);  // as a folder may have
  AddRank("", "", folder_ + "/traces");
  AddRank("", "", folder_ + "/no/traces");
  AddRank("", "", file);
  Settle();
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/traces"));
  EXPECT_EQ(ranks_[0].trace_folder, folder_ + "/traces");
  EXPECT_EQ(ranks_[1].trace_folder, "");
  EXPECT_EQ(ranks_[2].trace_folder, "");
  ExpectSaidOnce(Names("copse-mpi: COPSE_TNBC_TRACE: ", "value=" + folder_ + "/no/traces", "rank 1"));
}

TEST_F(AsyncSettingsTest, ATraceThatCannotBeWrittenAndCallsThatAreLeftOutAreSaid) {
  tnbc::TraceFile trace;
  trace.rank = 2;
  trace.ranks = 3;
  trace.left_out = 5;
  ::testing::internal::CaptureStderr();
  WriteTrace(folder_, trace);
  said_ = ::testing::internal::GetCapturedStderr();
  ExpectSaidOnce(Names("copse-mpi: COPSE_TNBC_TRACE: ", "rank=2", "left_out=5"));
  trace.left_out = 0;
  ::testing::internal::CaptureStderr();
  WriteTrace(folder_ + "/none", trace);
  said_ = ::testing::internal::GetCapturedStderr();
  ExpectSaidOnce(Names("copse-mpi: COPSE_TNBC_TRACE: ", folder_ + "/none/2.copse-trace: "));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/2.copse-trace"));
}

}  // namespace
}  // namespace copse::mpi
