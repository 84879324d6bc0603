// SPDX-License-Identifier: Apache-2.0
//
// Tests the inner part of tools/demo on a small cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/string_view.h"
#include "collectives/collective.h"
#include "testbed/netns/leftovers.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"
#include "testbed/processes/temp_folder.h"

namespace copse::demo {
namespace {

using procs::ChildProcess;

constexpr absl::Duration kPatience = absl::Minutes(2);

// Waits for the ends of all processes that have `folder` in their arguments or environment.
void ExpectNoProcessUses(const std::string& folder) {
  const absl::Time deadline = absl::Now() + kPatience;
  std::vector<std::string> left;
  do {
    left = netns::ProcessesWith(folder);
  } while (!left.empty() && absl::Now() < deadline);
  EXPECT_EQ(left, std::vector<std::string>());
}

class DemoTest : public testing::Test {
 protected:
  void TearDown() override {
    if (HasFailure()) ADD_FAILURE() << procs::ContentOf(log_);
  }

  void Start(std::vector<std::string> arguments) {
    const auto program = procs::FindProgram("testbed/demo/demo");
    ASSERT_TRUE(program.ok()) << program.status();
    arguments.insert(arguments.begin(), {*program, "--folder", folder_.path()});
    procs::ChildOptions options = {.arguments = arguments, .stdout_pipe = true, .log_file = log_};
    if (const char* folder = getenv("COPSE_BIN_DIR")) options.environment["COPSE_BIN_DIR"] = folder;
    auto child = ChildProcess::Start(options);
    ASSERT_TRUE(child.ok()) << child.status();
    demo_ = *std::move(child);
  }
  // Returns the output up to a line that starts with `start`, or to the end.
  std::string ReadUntil(const std::string& start) {
    std::string text;
    for (;;) {
      const absl::StatusOr<std::string> line = demo_->ReadLine(kPatience);
      if (!line.ok()) {
        EXPECT_TRUE(absl::IsOutOfRange(line.status())) << line.status();
        return text;
      }
      absl::StrAppend(&text, *line, "\n");
      if (!start.empty() && absl::StartsWith(*line, start)) return text;
    }
  }
  int ExitCode() {
    const absl::Status ended = demo_->AwaitEnd(kPatience);
    EXPECT_TRUE(ended.ok()) << ended;
    return ended.ok() ? demo_->exit_code() : -1;
  }

  const procs::TempFolder folder_;
  const std::string log_ = folder_ / "log";
  std::unique_ptr<ChildProcess> demo_;
};

TEST_F(DemoTest, ShowsResultsAndAdministrationAndLeavesNothing) {
  Start({"--nodes", "3", "--ppn", "2"});
  const std::string text = ReadUntil("");
  EXPECT_EQ(ExitCode(), 0) << text;
  std::vector<std::string> wanted = {"$ copsectl node list",
                                     "$ copsectl team list",
                                     "$ copsectl plan list",
                                     "$ copsectl plan explain",
                                     "results were right on all 6 processes",
                                     "  priced at  "};
  for (int c = 0; c < kCollectiveCount; ++c) {
    wanted.push_back(absl::StrCat("\n", AbslView(CollectiveName(static_cast<Collective>(c))), " "));
  }
  for (const std::string& part : wanted) EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  EXPECT_FALSE(absl::StrContains(text, "WRONG")) << text;
  // The plan of the longest class makes an alltoallv of a few bytes.
  EXPECT_THAT(text, ::testing::ContainsRegex("\nalltoallv +int64 .* 262144 +[0-9.]+  ok\n"));
  EXPECT_FALSE(absl::StrContains(text, " ? ")) << text;  // a missing plan
  ExpectNoProcessUses(folder_.path());
  for (const auto& left : std::filesystem::directory_iterator(folder_.path())) EXPECT_EQ(left.path(), log_);
}

TEST_F(DemoTest, OneProcessAlone) {
  Start({"--nodes", "1", "--ppn", "1"});
  const std::string text = ReadUntil("");
  EXPECT_EQ(ExitCode(), 0) << text;
}

TEST_F(DemoTest, InterruptedLeavesNoProcess) {
  Start({"--nodes", "2", "--ppn", "2"});
  ReadUntil("barrier");
  demo_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 128 + SIGTERM);
  ExpectNoProcessUses(folder_.path());
}

TEST_F(DemoTest, KeptUpUntilItIsTold) {
  Start({"--nodes", "2", "--ppn", "1", "--keep"});
  const std::string text = ReadUntil("  export COPSE_SOCKET");
  EXPECT_TRUE(absl::StrContains(text, "export COPSECTL_ENDPOINT=127.0.0.1:")) << text;
  demo_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 0) << text;
  ExpectNoProcessUses(folder_.path());
}

TEST_F(DemoTest, BadUsage) {
  Start({"--nodes", "0"});
  EXPECT_EQ(ExitCode(), 2);
}

}  // namespace
}  // namespace copse::demo
