// SPDX-License-Identifier: Apache-2.0
//
// Converts topology files to Topology and back. docs/reference/topology.md describes the format for users:
//
//   version: 1
//   defaults: {overhead: 2us, latency: 1us, bandwidth: 10Gbit}
//   switches:
//     - {name: core}
//     - {name: rack1, parent: core, latency: 1ms, bandwidth: 1Gbit}
//   nodes:
//     - {name: "n[1-4]", switch: rack1, overhead: 5us, latency: 20us, bandwidth: 10Gbit}
//
// A link's figures are given at its lower end. A node may also have `receive_overhead` (by default equal to
// `overhead`), `cores`, and `host` (nodes of one host share its cores); all but `host` may have defaults. Names consist
// of letters, digits, "-", "_" and ".". A section `fabric` is skipped: testbed/fabric emulates the cluster by it. Costs
// that are equal at all nodes may be given under `costs`, by the names of cost_parameters.h:
//
//   costs: {wake_ns: 5000, takeover_ns: 2000}
#ifndef COPSE_PLANNER_TOPOLOGY_TOPOLOGY_YAML_H_
#define COPSE_PLANNER_TOPOLOGY_TOPOLOGY_YAML_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/topology/topology.h"

namespace copse::topology {

inline constexpr uint32_t kTopologyFormatVersion = 1;
inline constexpr size_t kTopologyBytesMax = size_t{64} << 20;
inline constexpr size_t kNameBytesMax = 255;

struct ParseOptions {
  uint32_t nodes_max = kNodeCountMax;
};

// Parses a topology file. Figures that neither an entry nor `defaults` gives are those of FlatCosts and CostParameters.
//
// Errors:  INVALID_ARGUMENT "file:line: what: why (thing=value, limit=value)" for all errors. Nothing else, and no
//          exceptions. Node lists that are too long are refused before they are expanded.
// Cost:    O(text + nodes).
absl::StatusOr<Topology> ParseTopologyYaml(std::string_view text, std::string_view filename,
                                           const ParseOptions& options = {});

// Figures are written in the units of the parser: as planners store them, or as people write them.
enum class FigureUnits {
  kPlain,     // "1000000ns", "125000000B/s"
  kReadable,  // "1ms", "1Gbit", with a comment that says what they mean
};
// Returns a file that parses to an equal topology, if the format allows all names.
std::string FormatTopologyYaml(const Topology& topology, FigureUnits units = FigureUnits::kPlain);

// --- For parsers of topologies in any format ---

// Returns `text` as an error quotes it: long text is cut.
std::string Shown(std::string_view text);
// Returns INVALID_ARGUMENT with the message "file:line: text" of one line; `text` may quote any content of the file.
absl::Status ErrorAt(std::string_view filename, int line, std::string text);
// Returns whether a name may have the character.
bool IsNameCharacter(char c);
}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_TOPOLOGY_YAML_H_
