// SPDX-License-Identifier: Apache-2.0
#include "base/config/config.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::config {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::vector<Key> Keys() {
  return {
      {.name = "listen", .default_text = "127.0.0.1:7470", .comment = "Where to listen."},
      {.name = "insecure", .type = Type::kBool, .default_text = "false", .comment = "No TLS."},
      {.name = "spin_us",
       .type = Type::kInteger,
       .default_text = "50",
       .comment = "Spin.",
       .lowest = "0",
       .highest = "1000"},
      {.name = "node_timeout",
       .type = Type::kDuration,
       .default_text = "10s",
       .comment = "Silence.",
       .lowest = "100ms"},
      {.name = "memory_limit",
       .type = Type::kBytes,
       .default_text = "256MiB",
       .comment = "Memory.",
       .highest = "1024G"},
      {.name = "net_devices", .type = Type::kList, .default_text = "", .comment = "Devices,\nmaybe several."},
      {.name = "quotas", .type = Type::kMapping, .comment = "Quotas."},
      {.name = "log_level", .default_text = "info", .comment = "Level.", .choices = {"debug", "info"}},
  };
}

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name);
  std::ofstream(path) << text;
  return path;
}

struct Fixture {
  Config config{"copse-planner", Keys()};
  std::map<std::string, std::string> environment;

  absl::Status Load(const std::string& text, std::vector<std::string> settings = {}) {
    file = WriteFile("x.yaml", text);
    return config.Load(
        {.file = file, .file_required = true, .settings = std::move(settings), .environment = environment});
  }
  std::string file;
};

TEST(ConfigTest, DefaultsHoldWithoutAnySource) {
  Config config("copsed", Keys());
  ASSERT_TRUE(config.Load({}).ok());
  EXPECT_EQ(config.Text("listen"), "127.0.0.1:7470");
  EXPECT_FALSE(config.Bool("insecure"));
  EXPECT_EQ(config.Integer("spin_us"), 50);
  EXPECT_EQ(config.Duration("node_timeout"), absl::Seconds(10));
  EXPECT_EQ(config.Bytes("memory_limit"), 256u << 20);
  EXPECT_TRUE(config.List("net_devices").empty());
  EXPECT_EQ(config.Origin("listen"), "default");
}

TEST(ConfigTest, FlagWinsOverEnvironmentOverFileOverDefault) {
  Fixture f;
  f.environment = {{"COPSE_PLANNER_LISTEN", "env:1"}, {"COPSE_PLANNER_SPIN_US", "7"}};
  ASSERT_TRUE(f.Load("listen: file:1\nspin_us: 5\ninsecure: yes\n", {"listen=flag:1"}).ok());
  EXPECT_EQ(f.config.Text("listen"), "flag:1");
  EXPECT_EQ(f.config.Origin("listen"), "--set");
  EXPECT_EQ(f.config.Integer("spin_us"), 7);
  EXPECT_EQ(f.config.Origin("spin_us"), "environment COPSE_PLANNER_SPIN_US");
  EXPECT_TRUE(f.config.Bool("insecure"));
  EXPECT_EQ(f.config.Origin("insecure"), absl::StrCat("file ", f.file, ":3"));
  EXPECT_EQ(f.config.Origin("node_timeout"), "default");
}

TEST(ConfigTest, ListsComeFromYamlListsAndCommas) {
  Fixture f;
  ASSERT_TRUE(f.Load("net_devices: [eth0, eth1]\n").ok());
  EXPECT_EQ(f.config.List("net_devices"), (std::vector<std::string>{"eth0", "eth1"}));
  ASSERT_TRUE(f.Load("", {"net_devices=a, b"}).ok());
  EXPECT_EQ(f.config.List("net_devices"), (std::vector<std::string>{"a", "b"}));
}

