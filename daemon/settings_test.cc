// SPDX-License-Identifier: Apache-2.0

#include "daemon/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/config/config.h"
#include "base/testing/status_matchers.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

absl::StatusOr<Settings> Read(std::vector<std::string> set) {
  config::Config config = NewConfig();
  const absl::Status loaded =
      config.Load({.settings = std::move(set), .environment = std::map<std::string, std::string>()});
  if (!loaded.ok()) return loaded;
  return ReadSettings(config);
}

template <typename... Things>
void ExpectRefused(std::vector<std::string> set, const Things&... things) {
  EXPECT_THAT(Read(std::move(set)), FailsWith(absl::StatusCode::kInvalidArgument, things...));
}

TEST(SettingsTest, DefaultsAreClosed) {
  const auto settings = Read({"run_dir=/nowhere"});
  ASSERT_TRUE(settings.ok()) << settings.status();
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  EXPECT_EQ(settings->node, host);
  EXPECT_EQ(settings->planners, std::vector<std::string>{"127.0.0.1:7470"});
  EXPECT_EQ(settings->admin_listen, "127.0.0.1:7471");
  EXPECT_EQ(settings->transport.net_devices, "lo");
  EXPECT_EQ(settings->sockets, std::vector<std::string>{"@copse"});
  EXPECT_EQ(settings->memory_limit_bytes, 256u << 20);
  EXPECT_EQ(settings->live.join_token, "");
  EXPECT_FALSE(settings->insecure);
  EXPECT_EQ(settings->live.heartbeat, absl::Milliseconds(500));
  EXPECT_EQ(settings->live.node_timeout, absl::Seconds(10));
  EXPECT_EQ(settings->live.spin, absl::Microseconds(200));
  EXPECT_EQ(settings->team_formation_timeout, absl::Seconds(30));
  EXPECT_EQ(Read({"team_formation_timeout=2s"})->team_formation_timeout, absl::Seconds(2));
}

TEST(SettingsTest, SocketsAreTheNamedOneOrTheDefaults) {
  EXPECT_EQ(Read({"node=n7", "socket=@copse-%h"})->sockets, std::vector<std::string>{"@copse-n7"});
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(Read({"run_dir=" + folder})->sockets, (std::vector<std::string>{"@copse", folder + "/copsed.sock"}));
}

TEST(SettingsTest, BeyondLoopbackNeedsInsecure) {
  ExpectRefused({"admin_listen=0.0.0.0:1"}, "admin_listen: ");
  ExpectRefused({"planner=somewhere:1"}, "planner: ");
  ExpectRefused({"data_listen=0.0.0.0"}, "data_listen: ");
  const auto settings = Read({"insecure=true", "admin_listen=0.0.0.0:1", "planner=somewhere:1", "data_listen=0.0.0.0"});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->transport.net_devices, "");
}

TEST(SettingsTest, RefusesWhatMakesNoSense) {
  ExpectRefused({"planner=nowhere"}, "planner: ");
  ExpectRefused({"admin_listen=1"}, "admin_listen: ");
  ExpectRefused({"admin_listen=unix:/x"}, "admin_listen: ");
  ExpectRefused({"node=a b"}, "node: ", "node=a b");
  ExpectRefused({"node=" + std::string(128, 'x')}, "node: ", "limit=127");
  ExpectRefused({"heartbeat=10s"}, "node_timeout: ", "node_timeout=10s", "heartbeat=10s");
  EXPECT_THAT(Read({"data_listen=203.0.113.7", "insecure=true"}),
              FailsWith(absl::StatusCode::kUnavailable, "data_listen=203.0.113.7"));
  EXPECT_THAT(Read({"join_token_file=/nowhere/token"}), FailsWith(absl::StatusCode::kNotFound, "join_token_file: "));
  ExpectRefused({"clients_max=0"}, "clients_max");
  ExpectRefused({"team_formation_timeout=1ms"}, "team_formation_timeout");
  ExpectRefused({"trace_records=4194305"}, "trace_records");
  ExpectRefused({"spin_us=-1"}, "spin_us");
  ExpectRefused({"log_level=loud"}, "log_level");
  ExpectRefused({"quotas={default: {teams: many}}"}, "quotas.default.teams", "value=many");
}

TEST(SettingsTest, WhatIsPrintedCanBeReadBack) {
  config::Config config = NewConfig();
  const std::string printed = config.Print();
  for (const char* key :
       {"node", "planner", "socket", "admin_listen", "net_devices", "data_listen", "memory_limit", "node_timeout",
        "heartbeat", "spin_us", "log_level", "log_file", "run_dir", "join_token_file", "insecure"}) {
    EXPECT_TRUE(absl::StrContains(printed, std::string(key) + ":")) << key;
  }
}

TEST(SettingsTest, KnowsWhatCanChangeWhileRunning) {
  EXPECT_TRUE(IsLive("log_level"));
  EXPECT_TRUE(IsLive("node_timeout"));
  EXPECT_TRUE(IsLive("quotas"));
  EXPECT_FALSE(IsLive("planner"));
}

}  // namespace
}  // namespace copse::daemon
