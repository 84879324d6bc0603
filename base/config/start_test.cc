// SPDX-License-Identifier: Apache-2.0
#include "base/config/start.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::config {
namespace {

using ::testing::MatchesRegex;

struct Fixture {
  Config config{"copsed", {{.name = "listen", .default_text = "a", .comment = "Where."}}};
  std::string out, err;
  int reads = 0;
  bool in_journal = false;
  absl::Status bad = absl::InvalidArgumentError("listen: bad (listen=bad)");

  Started Run(std::vector<std::string> arguments) {
    std::vector<char*> argv = {const_cast<char*>("copsed")};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    struct stat status = {};
    EXPECT_EQ(fstat(STDERR_FILENO, &status), 0);
    if (in_journal) setenv("JOURNAL_STREAM", absl::StrCat(status.st_dev, ":", status.st_ino).c_str(), 1);
    Started started =
        Start(static_cast<int>(argv.size()), argv.data(),
              {.summary = "Does things.",
               .default_file = "/nonexistent/copsed.yaml",
               .flags = {{"port-file", "FILE", "Where to write the port."},
                         {.name = "check-state", .help = "Checks the state."},
                         {.name = "listen", .value_name = "HOST:PORT", .help = "Where.", .sets_key = true}},
               .read =
                   [this](const Config& loaded) {
                     ++reads;
                     EXPECT_EQ(loaded.Text("listen"), config.Text("listen"));
                     return loaded.Text("listen") == "bad" ? bad : absl::OkStatus();
                   }},
              &config);
    out = ::testing::internal::GetCapturedStdout();
    err = ::testing::internal::GetCapturedStderr();
    return started;
  }
};

TEST(StartTest, AFlagOfAKeyIsItsSetting) {
  Fixture fixture;
  const Started started = fixture.Run({"--listen", "b"});
  EXPECT_FALSE(started.exit_code.has_value()) << fixture.err;
  EXPECT_EQ(fixture.config.Text("listen"), "b");
  EXPECT_TRUE(started.flags.empty());
  EXPECT_EQ(fixture.Run({"--listen", "b", "--set", "listen=bad"}).exit_code, kExitUsage);
}

TEST(StartTest, GoesOnWithDefaults) {
  Fixture f;
  const Started started = f.Run({"--port-file", "p", "--set=listen=b"});
  EXPECT_FALSE(started.exit_code.has_value());
  EXPECT_EQ(started.flags.at("port-file"), "p");
  EXPECT_EQ(f.config.Text("listen"), "b");
  EXPECT_EQ(started.sources.settings.size(), 1u);
}

TEST(StartTest, ASwitchTakesNoValue) {
  Fixture f;
  const Started started = f.Run({"--check-state", "--set", "listen=b"});
  EXPECT_FALSE(started.exit_code.has_value());
  EXPECT_EQ(started.flags.count("check-state"), 1u);
  EXPECT_EQ(f.config.Text("listen"), "b");
  EXPECT_EQ(f.Run({}).flags.count("check-state"), 0u);
  EXPECT_EQ(f.Run({"--check-state=yes"}).exit_code, 2);
}

TEST(StartTest, HelpVersionAndConfigEndWithZero) {
  Fixture f;
  EXPECT_EQ(f.Run({"--help"}).exit_code, 0);
  EXPECT_NE(f.out.find("--port-file FILE"), std::string::npos) << f.out;
  EXPECT_NE(f.out.find("COPSED_KEY"), std::string::npos) << f.out;
  EXPECT_EQ(f.Run({"--version"}).exit_code, 0);
  EXPECT_EQ(f.out.substr(0, 7), "copsed ");
  EXPECT_EQ(f.Run({"--check-config"}).exit_code, 0);
  EXPECT_THAT(f.out, MatchesRegex("[^\n]*ok \\(file=/nonexistent/copsed.yaml\\)\n"));
  const std::string file = ::testing::TempDir() + "/copsed.yaml";
  std::ofstream(file) << "listen: there\n";
  EXPECT_EQ(f.Run({"--check-config", "--config", file}).exit_code, 0);
  EXPECT_EQ(f.out, file + ": ok\n");
  EXPECT_EQ(f.Run({"--check-config", "--set=listen=bad"}).exit_code, 2);
  EXPECT_EQ(f.out, "");
  EXPECT_EQ(f.Run({"--print-config", "--check-config"}).exit_code, 0);
  EXPECT_EQ(f.out.find("ok"), std::string::npos) << f.out;
  EXPECT_EQ(f.Run({"--print-config", "--set", "listen=q"}).exit_code, 0);
  EXPECT_NE(f.out.find("listen: q\n"), std::string::npos) << f.out;
}

TEST(StartTest, ReadsOnceUnlessKeysAreOnlyPrinted) {
  Fixture f;
  EXPECT_FALSE(f.Run({}).exit_code.has_value());
  EXPECT_EQ(f.reads, 1);
  for (const char* flag : {"--help", "--version", "--print-config"}) EXPECT_EQ(f.Run({flag}).exit_code, 0);
  EXPECT_EQ(f.Run({"--check-config", "--help"}).exit_code, 0);
  EXPECT_EQ(f.reads, 1);
  EXPECT_EQ(f.Run({"--print-config", "--check-config"}).exit_code, 0);
  EXPECT_EQ(f.reads, 2);
}

TEST(StartTest, WhatCannotBeReadEndsTheProgram) {
  Fixture f;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--set=listen=bad"}, {"--set=listen=bad", "--check-config"}}) {
    EXPECT_EQ(f.Run(arguments).exit_code, 2);
    EXPECT_THAT(f.err, MatchesRegex("copsed: [^\n]*\\(listen=bad\\)\n"));
  }
  EXPECT_EQ(f.Run({"--set=listen=bad", "--print-config"}).exit_code, 0);
}