TEST(ConfigTest, ErrorsNameKeyValueAndLine) {
  Fixture f;
  const std::string ok = "listen: a\n";
  const std::string at = absl::StrCat("file=", std::getenv("TEST_TMPDIR"), "/x.yaml:");
  EXPECT_THAT(f.Load(ok + "foo: 1\n"), FailsWith(kInvalid, "key=foo", at + "2"));
  EXPECT_THAT(f.Load(ok + "listen: b\n"), FailsWith(kInvalid, "key=listen", at + "2"));
  EXPECT_THAT(f.Load("node_timeout: 10\n"), FailsWith(kInvalid, "key=node_timeout", "value=10", at + "1"));
  EXPECT_THAT(f.Load("node_timeout: -1s\n"), FailsWith(kInvalid, "key=node_timeout", "value=-1s", at + "1"));
  EXPECT_THAT(f.Load("node_timeout: 1ms\n"),
              FailsWith(kInvalid, "key=node_timeout", "value=1ms", "limit=100ms", at + "1"));
  EXPECT_THAT(f.Load("spin_us: 1001\n"), FailsWith(kInvalid, "key=spin_us", "value=1001", "limit=1000", at + "1"));
  EXPECT_THAT(f.Load("spin_us: [1]\n"), FailsWith(kInvalid, "key=spin_us", at + "1"));
  EXPECT_THAT(f.Load("insecure: maybe\n"), FailsWith(kInvalid, "key=insecure", "value=maybe", at + "1"));
  EXPECT_THAT(f.Load("log_level: loud\n"), FailsWith(kInvalid, "key=log_level", "value=loud", at + "1"));
  EXPECT_THAT(f.Load("memory_limit: 5 apples\n"), FailsWith(kInvalid, "key=memory_limit", "value=5 apples", at + "1"));
  EXPECT_THAT(f.Load("memory_limit: 99999999999G\n"), FailsWith(kInvalid, "value=99999999999G", at + "1"));
  EXPECT_THAT(f.Load("net_devices: [[a]]\n"), FailsWith(kInvalid, "key=net_devices", at + "1"));
  EXPECT_THAT(f.Load("- a\n"), FailsWith(kInvalid, at + "1"));
  EXPECT_THAT(f.Load("[a]: b\n"), FailsWith(kInvalid, at + "1"));
  EXPECT_THAT(f.Load("a: [\n"), FailsWith(kInvalid, at + "2"));
  EXPECT_THAT(f.Load("", {"foo=1"}), FailsWith(kInvalid, "key=foo", "flag=--set"));
  EXPECT_THAT(f.Load("", {"foo"}), FailsWith(kInvalid, "flag=--set foo"));
  EXPECT_THAT(f.Load("", {"spin_us=x"}), FailsWith(kInvalid, "key=spin_us", "value=x", "flag=--set"));
  f.environment["COPSE_PLANNER_INSECURE"] = "2";
  EXPECT_THAT(f.Load(""), FailsWith(kInvalid, "key=insecure", "value=2", "environment=COPSE_PLANNER_INSECURE"));
}

TEST(ConfigTest, AbsentFileIsFineUnlessRequired) {
  Config config("copsed", Keys());
  EXPECT_TRUE(config.Load({.file = "/nonexistent/x.yaml"}).ok());
  EXPECT_THAT(config.Load({.file = "/nonexistent/x.yaml", .file_required = true}),
              FailsWith(absl::StatusCode::kNotFound, "file=/nonexistent/x.yaml"));
}

TEST(ConfigTest, WhatIsNoConfigurationIsToldInOneLineThatNamesIt) {
  Fixture f;
  const std::string folder = std::getenv("TEST_TMPDIR");
  EXPECT_THAT(f.config.Load({.file = folder}), FailsWith(absl::StatusCode::kNotFound, "file=" + folder));
  for (const std::string& text : {std::string("\x7f"
                                              "ELF\0\x01\n: \"\\\0\"",
                                              13),
                                  std::string("a\0b: \xff\n", 8), std::string(2 << 20, 'x')}) {
    const absl::Status binary = f.Load(text);
    EXPECT_THAT(binary, FailsWith(kInvalid, "file=" + f.file));
    for (const char c : binary.message()) EXPECT_TRUE(absl::ascii_isprint(static_cast<unsigned char>(c))) << binary;
  }
}

