// SPDX-License-Identifier: Apache-2.0
//
// The edges of one port in the engine: their nodes, and the labels of both ends.
#ifndef COPSE_DAEMON_CORE_TEAM_PORT_EDGES_H_
#define COPSE_DAEMON_CORE_TEAM_PORT_EDGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::daemon {

// PortEdges are the edges to all nodes with which any of a port's plans exchanges packets. Thread-compatible; `*engine`
// outlives it.
class PortEdges {
 public:
  PortEdges(emu::Engine* engine, const std::vector<schedule::Plan>& plans, NodeIndex self);

  // Adds the edges to the open port, once. RESOURCE_EXHAUSTED: the engine has no memory for their eager buffers.
  absl::Status Open(emu::PortId port, const schedule::TeamLayout& layout);

  // Nodes ascend; edges, and eager buffers of a slot, are parallel to them.
  const std::vector<uint32_t>& nodes() const { return nodes_; }
  const std::vector<uint32_t>& edges() const { return edges_; }
  absl::Span<const emu::RegionIndex> CellsOf(uint32_t slot) const;
  std::optional<NodeIndex> NodeOfEdge(uint32_t edge) const;

  // The labels that this node has issued; 0: there is no edge to that node.
  std::vector<schedule::EdgeLabel> IncomingLabels() const;
  uint32_t LabelFor(NodeIndex node) const;
  // The label that `node` has issued. INVALID_ARGUMENT: there is no edge to it.
  absl::Status SetRemoteLabel(emu::PortId port, NodeIndex node, uint32_t label);
  bool HasAllRemoteLabels() const;

 private:
  std::optional<size_t> PlaceOf(NodeIndex node) const;

  struct Labels {
    uint32_t local = 0;         // issued here
    bool remote_known = false;  // the other node's was set
  };

  emu::Engine* const engine_;
  std::vector<uint32_t> nodes_;
  std::vector<uint32_t> edges_;          // parallel to nodes_
  std::vector<Labels> labels_;           // parallel to nodes_
  std::vector<emu::RegionIndex> cells_;  // [slot * nodes + place]
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_PORT_EDGES_H_
