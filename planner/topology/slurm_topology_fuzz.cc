// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "base/check.h"
#include "planner/topology/slurm_topology.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {

std::vector<std::string> Seeds() {
  return {
      "# racks\nSwitchName=r1 LinkSpeed=10 Nodes=n[1-2]\nSwitchName=r2 Nodes=\"n[3-4],x\" \\\n LinkSpeed=4\n"
      "SwitchName=core Switches=r[1-2]\n",
      "SwitchName=r1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=c Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=r1\n",
      "SwitchName=c LinkSpeed=1 Nodes=n[1-3] Switches=r1\nSwitchName=r1 Nodes=n2\n",
      "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\nAggregatedBlock=b1 Nodes=n[1-2]\nBlockSizes=2\n",
      "SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Nodes=n[1-10000000]\n"};
}

// The parser returns an error with a place in one line, or a topology that round-trips: it keeps its nodes when written
// and read once, and is unchanged afterwards.
void OneInput(std::string_view bytes) {
  topology::SlurmFigures figures;
  if (bytes.size() % 2 == 1) figures.root = "wan";
  const auto topology = topology::ParseSlurmTopology(bytes, "f", figures, {.nodes_max = 10'000});
  if (!topology.ok()) {
    CHECK(absl::StartsWith(topology.status().message(), "f:"));
    CHECK(!absl::StrContains(topology.status().message(), "\n"));
    return;
  }
  const std::string text = topology::FormatSlurmTopology(*topology, figures.link_speed_bytes_per_s);
  const auto again = topology::ParseSlurmTopology(text, "again", figures);
  CHECK(again.ok());
  CHECK_EQ(again->nodes().size(), topology->nodes().size());
  CHECK_EQ(topology::FormatSlurmTopology(*again, figures.link_speed_bytes_per_s), text);
}

}  // namespace copse::fuzzing
