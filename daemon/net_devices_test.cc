// SPDX-License-Identifier: Apache-2.0

#include "daemon/net_devices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

const std::vector<InterfaceAddress> kInterfaces = {
    {"lo", "127.0.0.1", true}, {"lo", "::1", true}, {"eth0", "10.0.0.5", false}, {"eth1", "10.1.0.5", false}};

std::string Choose(const DataNetwork& network) {
  const auto devices = ChooseNetDevices(network, kInterfaces);
  return devices.ok() ? *devices : devices.status().ToString();
}

TEST(ChooseNetDevicesTest, LoopbackByDefault) {
  EXPECT_EQ(Choose({.data_listen = "127.0.0.1"}), "lo");
  EXPECT_EQ(Choose({.data_listen = "127.0.0.9"}), "lo");
  EXPECT_EQ(Choose({.data_listen = "localhost"}), "lo");
  EXPECT_EQ(Choose({.data_listen = "0:0::1"}), "lo");
}

TEST(ChooseNetDevicesTest, TheInterfaceThatHasTheAddress) {
  EXPECT_EQ(Choose({.data_listen = "10.1.0.5", .insecure = true}), "eth1");
  EXPECT_THAT(ChooseNetDevices({.data_listen = "10.9.9.9", .insecure = true}, kInterfaces),
              FailsWith(absl::StatusCode::kUnavailable, "data_listen: ", "data_listen=10.9.9.9"))
      << "it may come later";
}

TEST(ChooseNetDevicesTest, WhatIsNoAddressIsRefused) {
  for (const char* text : {"127.0.0.300", "127.", "127.x", "banana", "", "10.0.0.5:1", "10.0.0.0/24"}) {
    EXPECT_THAT(
        ChooseNetDevices({.data_listen = text, .insecure = true}, kInterfaces),
        FailsWith(absl::StatusCode::kInvalidArgument, "data_listen: ", std::string("data_listen=") + text + ")"));
  }
}

TEST(ChooseNetDevicesTest, EverywhereIsUcxsChoice) {
  EXPECT_EQ(Choose({.data_listen = "0.0.0.0", .insecure = true}), "");
}

TEST(ChooseNetDevicesTest, NamedDevicesWin) {
  EXPECT_EQ(Choose({.data_listen = "127.0.0.1", .net_devices = {"eth0", "mlx5_0:1"}, .insecure = true}),
            "eth0,mlx5_0:1");
  EXPECT_EQ(Choose({.data_listen = "10.0.0.5", .net_devices = {"lo"}}), "lo");
}

TEST(ChooseNetDevicesTest, BeyondLoopbackOnlyIfInsecure) {
  for (const DataNetwork& network : {DataNetwork{.data_listen = "10.0.0.5"}, DataNetwork{.data_listen = "0.0.0.0"},
                                     DataNetwork{.data_listen = "127.0.0.1", .net_devices = {"lo", "eth0"}}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ChooseNetDevices(network, kInterfaces).status()));
  }
}

TEST(ChooseTransportsTest, FitTheDevicesUnlessTheEnvironmentSays) {
  EXPECT_EQ(ChooseTransports(nullptr, ""), "tcp");
  EXPECT_EQ(ChooseTransports(nullptr, "lo"), "tcp");
  EXPECT_EQ(ChooseTransports("", "eth0,eth1"), "tcp");
  EXPECT_EQ(ChooseTransports(nullptr, "mlx5_0:1"), "ib");
  EXPECT_EQ(ChooseTransports(nullptr, "mlx5_0:1,mlx5_1:1"), "ib");
  EXPECT_EQ(ChooseTransports(nullptr, "eth0,mlx5_0:1"), "ib,tcp");
  EXPECT_EQ(ChooseTransports("posix,self", "lo"), "");
  EXPECT_EQ(ChooseTransports("tcp", "mlx5_0:1"), "");
}

TEST(InterfaceAddressesTest, KnowsLoopback) {
  const auto devices = ChooseNetDevices({.data_listen = "127.0.0.1"}, InterfaceAddresses());
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(*devices, "lo");
}

class ChooseTransportTest : public ::testing::Test {
 protected:
  static absl::StatusOr<TransportChoice> Choose(const TransportWishes& wishes, const char* ucx_tls = nullptr) {
    return ChooseTransport(wishes, ucx_tls, kInterfaces);
  }
  const TransportWishes plain_ = {.network = {.data_listen = "127.0.0.1"}};
  const TransportWishes known_ = {.network = {.data_listen = "10.0.0.5"}, .has_identity = true};
};

