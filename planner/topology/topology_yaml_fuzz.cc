// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "base/check.h"
#include "planner/topology/topology_yaml.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {

std::vector<std::string> Seeds() {
  return {
      "version: 1\ndefaults: {overhead: 2us, latency: 1us, bandwidth: 10Gbit}\nswitches:\n  - {name: core}\n"
      "  - {name: rack1, parent: core, latency: 1ms, bandwidth: 1Gbit}\nnodes:\n"
      "  - {name: \"n[1-4]\", switch: rack1, overhead: 5us, latency: 20us, bandwidth: 10Gbit}\n",
      "version: 1\ncosts: {wake_ns: 7}\nswitches: [{name: a}]\nnodes:\n"
      "- {name: x, switch: a, host: h, cores: 2, receive_overhead: 3us}\n- {name: y, switch: a, host: h, cores: 2}\n",
      "version: 1\nswitches: [{name: a, parent: b}, {name: b, parent: a}]\nnodes: [{name: \"n[1-10000000]\", switch: "
      "a}]\n",
      "{version: 1, switches: &s [{name: a}], nodes: *s, fabric: {any: [thing]}}\n"};
}

// The parser returns an error with a place in one line, or a topology whose file parses to an equal one.
void OneInput(std::string_view bytes) {
  const auto topology = topology::ParseTopologyYaml(bytes, "f", {.nodes_max = 10'000});
  if (!topology.ok()) {
    CHECK(absl::StartsWith(topology.status().message(), "f:"));
    CHECK(!absl::StrContains(topology.status().message(), "\n"));
    return;
  }
  const auto again = topology::ParseTopologyYaml(topology::FormatTopologyYaml(*topology), "again");
  CHECK(again.ok());
  CHECK(*again == *topology);
}

}  // namespace copse::fuzzing
