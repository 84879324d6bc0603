// SPDX-License-Identifier: Apache-2.0

#include "daemon/data_address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

const std::vector<InterfaceAddress> kInterfaces = {{"lo", "127.0.0.1", true},      {"lo", "::1", true},
                                                   {"eth0", "10.0.0.5", false},    {"eth0", "10.0.0.6", false},
                                                   {"ib0", "fe80::5", false},      {"ib0", "2001:db8::5", false},
                                                   {"eth1.100", "fe80::6", false}, {"eth1.100", "10.1.129.7", false},
                                                   {"eth2", "192.168.1.1", false}, {"eth3", "192.168.1.2", false},
                                                   {"eth4", "fe80::7", false}};

std::string Find(const std::string& text) {
  const auto address = FindDataAddress(text, kInterfaces);
  return address.ok() ? *address : address.status().ToString();
}

TEST(FindDataAddressTest, AnAddressIsItself) {
  for (const char* address : {"10.0.0.5", "10.9.9.9", "0.0.0.0", "::1", "localhost"}) EXPECT_EQ(Find(address), address);
}

TEST(FindDataAddressTest, AnInterfacesFirstAddress) {
  EXPECT_EQ(Find("eth0"), "10.0.0.5");
  EXPECT_EQ(Find("eth1.100"), "10.1.129.7") << "IPv4 before IPv6";
  EXPECT_EQ(Find("ib0"), "2001:db8::5");
  EXPECT_EQ(Find("lo"), "127.0.0.1");
}

TEST(FindDataAddressTest, TheAddressInANetwork) {
  EXPECT_EQ(Find("10.1.0.0/16"), "10.1.129.7");
  EXPECT_EQ(Find("10.1.128.0/17"), "10.1.129.7");
  EXPECT_EQ(Find("10.0.0.0/24"), "10.0.0.5") << "one interface with two";
  EXPECT_EQ(Find("10.0.0.6/32"), "10.0.0.6");
  EXPECT_EQ(Find("2001:db8::/64"), "2001:db8::5");
  EXPECT_EQ(Find("127.0.0.0/8"), "127.0.0.1");
}

TEST(FindDataAddressTest, WhatIsNotHereMayCome) {
  for (const char* text : {"10.1.0.0/17", "10.0.0.7/32", "2001:db8:1::/48", "eth9", "eth4", "banana"}) {
    EXPECT_THAT(FindDataAddress(text, kInterfaces),
                FailsWith(absl::StatusCode::kUnavailable, "data_listen: ", std::string("data_listen=") + text + ")"));
  }
}

TEST(FindDataAddressTest, WhatIsNeitherIsRefused) {
  for (const char* text : {"127.0.0.300", "127.", "127.x", "", "10.0.0.5:1", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x",
                           "10.0.0.0/8/8", "eth0/8", "two words"}) {
    EXPECT_THAT(
        FindDataAddress(text, kInterfaces),
        FailsWith(absl::StatusCode::kInvalidArgument, "data_listen: ", std::string("data_listen=") + text + ")"));
  }
  EXPECT_THAT(FindDataAddress("192.168.1.0/24", kInterfaces),
              FailsWith(absl::StatusCode::kInvalidArgument, "data_listen=192.168.1.0/24", "interfaces=eth2,eth3"));
  EXPECT_THAT(FindDataAddress("0.0.0.0/0", kInterfaces),
              FailsWith(absl::StatusCode::kInvalidArgument, "interfaces=eth0,eth1.100,eth2,eth3"));
}

TEST(LeastMtuTest, OfDevicesThatThereAre) {
  const uint64_t loopback = LeastMtu("lo");
  EXPECT_GE(loopback, 1280u);
  EXPECT_EQ(LeastMtu("no-such-device,lo"), loopback);
  EXPECT_EQ(LeastMtu("mlx5_0:1"), 0u);
  EXPECT_EQ(LeastMtu(""), 0u);
}

}  // namespace
}  // namespace copse::daemon