TEST_F(ChooseTransportTest, AutoTakesTcpWhereThereIsAnIdentityAndUcxWouldRunOverIp) {
  EXPECT_FALSE(Choose(plain_)->uses_tcp);
  EXPECT_EQ(Choose(plain_)->ucx_tls, "tcp");
  ASSERT_TRUE(Choose(known_)->uses_tcp);
  EXPECT_EQ(Choose(known_)->tcp_address, "10.0.0.5:0");
  TransportWishes verbs = known_;
  verbs.network.net_devices = {"mlx5_0:1"};
  verbs.network.insecure = true;
  EXPECT_FALSE(Choose(verbs)->uses_tcp);
  EXPECT_FALSE(Choose(verbs, "rc")->uses_tcp);
  EXPECT_TRUE(Choose(verbs, "all")->uses_tcp);
}

TEST_F(ChooseTransportTest, AListOfUcxsTransportsIsReadAsUcxReadsIt) {
  TransportWishes verbs = known_;
  verbs.network.net_devices = {"mlx5_0:1"};
  verbs.network.insecure = true;
  for (const char* over_ip :
       {"tcp", "all", "rc,tcp", "rc, tcp", "tc*", "*", "\\tcp", "^ib", "^rc,ud", "^sm,\\rc", "^", "^*", "^tc*"}) {
    EXPECT_TRUE(Choose(verbs, over_ip)->uses_tcp) << over_ip;
  }
  for (const char* others : {"", "rc,ud", "rc,ud:aux", "sm,self", "ib", "^tcp", "^\\tcp", "^ib,tcp", "small,tcpx"}) {
    EXPECT_FALSE(Choose(verbs, others)->uses_tcp) << others;
  }
  verbs.transport = "ucx";
  EXPECT_THAT(Choose(verbs, "^ib"), FailsWith(absl::StatusCode::kInvalidArgument, "transport: ", "trust_network"));
}

TEST_F(ChooseTransportTest, TcpNeedsAnIdentityAndAnAddress) {
  TransportWishes wishes = plain_;
  wishes.transport = "tcp";
  EXPECT_THAT(Choose(wishes), FailsWith(absl::StatusCode::kInvalidArgument, "transport: ", "tls_cert"));
  wishes.has_identity = true;
  EXPECT_EQ(Choose(wishes)->tcp_address, "127.0.0.1:0");
  wishes.network.data_listen = "::1";
  EXPECT_EQ(Choose(wishes)->tcp_address, "[::1]:0");
  wishes.network.data_listen = "0.0.0.0";
  EXPECT_THAT(Choose(wishes), FailsWith(absl::StatusCode::kInvalidArgument, "data_listen: "));
}

TEST_F(ChooseTransportTest, AnInterfaceOrANetworkStandsForItsAddress) {
  TransportWishes wishes = known_;
  for (const char* text : {"10.1.0.0/16", "eth1"}) {
    wishes.network.data_listen = text;
    EXPECT_EQ(Choose(wishes)->tcp_address, "10.1.0.5:0");
    EXPECT_EQ(Choose(wishes)->net_devices, "eth1");
  }
  wishes.has_identity = false;
  EXPECT_THAT(Choose(wishes), FailsWith(absl::StatusCode::kInvalidArgument, "insecure"));
  wishes.network.data_listen = "eth7";
  EXPECT_THAT(Choose(wishes), FailsWith(absl::StatusCode::kUnavailable, "data_listen=eth7"));
}

TEST_F(ChooseTransportTest, UcxOverIpBesideAnIdentityNeedsTrust) {
  TransportWishes wishes = known_;
  wishes.transport = "ucx";
  wishes.network.insecure = true;
  EXPECT_THAT(Choose(wishes), FailsWith(absl::StatusCode::kInvalidArgument, "transport: ", "trust_network"));
  wishes.trust_network = true;
  EXPECT_FALSE(Choose(wishes)->uses_tcp);
  wishes.network.insecure = false;
  EXPECT_THAT(Choose(wishes), FailsWith(absl::StatusCode::kInvalidArgument, "data_listen: "));
}

}  // namespace
}  // namespace copse::daemon
