// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/copse_trace.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "client/tnbc/trace/order_profile.h"
#include "client/tnbc/trace/trace_file.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace copse::trace {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// CopseTraceTest has traces of one call of two ranks, whose second fragment is accessed first.
class CopseTraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/copse_trace";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    Write(0, 2);
    Write(1, 2);
  }
  void Write(uint32_t rank, uint32_t ranks) { WriteFile(FileOf(rank, ranks)); }
  void WriteFile(const tnbc::TraceFile& file) {
    std::ofstream(folder_ + "/" + std::to_string(file.rank) + tnbc::kTraceSuffix) << tnbc::FormatTrace(file);
  }
  static tnbc::TraceFile FileOf(uint32_t rank, uint32_t ranks) {
    tnbc::TraceFile file;
    file.rank = rank;
    file.ranks = ranks;
    file.sites = {{"app<", 16, "main"}};
    file.kinds = {{77, ranks, rank, "alltoall", 4}};
    tnbc::TraceCall call;
    call.number = 1;
    call.early = true;
    call.inside = 1'500'000;
    call.parts = 2;
    call.order = {0, 1};
    call.pieces = {{.bytes = 4096, .parts = {0}, .there = 1'000'000, .touch = 4'000'000},
                   {.bytes = 4096, .parts = {1}, .there = 2'000'000, .touch = 500'000, .waited = 1'500'000}};
    file.calls = {call};
    return file;
  }
  // Makes four calls, read forwards and backwards from two places given by `sites`.
  static tnbc::TraceFile InTurn(uint32_t rank, const std::vector<uint32_t>& sites) {
    tnbc::TraceFile file = FileOf(rank, 2);
    file.sites.push_back({"app", 32, "main"});
    const tnbc::TraceCall call = file.calls[0];
    file.calls.clear();
    for (const uint32_t site : sites) {
      file.calls.push_back(call);
      file.calls.back().site = site;
      file.calls.back().number = file.calls.size();
      if (site == 1) std::swap(file.calls.back().pieces[0].touch, file.calls.back().pieces[1].touch);
    }
    return file;
  }
  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    return RunTrace(arguments, out_, err_);
  }

  std::string folder_;
  std::ostringstream out_, err_;
};

