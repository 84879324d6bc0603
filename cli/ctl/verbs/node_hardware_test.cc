// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/node_hardware.h"

#include <hwloc.h>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using testing::FailsWith;

// Returns lstopo's text for a machine of that kind.
std::string Xml(const char* machine) {
  hwloc_topology_t topology;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  EXPECT_EQ(hwloc_topology_set_synthetic(topology, machine), 0);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  char* buffer = nullptr;
  int length = 0;
  EXPECT_EQ(hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0), 0);
  const std::string xml = buffer == nullptr ? "" : buffer;
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  return xml;
}

TEST(ReadHwlocTest, CountsWhatTheMachineHas) {
  const auto hardware = ReadHwloc(Xml("package:2 numa:2 core:8 pu:2"), "n.xml");
  ASSERT_TRUE(hardware.ok()) << hardware.status();
  EXPECT_EQ(hardware->packages(), 2u);
  EXPECT_EQ(hardware->numa_nodes(), 4u);
  EXPECT_EQ(hardware->cores(), 32u);
  EXPECT_EQ(hardware->threads(), 64u);
}

TEST(ReadHwlocTest, ThreadsAreCoresWhereNoneAreKnown) {
  const auto hardware = ReadHwloc(Xml("numa:1 pu:3"), "n.xml");
  ASSERT_TRUE(hardware.ok()) << hardware.status();
  EXPECT_EQ(hardware->cores(), 3u);
  EXPECT_EQ(hardware->packages(), 0u);
}

TEST(ReadHwlocTest, RefusesWhatIsNoMachine) {
  const std::string good = Xml("core:2 pu:1");
  for (const std::string& text : {std::string(), std::string("<topology"), std::string("<?xml version=\"1.0\"?><a/>"),
                                  std::string("\0\0", 2), good.substr(0, good.size() / 2)}) {
    EXPECT_THAT(ReadHwloc(text, "n.xml"),
                FailsWith(absl::StatusCode::kInvalidArgument, "n.xml", absl::StrCat("bytes=", text.size())));
  }
}

}  // namespace
}  // namespace copse::ctl
