// SPDX-License-Identifier: Apache-2.0
//
// Tests networks of namespaces: created, used, cut, and removed without a trace. Needs root.
#include "testbed/netns/test_network.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "testbed/netns/leftovers.h"
#include "testbed/processes/temp_folder.h"

namespace copse::netns {
namespace {

using copse::testing::FailsWith;
using copse::testing::IsOk;
using procs::ChildProcess;

constexpr absl::Duration kPatience = absl::Seconds(60);

class TestNetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status possible = CheckNamespaces(false); !possible.ok()) GTEST_SKIP() << possible.message();
  }
  void TearDown() override {
    network_.reset();
    if (IsSkipped()) return;
    leftovers_.ExpectNone();
  }

  absl::Status Make(NetworkOptions options) {
    options.folder = folder_.path();
    absl::StatusOr<std::unique_ptr<TestNetwork>> made = TestNetwork::Create(options);
    if (!made.ok()) return made.status();
    network_ = *std::move(made);
    const size_t before = leftovers_.noted();
    leftovers_.Note(std::filesystem::read_symlink(network_->SwitchNamespace()));
    for (uint32_t node = 0; node < network_->size(); ++node) {
      leftovers_.Note(std::filesystem::read_symlink(network_->NetworkNamespace(node)));
    }
    EXPECT_EQ(leftovers_.noted() - before, network_->size() + 1);
    return absl::OkStatus();
  }

  // Returns the first line that a command inside writes, or its exit.
  std::string Run(std::vector<std::string> prefix, const std::vector<std::string>& command) {
    prefix.insert(prefix.end(), command.begin(), command.end());
    const auto child = ChildProcess::Start({.arguments = prefix, .stdout_pipe = true});
    if (!child.ok()) return child.status().ToString();
    const absl::StatusOr<std::string> line = (*child)->ReadLine(kPatience);
    if (!(*child)->AwaitEnd(kPatience).ok()) return "does not end";
    return line.ok() ? *line : (*child)->DescribeEnd();
  }

  procs::TempFolder folder_;
  Leftovers leftovers_;
  std::unique_ptr<TestNetwork> network_;
};

// Whether a TCP connection from inside to `address` is refused (so the host is there) or not answered at all.
std::vector<std::string> Knock(const std::string& address, int seconds = 20) {
  return {"/bin/bash", "-c",
          absl::StrCat("timeout ", seconds, " bash -c 'echo > /dev/tcp/", address,
                       "/9' 2>&1 | grep -o 'Connection refused' || echo unreachable")};
}

