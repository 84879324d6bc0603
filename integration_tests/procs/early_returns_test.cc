// SPDX-License-Identifier: Apache-2.0
//
// libcopse's blocking calls, returning early: results in whatever order they are looked at, random calls, a member that
// dies while data is under way. Daemons and programs are real.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/procs/programs.h"
#include "integration_tests/procs/random_team.h"

namespace copse::procs {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(100);
constexpr uint32_t kRanks = 4;  // two a node
constexpr int kSegmentationFault = 128 + SIGSEGV;

class EarlyReturnsTest : public ClusterFixture {
 protected:
  using Environment = std::map<std::string, std::string>;

  void SetUp() override { ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok()); }

  void Launch(const std::string& what, const Environment& environment, const Environment& of_rank_zero = {}) {
    const auto program = FindProgram("integration_tests/procs/early_client");
    ASSERT_TRUE(program.ok()) << program.status();
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const Environment& own = rank == 0 && !of_rank_zero.empty() ? of_rank_zero : environment;
      auto process =
          cluster_.StartApplication(rank / 2, {*program, absl::StrCat(rank), absl::StrCat(kRanks), what}, own);
      ASSERT_TRUE(process.ok()) << process.status();
      ranks_.push_back(*std::move(process));
    }
  }
  void ExpectLine(uint32_t rank, const std::string& expected) {
    const auto line = ranks_[rank]->ReadLine(kPatience);
    ASSERT_TRUE(line.ok()) << line.status() << ": " << ranks_[rank]->DescribeFailure();
    EXPECT_EQ(*line, expected) << "rank " << rank;
  }
  void ExpectEnd(uint32_t rank, int code) {
    const absl::Status end = ranks_[rank]->AwaitEnd(kPatience);
    ASSERT_TRUE(end.ok()) << "rank " << rank << ": " << end;
    EXPECT_EQ(ranks_[rank]->exit_code(), code) << "rank " << rank << ": " << ranks_[rank]->DescribeFailure();
  }
  // What the ranks have written to standard error.
  std::string Errors() const {
    std::ostringstream text;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      text << std::ifstream(absl::StrCat(cluster_.folder(), "/a", rank, ".log")).rdbuf();
    }
    return text.str();
  }
  // Calls that returned early, by what the ranks say at their ends.
  uint64_t EarlyCalls() const {
    const std::string text = Errors();
    constexpr char kBeginning[] = "early returns: ";
    uint64_t calls = 0;
    for (size_t at = text.find(kBeginning); at != std::string::npos; at = text.find(kBeginning, at + 1)) {
      calls += std::stoull(text.substr(at + sizeof(kBeginning) - 1));
    }
    return calls;
  }
  void ExpectResults(const Environment& environment, const std::string& mode, const std::string& what = "results") {
    Launch(what, environment);
    for (uint32_t rank = 0; rank < kRanks; ++rank) ExpectLine(rank, "mode " + mode);
    for (uint32_t rank = 0; rank < kRanks; ++rank) ExpectEnd(rank, 0);
  }

  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

TEST_F(EarlyReturnsTest, ResultsAreRightInWhateverOrderTheyAreLookedAt) {
  ExpectResults({{"COPSE_TNBC", "on"}, {"COPSE_TNBC_STATS", "1"}}, "2");
  EXPECT_GT(EarlyCalls(), kRanks * 6 * 4) << Errors();
}

TEST_F(EarlyReturnsTest, WhereTheyAreMeasuredToPay) {
  ExpectResults({{"COPSE_TNBC", "auto"}, {"COPSE_TNBC_STATS", "1"}}, "1");
  EXPECT_GT(EarlyCalls(), 0u) << Errors();
}

TEST_F(EarlyReturnsTest, ChildrenOfThoseThatHaveThem) {
  Launch("results_of_child", {{"COPSE_TNBC", "on"}, {"COPSE_TNBC_STATS", "1"}});
  for (uint32_t rank = 0; rank < kRanks; ++rank) ExpectLine(rank, "mode 2");
  for (uint32_t rank = 0; rank < kRanks; ++rank) ExpectEnd(rank, 0);
  EXPECT_GT(EarlyCalls(), 0u) << Errors();
}

TEST_F(EarlyReturnsTest, NoneUnlessAskedFor) {
  ExpectResults({{"COPSE_TNBC_STATS", "1"}}, "0", "results_once");
  EXPECT_EQ(Errors(), "");
}

TEST_F(EarlyReturnsTest, AModeThatIsNoneIsRefused) {
  Launch("results", {{"COPSE_TNBC", "perhaps"}});
  for (uint32_t rank = 0; rank < kRanks; ++rank) ExpectEnd(rank, 1);
  EXPECT_TRUE(absl::StrContains(Errors(), "COPSE_TNBC is none of off, auto and on (value=perhaps)")) << Errors();
}

TEST_F(EarlyReturnsTest, RanksThatChooseDifferentlyAreTold) {
  Launch("results", {{"COPSE_TNBC", "on"}}, {{"COPSE_TNBC", "off"}});
  for (uint32_t rank = 0; rank < kRanks; ++rank) ExpectEnd(rank, 1);
  // In the call, or where one has not heard yet that the team is ready.
  const std::string errors = Errors();
  const std::vector<std::string> lines = absl::StrSplit(errors, '\n');
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                            [rank](const std::string& line) {
                              return absl::StrContains(line, absl::StrCat("early_client: rank ", rank, ": ")) &&
                                     absl::StrContains(line, "arguments differ: rank 0 on node n0 gave bcast");
                            }))
        << rank << " of\n"
        << errors;
  }
}

TEST_F(EarlyReturnsTest, ALateFailureIsToldByTheNextCall) {
  Launch("member_dies", {{"COPSE_TNBC", "on"}});
  for (uint32_t rank = 0; rank < kRanks; ++rank) ExpectLine(rank, "mode 2");
  for (uint32_t rank = 0; rank + 1 < kRanks; ++rank) ExpectLine(rank, "returned");
  ranks_[kRanks - 1]->Signal(SIGKILL);
  ExpectEnd(0, kSegmentationFault);
  ExpectEnd(1, 0);
  ExpectEnd(2, 0);
  EXPECT_TRUE(absl::StrContains(Errors(), "memory was touched whose data is lost, after copse: ")) << Errors();
}

TEST_F(EarlyReturnsTest, RandomCalls) {
  const Environment environment = {{"COPSE_TNBC", "on"}, {"COPSE_TNBC_STATS", "1"}};
  RunRandomTeam(&cluster_,
                {.nodes = {0, 1, 1}, .seed = 5, .rounds = 80, .bytes_max = 2 << 20, .environment = environment});
  EXPECT_GT(EarlyCalls(), 0u) << Errors();
}

}  // namespace
}  // namespace copse::procs
