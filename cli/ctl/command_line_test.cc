// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/command_line.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

const std::vector<Verb>& Verbs() {
  static const auto* const verbs = new std::vector<Verb>{
      {.family = "node", .name = "list", .help = "all nodes"},
      {.family = "node", .name = "show", .help = "one node", .positionals = {{"node", "", "its name"}}},
      {.family = "plan",
       .name = "explain",
       .help = "why a plan",
       .positionals = {{"plan", "", "its id"}},
       .options = {{"dot", "", "as a graph"}}},
      {.family = "team",
       .name = "replan",
       .help = "again",
       .positionals = {{"team", "", "its id"}},
       .options = {{"algorithm", "NAME", "forced"}},
       .timeout_s = 30},
      {.family = "daemon", .name = "status", .help = "a daemon itself"},
      {.name = "ping", .help = "is it there", .options = {{"node", "NAME", "whom"}}}};
  return *verbs;
}

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  return ParseCommandLine(arguments, Verbs());
}

// Expects an error of one line that contains `what`.
void ExpectUsageError(const std::vector<std::string>& arguments, const std::string& what) {
  const auto line = Parse(arguments);
  ASSERT_FALSE(line.ok()) << what;
  EXPECT_TRUE(absl::IsInvalidArgument(line.status()));
  const std::string message(line.status().message());
  EXPECT_TRUE(absl::StrContains(message, what)) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(CommandLineTest, DefaultsWithoutOptions) {
  const auto line = Parse({"node", "list"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->verb->FullName(), "node list");
  EXPECT_EQ(line->endpoint, "127.0.0.1:7470");
  EXPECT_EQ(line->format, Format::kTable);
  EXPECT_EQ(line->timeout, absl::Seconds(5));
  EXPECT_FALSE(line->width.has_value());
  EXPECT_FALSE(line->insecure);
}

TEST(CommandLineTest, ADaemonIsAskedAtItsOwnPort) {
  const auto line = Parse({"daemon", "status"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->endpoint, "127.0.0.1:7471");
}

TEST(CommandLineTest, AContextSaysWhatIsNotGiven) {
  const std::string home = ::testing::TempDir() + "/with_contexts";
  std::filesystem::create_directories(home + "/copse/contexts");
  std::ofstream(home + "/copse/contexts/big.yaml") << "endpoint: p1:7470\ncert: c\nkey: k\ncacert: a\ninsecure: true\n";
  std::ofstream(home + "/copse/contexts/small.yaml") << "endpoint: s:7470\n";
  std::ofstream(home + "/copse/context") << "big\n";
  setenv("XDG_CONFIG_HOME", home.c_str(), 1);
  const auto parse = [](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"node", "list"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto line = Parse(arguments);
    EXPECT_TRUE(line.ok()) << line.status();
    return line.value_or(CommandLine{});
  };
  EXPECT_EQ(parse({}).endpoint, "p1:7470");
  EXPECT_TRUE(parse({}).insecure);
  EXPECT_EQ(parse({}).tls.key, home + "/copse/contexts/k");
  EXPECT_EQ(parse({"--context", "small"}).endpoint, "s:7470");
  EXPECT_FALSE(parse({"--context", "small"}).tls.given());
  EXPECT_FALSE(parse({"-e", "x:1"}).tls.given()) << "the one in use is of another cluster";
  EXPECT_EQ(parse({"-e", "x:1", "--context", "big"}).endpoint, "x:1");
  EXPECT_TRUE(parse({"-e", "x:1", "--context", "big"}).tls.given());
  EXPECT_EQ(parse({"--context", "big", "--cert", "other"}).tls.certificate, "other");
  EXPECT_TRUE(absl::IsNotFound(Parse({"node", "list", "--context", "none"}).status()));
  unsetenv("XDG_CONFIG_HOME");
}

TEST(CommandLineTest, ThePlannersSocketIsTheDefaultWhereItIs) {
  const std::string folder = ::testing::TempDir() + "/run";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(Parse({"--run-dir", folder, "node", "list"})->endpoint, "127.0.0.1:7470");
  std::ofstream(folder + "/view.sock") << "";
  EXPECT_EQ(Parse({"--run-dir", folder, "node", "list"})->endpoint, "unix:" + folder + "/view.sock");
  std::ofstream(folder + "/admin.sock") << "";
  EXPECT_EQ(Parse({"--run-dir", folder, "node", "list"})->endpoint, "unix:" + folder + "/admin.sock");
  EXPECT_EQ(Parse({"--run-dir", folder, "daemon", "status"})->endpoint, "127.0.0.1:7471");
  std::ofstream(folder + "/copsed.sock.admin") << "";
  EXPECT_EQ(Parse({"--run-dir", folder, "daemon", "status"})->endpoint, "unix:" + folder + "/copsed.sock.admin");
  EXPECT_EQ(Parse({"--run-dir", folder, "-e", "h:1", "node", "list"})->endpoint, "h:1");
  EXPECT_EQ(Parse({"--run-dir", folder, "--cert", "c.pem", "node", "list"})->endpoint, "127.0.0.1:7470")
      << "the certificate says who calls";
}

TEST(CommandLineTest, CertificatesAreFiles) {
  setenv("COPSECTL_CACERT", "ca.pem", 1);
  const auto line = Parse({"--cert", "c.pem", "--key", "k.pem", "--crl-dir", "crl", "node", "list"});
  unsetenv("COPSECTL_CACERT");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->tls, (config::TlsFiles{"c.pem", "k.pem", "ca.pem", "crl"}));
}

TEST(CommandLineTest, OptionsBeforeAndAfterTheVerb) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"-e", "h:1", "-w", "json", "--timeout", "0.5", "--width", "80", "node", "show", "n1"},
           {"node", "show", "n1", "-e", "h:1", "-w", "json", "--timeout", "0.5", "--width=80"},
           {"node", "-w", "json", "show", "--timeout=0.5", "n1", "--endpoint=h:1", "--width", "80"}}) {
    const auto line = Parse(arguments);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->verb->FullName(), "node show");
    EXPECT_EQ(line->arguments.Text("node"), "n1");
    EXPECT_EQ(line->endpoint, "h:1");
    EXPECT_EQ(line->format, Format::kJson);
    EXPECT_EQ(line->timeout, absl::Milliseconds(500));
    EXPECT_EQ(line->width, 80u);
  }
}