TEST_F(TestNetworkTest, NodesHaveNamesAddressesAndReachEachOther) {
  ASSERT_THAT(Make({.nodes = 3}), IsOk());
  EXPECT_EQ(network_->host_names(), (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_EQ(TestNetwork::DataAddress(1), "10.77.0.2");
  EXPECT_EQ(TestNetwork::ControlAddress(255), "10.76.1.0");
  for (uint32_t node = 0; node < 3; ++node) {
    EXPECT_EQ(Run(network_->Enter(node), {"/bin/hostname"}), network_->HostName(node));
    EXPECT_EQ(Run(network_->Enter(node), Knock(TestNetwork::DataAddress((node + 1) % 3))), "Connection refused");
    EXPECT_EQ(Run(network_->Enter(node), Knock(TestNetwork::ControlAddress((node + 1) % 3))), "Connection refused");
    EXPECT_EQ(Run(network_->Enter(node), Knock(kSwitchAddress)), "Connection refused");
    EXPECT_EQ(Run(network_->Enter(node), {"/bin/sh", "-c", "echo $(ls /sys/class/net)"}), "ctl0 eth0 lo");
  }
  EXPECT_EQ(Run({network_->remote_shell(), "-x", "n2"}, {"echo", "$(hostname)", "'a  b'"}), "n2 a  b");
  EXPECT_EQ(Run({network_->remote_shell(), "n4"}, {"echo", "here"}), "exit code 2");
  EXPECT_EQ(Run({"/bin/sh", "-c", "exec 7</dev/null; exec \"$@\"", "sh", network_->remote_shell(), "n2"},
                {"if", "[ -e /proc/self/fd/7 ]; then", "echo kept;", "else", "echo closed; fi"}),
            "closed");
  EXPECT_TRUE(network_->CheckAlive().ok());
}

TEST_F(TestNetworkTest, ACutDataLinkLeavesTheManagementNetwork) {
  ASSERT_THAT(Make({.nodes = 2}), IsOk());
  ASSERT_TRUE(network_->SetLink(1, kDataDevice, false).ok());
  EXPECT_EQ(Run(network_->Enter(0), Knock(TestNetwork::DataAddress(1), 2)), "unreachable");
  EXPECT_EQ(Run(network_->Enter(0), Knock(TestNetwork::ControlAddress(1))), "Connection refused");
  ASSERT_TRUE(network_->SetLink(1, kDataDevice, true).ok());
  // The kernel may still be looking for the neighbor's address by requests that it sent while the link was down.
  std::string answer;
  for (int tries = 0; tries < 5 && answer != "Connection refused"; ++tries) {
    answer = Run(network_->Enter(0), Knock(TestNetwork::DataAddress(1)));
  }
  EXPECT_EQ(answer, "Connection refused");
}

TEST_F(TestNetworkTest, ARateShapesBothDirections) {
  ASSERT_THAT(Make({.nodes = 2, .rate_bits_per_s = 200'000'000}), IsOk());
  for (const std::string& line : {Run(network_->Enter(0), {"/sbin/tc", "qdisc", "show", "dev", "eth0"}),
                                  Run(network_->EnterSwitch(), {"/sbin/tc", "qdisc", "show", "dev", "d2"})}) {
    EXPECT_TRUE(absl::StrContains(line, "tbf") && absl::StrContains(line, "rate 200Mbit burst 13")) << line;
  }
}

TEST_F(TestNetworkTest, ThirtyTwoNodesComeUpQuickly) {
  const absl::Time start = absl::Now();
  ASSERT_THAT(Make({.nodes = 32}), IsOk());
  RecordProperty("milliseconds", absl::ToInt64Milliseconds(absl::Now() - start));
  EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << "about a second on an idle machine";
  EXPECT_EQ(Run(network_->Enter(31), Knock(TestNetwork::DataAddress(0))), "Connection refused");
}

// Simulates SIGKILL of a program: no destructor runs.
TEST_F(TestNetworkTest, ACrashLeavesNothing) {
  std::vector<UniqueFd> ends;
  std::thread crashes([&] {
    ASSERT_THAT(Make({.nodes = 2}), IsOk());
    for (const pid_t pid : {network_->Holder(0), network_->Holder(1), network_->switch_holder()}) {
      ends.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    }
  });
  crashes.join();
  ASSERT_EQ(ends.size(), 3u);
  for (const UniqueFd& end : ends) {
    pollfd event = {end.get(), POLLIN, 0};
    EXPECT_EQ(poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(kPatience))), 1);
  }
  EXPECT_EQ(network_->CheckAlive().code(), absl::StatusCode::kInternal);
  leftovers_.ExpectNone();
}

TEST_F(TestNetworkTest, BadOptionsAreNamed) {
  const auto refused = [&](const NetworkOptions& options, const std::string& thing) {
    EXPECT_THAT(Make(options), FailsWith(absl::StatusCode::kInvalidArgument, thing));
  };
  refused({.nodes = 0}, "value=0");
  refused({.nodes = kNodesMax + 1}, "limit=1000");
  refused({.nodes = 3, .names = {"a", "b"}}, "limit=2");
  refused({.names = {"a", "a"}}, "name=a");
  refused({.names = {"switch"}}, "name=switch");
  refused({.names = {"a b"}}, "name=a b");
  if (CheckNamespaces(true).ok()) {
    refused({.fabric = folder_ / "none"}, "file=" + folder_ / "none");
    std::ofstream(folder_ / "bad") << "nodes: 7\n";
    refused({.fabric = folder_ / "bad"}, "/bad:1");
    refused({.rate_bits_per_s = 1'000'000, .fabric = folder_ / "bad"}, "rate: ");
  }
}

TEST(ParseRateTest, TakesAnyCaseAndNamesWhatIsNoRate) {
  EXPECT_EQ(*ParseRate("200mbit"), 200'000'000);
  EXPECT_EQ(*ParseRate("1.5Gbit/s"), 1'500'000'000);
  EXPECT_EQ(*ParseRate("100kbit"), 100'000);
  for (const char* bad : {"", "200", "mbit", "-1mbit", "1e3mbit", "200 mbit", "99kbit", "101gbit", "1..2gbit"}) {
    EXPECT_THAT(ParseRate(bad), FailsWith(absl::StatusCode::kInvalidArgument, absl::StrCat("value=", bad)));
  }
}

}  // namespace
}  // namespace copse::netns