TEST(StartTest, WhatMayPassIsOneSoThatItIsTriedAgain) {
  Fixture f;
  for (const absl::Status& passing : {absl::NotFoundError("no file"), absl::FailedPreconditionError("in use"),
                                      absl::AlreadyExistsError("taken"), absl::UnavailableError("no device")}) {
    f.bad = passing;
    EXPECT_EQ(f.Run({"--set=listen=bad"}).exit_code, 1) << passing;
    EXPECT_EQ(f.Run({"--set=listen=bad", "--check-config"}).exit_code, 1) << passing;
  }
}

TEST(StartTest, ErrorsAreOneLineAndTwo) {
  Fixture f;
  EXPECT_EQ(f.Run({"--wat"}).exit_code, 2);
  EXPECT_THAT(f.err, MatchesRegex("copsed: [^\n]*\\(argument=--wat\\)\n"));
  EXPECT_EQ(f.Run({"--config"}).exit_code, 2);
  EXPECT_THAT(f.err, MatchesRegex("copsed: [^\n]*\\(flag=--config\\)\n"));
  EXPECT_EQ(f.Run({"--config", "/nonexistent/y"}).exit_code, 1);
  EXPECT_THAT(f.err, MatchesRegex("copsed: [^\n]*\\(file=/nonexistent/y\\)\n"));
  EXPECT_EQ(f.Run({"--set", "foo=1"}).exit_code, 2);
  EXPECT_THAT(f.err, MatchesRegex("copsed: [^\n]*\\(key=foo, flag=--set\\)\n"));
}

// The journal takes "<3>" before a line for its priority, an error.
TEST(StartTest, ErrorsHaveTheirPriorityInTheJournal) {
  Fixture f;
  f.in_journal = true;
  EXPECT_EQ(f.Run({"--wat"}).exit_code, 2);
  EXPECT_THAT(f.err, MatchesRegex("<3>copsed: [^\n]*\\(argument=--wat\\)\n"));
  EXPECT_EQ(f.Run({"--set=listen=bad"}).exit_code, 2);
  EXPECT_THAT(f.err, MatchesRegex("<3>copsed: [^\n]*\\(listen=bad\\)\n"));
  setenv("COPSED_LISTN", "b", 1);
  EXPECT_EQ(f.Run({"--check-config"}).exit_code, 0);
  EXPECT_THAT(f.err, MatchesRegex("<4>copsed: [^\n]*\\(environment=COPSED_LISTN\\)\n"));
  unsetenv("COPSED_LISTN");
  unsetenv("JOURNAL_STREAM");
}

TEST(StartTest, NamesVariablesThatAreNoKeys) {
  Fixture f;
  setenv("COPSED_LISTN", "b", 1);
  EXPECT_EQ(f.Run({"--check-config"}).exit_code, 0);
  EXPECT_THAT(f.err, MatchesRegex("copsed: [^\n]*\\(environment=COPSED_LISTN\\)\n"));
  unsetenv("COPSED_LISTN");
}

}  // namespace
}  // namespace copse::config