TEST(CommandLineTest, OfAnOptionThatIsGivenTwiceTheLastCounts) {
  const auto line = Parse({"-e", "a:1", "--timeout", "3", "node", "list", "--timeout=4", "-e", "b:2"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->endpoint, "b:2");
  EXPECT_EQ(line->timeout, absl::Seconds(4));
}

TEST(CommandLineTest, VerbsHaveOptionsAndTimeoutsOfTheirOwn) {
  auto line = Parse({"team", "replan", "3", "--algorithm", "flat"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->timeout, absl::Seconds(30));
  EXPECT_EQ(line->arguments.Text("algorithm"), "flat");
  line = Parse({"plan", "explain", "5", "--dot"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_TRUE(line->arguments.Has("dot"));
  line = Parse({"plan", "explain", "5"});
  EXPECT_FALSE(line->arguments.Has("dot"));
  line = Parse({"ping", "--node", "n2"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->arguments.Text("node"), "n2");
}

TEST(CommandLineTest, EnvironmentTwinsGiveWayToFlags) {
  setenv("COPSECTL_ENDPOINT", "e:2", 1);
  setenv("COPSECTL_WRITE_OUT", "json", 1);
  setenv("COPSECTL_TIMEOUT", "7", 1);
  setenv("COPSECTL_WIDTH", "40", 1);
  setenv("COPSECTL_INSECURE", "true", 1);
  auto line = Parse({"node", "list"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->endpoint, "e:2");
  EXPECT_EQ(line->format, Format::kJson);
  EXPECT_EQ(line->timeout, absl::Seconds(7));
  EXPECT_EQ(line->width, 40u);
  EXPECT_TRUE(line->insecure);
  line = Parse({"-e", "h:1", "-w", "table", "node", "list"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->endpoint, "h:1");
  EXPECT_EQ(line->format, Format::kTable);
  setenv("COPSECTL_WRITE_OUT", "xml", 1);
  ExpectUsageError({"node", "list"}, "xml");
  for (const char* name :
       {"COPSECTL_ENDPOINT", "COPSECTL_WRITE_OUT", "COPSECTL_TIMEOUT", "COPSECTL_WIDTH", "COPSECTL_INSECURE"}) {
    unsetenv(name);
  }
}

TEST(CommandLineTest, MistakesAreUsageErrors) {
  ExpectUsageError({"node", "show", ""}, "node");
  ExpectUsageError({"team", "replan", "1", "--algorithm", ""}, "--algorithm: an empty value");
  ExpectUsageError({"-w", "xml", "node", "list"}, "xml");
  ExpectUsageError({"--timeout", "soon", "node", "list"}, "argument=--timeout, value=soon");
  ExpectUsageError({"--timeout", "0", "node", "list"}, "timeout=0");
  ExpectUsageError({"--timeout", "-1", "node", "list"}, "timeout=-1");
  ExpectUsageError({"--timeout", "nan", "node", "list"}, "timeout=nan");
  ExpectUsageError({"--timeout", "1e9", "node", "list"}, "limit=86400");
  ExpectUsageError({"--width", "-1", "node", "list"}, "width");
  ExpectUsageError({"-e"}, "endpoint");
}

TEST(CommandLineTest, HelpNamesTheOptionsOfAllVerbs) {
  const auto line = Parse({"--help"});
  ASSERT_TRUE(line.ok() && line->answer.has_value());
  for (const char* word : {"copsectl", "--endpoint", "COPSECTL_ENDPOINT", "--timeout", "Exit codes"}) {
    EXPECT_TRUE(absl::StrContains(*line->answer, word)) << word << " in\n" << *line->answer;
  }
}

}  // namespace
}  // namespace copse::ctl
