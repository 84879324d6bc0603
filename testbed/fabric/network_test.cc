// SPDX-License-Identifier: Apache-2.0
//
// Tests a TestNetwork on a fabric: both agree on names, addresses and sockets.

#include <fstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "testbed/fabric/fabric_control.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/temp_folder.h"

namespace copse::fabric {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

TEST(TestNetworkOnFabricTest, PacketsTakeTheTopologysPath) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/true); !possible.ok()) GTEST_SKIP() << possible;
  const procs::TempFolder folder;
  std::ofstream(folder / "t.yaml") << "version: 1\n"
                                      "switches: [{name: core}, {name: rack1, parent: core}]\n"
                                      "nodes: [{name: 'a[1-2]', switch: rack1}, {name: b, switch: core}]\n"
                                      "fabric: {links: {rack1: {queue: 64KiB}}}\n";
  const auto network = netns::TestNetwork::Create({.fabric = folder / "t.yaml", .folder = folder.path()});
  ASSERT_TRUE(network.ok()) << network.status();
  auto control = FabricControl::Connect((*network)->fabric_socket());
  ASSERT_TRUE(control.ok()) << control.status();

  std::vector<std::string> command = (*network)->Enter(1);
  for (const char* word : {"/bin/bash", "-c"}) command.push_back(word);
  command.push_back("echo hello > /dev/udp/" + netns::TestNetwork::DataAddress(2) + "/9");
  const auto sender = procs::ChildProcess::Start({.arguments = command});
  ASSERT_TRUE(sender.ok()) << sender.status();
  ASSERT_TRUE((*sender)->AwaitEnd(kPatience).ok());
  ASSERT_EQ((*sender)->exit_code(), 0);

  // The refusal of the connection, as no process listens there, comes back.
  nlohmann::json links;
  const absl::Time deadline = absl::Now() + kPatience;
  do {
    auto now = control->Stats();
    ASSERT_TRUE(now.ok()) << now.status();
    links = (*now)["links"];
  } while (links["a2"]["down"]["packets"] == 0 && absl::Now() < deadline);
  EXPECT_EQ(links["a2"]["up"]["packets"], 1);
  EXPECT_EQ(links["rack1"]["up"]["packets"], 1);
  EXPECT_EQ(links["b"]["down"]["packets"], 1);
  EXPECT_EQ(links["rack1"]["down"]["packets"], 1);
  EXPECT_EQ(links["a2"]["down"]["packets"], 1);
  EXPECT_EQ(links["a1"]["down"]["packets"], 0);
}

}  // namespace
}  // namespace copse::fabric