TEST(ConfigTest, NamesVariablesThatAreNoKeys) {
  Fixture f;
  f.environment = {{"COPSE_PLANNER_LISTEN", "a"}, {"COPSE_PLANNER_LISTN", "b"}, {"COPSE_SOCKET", "c"}};
  ASSERT_TRUE(f.Load("").ok());
  EXPECT_EQ(f.config.unknown_variables(), std::vector<std::string>{"COPSE_PLANNER_LISTN"});
}

TEST(ConfigTest, FailedLoadChangesNothing) {
  Fixture f;
  ASSERT_TRUE(f.Load("spin_us: 5\n").ok());
  EXPECT_FALSE(f.Load("spin_us: 6\nfoo: 1\n").ok());
  EXPECT_EQ(f.config.Integer("spin_us"), 5);
}

TEST(ConfigTest, ChangedNamesKeys) {
  Fixture f;
  ASSERT_TRUE(f.Load("spin_us: 5\n").ok());
  Config before = f.config;
  ASSERT_TRUE(f.Load("spin_us: 6\ninsecure: on\n").ok());
  EXPECT_EQ(f.config.Changed(before), (std::vector<std::string>{"insecure", "spin_us"}));
}

TEST(ConfigTest, PrintIsReadBack) {
  Fixture f;
  ASSERT_TRUE(f.Load("listen: \"[::1]:1 # \\\"x\\\"\"\nnet_devices: [a, b]\nspin_us: 9\n").ok());
  const std::string printed = f.config.Print();
  EXPECT_NE(printed.find("# Devices,\n# maybe several.\n# Default: (empty)."), std::string::npos) << printed;
  EXPECT_NE(printed.find("COPSE_PLANNER_SPIN_US"), std::string::npos) << printed;
  Config before = f.config;
  ASSERT_TRUE(f.Load(printed).ok()) << printed;
  EXPECT_TRUE(f.config.Changed(before).empty());
}

TEST(ConfigDeathTest, UndeclaredKeyIsABug) {
  Config config("copsed", Keys());
  EXPECT_DEATH(config.Text("nope"), "CHECK failed");
  EXPECT_DEATH(config.Bool("listen"), "CHECK failed");
  EXPECT_DEATH(Config("x", {{.name = "a", .type = Type::kInteger, .default_text = "x"}}), "default of a");
}

TEST(ConfigTest, AMappingIsOneTextWhereverItIsFrom) {
  Fixture f;
  ASSERT_TRUE(f.Load("quotas:\n  default: {teams: 8}\n  users:\n    alice: {memory: 25%}\n").ok());
  const std::string text = f.config.Text("quotas");
  EXPECT_EQ(text, "{default: {teams: 8}, users: {alice: {memory: 25%}}}");
  Fixture flag;
  ASSERT_TRUE(flag.Load("", {absl::StrCat("quotas=", text)}).ok());
  EXPECT_EQ(flag.config.Text("quotas"), text);
  Fixture printed;
  ASSERT_TRUE(printed.Load(f.config.Print()).ok());
  EXPECT_EQ(printed.config.Text("quotas"), text);
  EXPECT_THAT(f.Load("quotas: [1]\n"), FailsWith(kInvalid, "key=quotas"));
  EXPECT_THAT(f.Load("quotas: 12\n"), FailsWith(kInvalid, "key=quotas", "value=12"));
  EXPECT_THAT(f.Load("", {"quotas={a: "}), FailsWith(kInvalid, "key=quotas"));
}

}  // namespace
}  // namespace copse::config