TEST_F(CopseTraceTest, PrintsTables) {
  ASSERT_EQ(Run({folder_}), 0) << err_.str();
  EXPECT_NE(out_.str().find("app<+0x10 (main)  alltoall    over 256 KiB  2/2    2      2      2      1.500    2.000  "
                            "1.500   0.500    0 %        1,0\n"),
            std::string::npos)
      << out_.str();
  EXPECT_NE(out_.str().find("1     2.000  0.500        1.500   100 %\n"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("alltoall    over 256 KiB  2      2      all      all   2      100 %     1,0\n"),
            std::string::npos)
      << out_.str();
}

TEST_F(CopseTraceTest, PrintsJson) {
  ASSERT_EQ(Run({folder_, "-w", "json"}), 0) << err_.str();
  const nlohmann::json json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["sites"][0]["waited_ns"], 1'500'000);
  EXPECT_EQ(json["sites"][0]["waited_at_best_ns"], 500'000);
  EXPECT_EQ(json["orders"][0]["order"], (std::vector<int>{1, 0}));
  EXPECT_TRUE(json["disagreements"].empty());
}

TEST_F(CopseTraceTest, WritesWhatItIsAskedFor) {
  const std::string plot = folder_ + "/plot.svg", file = folder_ + "/profile";
  ASSERT_EQ(Run({folder_, "--plot", plot, "--profile", file, "--check"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "2 ranks agree\n");
  const std::string picture = ReadText(plot);
  EXPECT_EQ(picture.rfind("<svg", 0), 0u);
  EXPECT_NE(picture.find("app&lt;+0x10 (main): alltoall of 2 ranks, over 256 KiB"), std::string::npos) << picture;
  tnbc::OrderProfile profile;
  EXPECT_EQ(tnbc::ParseProfile(ReadText(file), &profile), "");
  ASSERT_EQ(profile.orders.size(), 1u);
  EXPECT_EQ(profile.orders.begin()->second.order, (std::vector<uint32_t>{1, 0}));
}

TEST_F(CopseTraceTest, TellsWhatPlacesWantThatTakeTurns) {
  for (const uint32_t rank : {0, 1}) WriteFile(InTurn(rank, {0, 1, 0, 1}));
  ASSERT_EQ(Run({folder_}), 0) << err_.str();
  const std::string tables = out_.str();
  for (const char* line :
       {"alltoall    over 256 KiB  2      2      all        all               8      50 %      0,1\n",
        "1, 3, ...  app<+0x10 (main)  4      100 %     1,0\n", "2, 4, ...  app+0x20 (main)   4      100 %     0,1\n"}) {
    EXPECT_NE(tables.find(line), std::string::npos) << tables;
  }
  ASSERT_EQ(Run({folder_, "-w", "json"}), 0) << err_.str();
  const nlohmann::json order = nlohmann::json::parse(out_.str())["orders"][0];
  EXPECT_EQ(order["first"], 1);
  ASSERT_EQ(order["slots"].size(), 2u);
  EXPECT_EQ(order["slots"][0]["order"], (std::vector<int>{1, 0}));
  EXPECT_EQ(order["slots"][1]["site"], "app+0x20 (main)");
  EXPECT_EQ(order["slots"][1]["order"], (std::vector<int>{0, 1}));
  ASSERT_EQ(Run({folder_, "--profile", folder_ + "/profile"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(ReadText(folder_ + "/profile"),
            "copse-profile 1\norder communicator=000000000000004d collective=alltoall length=4 parts=2 order=0,1 "
            "period=2 first=1 slot0=1,0 slot1=0,1\n");
}

TEST_F(CopseTraceTest, SaysWhereRanksTakeOtherTurns) {
  WriteFile(InTurn(0, {0, 1, 0, 1}));
  WriteFile(InTurn(1, {0, 1, 1, 0}));
  const std::string line =
      "alltoall of 2 ranks, over 256 KiB, 2 parts: one order for all, since ranks differ: on rank 0 places take turns "
      "in a period of 2 from call 1, on rank 1 in no period of up to 16\n";
  ASSERT_EQ(Run({folder_, "--profile", folder_ + "/profile", "--check"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), line + "2 ranks agree\n");
  EXPECT_EQ(ReadText(folder_ + "/profile").find("slot"), std::string::npos);
  ASSERT_EQ(Run({folder_}), 0) << err_.str();
  EXPECT_NE(out_.str().find(line), std::string::npos) << out_.str();
  ASSERT_EQ(Run({folder_, "-w", "json"}), 0) << err_.str();
  EXPECT_EQ(nlohmann::json::parse(out_.str())["orders"][0].count("why_none"), 1u);
}

TEST_F(CopseTraceTest, SaysThatThereIsNothingToLearn) {
  for (const uint32_t rank : {0, 1}) {
    tnbc::TraceFile file = FileOf(rank, 2);
    for (tnbc::TracePiece& piece : file.calls[0].pieces) piece.touch.reset();
    WriteFile(file);
  }
  const std::string line =
      "nothing to learn: no touch of a result in parts was seen (calls=2, early=2, early in parts=2)\n";
  ASSERT_EQ(Run({folder_, "--profile", folder_ + "/profile"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), line);
  ASSERT_EQ(Run({folder_}), 0) << err_.str();
  EXPECT_NE(out_.str().find(line), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("100 %      -\n"), std::string::npos) << "no order of touches: " << out_.str();
}

TEST_F(CopseTraceTest, SaysWhatFailed) {
  EXPECT_EQ(Run({folder_ + "/none"}), 1);
  EXPECT_EQ(Run({folder_, "--plot", folder_ + "/none/plot.svg"}), 1);
  EXPECT_NE(err_.str().find("/none/plot.svg: "), std::string::npos) << err_.str();
  Write(0, 3);
  Write(1, 3);
  EXPECT_EQ(Run({folder_, "--check"}), 1);
  EXPECT_NE(out_.str().find("traces of 1 of 3 ranks are missing\n"), std::string::npos) << out_.str();
  EXPECT_EQ(err_.str().rfind("copse-trace: ", 0), 0u) << err_.str();
  EXPECT_EQ(Run({folder_, "--profile", folder_ + "/profile"}), 1);
}

TEST_F(CopseTraceTest, SaysWhatBadUsageIs) {
  EXPECT_EQ(Run({}), 2);
  EXPECT_EQ(Run({folder_, "--frobnicate"}), 2);
  EXPECT_EQ(Run({folder_, "-w", "xml"}), 2);
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_NE(out_.str().find("--profile"), std::string::npos);
  EXPECT_EQ(Run({"--version"}), 0);
  EXPECT_EQ(out_.str().rfind("copse-trace ", 0), 0u);
}

}  // namespace
}  // namespace copse::trace
