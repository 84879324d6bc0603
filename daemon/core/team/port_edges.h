// SPDX-License-Identifier: Apache-2.0
//
// Keeps the edges of one port of the engine: their nodes, and the labels of both ends.
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
// must outlive this object.
class PortEdges {
 public:
  PortEdges(emu::Engine* engine, const std::vector<schedule::Plan>& plans, NodeIndex self);

  // Adds the edges to the open port, once. The labels follow from those of `like`, the edges of the same nodes in
  // another team, whose remote labels are known; null: the engine chooses them. RESOURCE_EXHAUSTED: the engine has no
  // memory for their eager buffers. ALREADY_EXISTS: a label that follows is in use.
  absl::Status Open(emu::PortId port, const schedule::TeamLayout& layout, const PortEdges* like);

  // Return the nodes, ascending, and the edges and the eager buffers of a slot in the nodes' order.
  const std::vector<uint32_t>& nodes() const { return nodes_; }
  const std::vector<uint32_t>& edges() const { return edges_; }
  absl::Span<const emu::RegionIndex> CellsOf(uint32_t slot) const;
  // Returns nothing for an unknown edge.
  std::optional<NodeIndex> NodeOfEdge(uint32_t edge) const;

  // Return the labels that this node has issued: of all edges, or of the edge to `node` (0: there is none).
  std::vector<schedule::EdgeLabel> IncomingLabels() const;
  uint32_t LabelFor(NodeIndex node) const;
  // Sets the label that `node` has issued, after which the engine may send. INVALID_ARGUMENT: there is no edge to the
  // node. Other errors are the engine's.
  absl::Status SetRemoteLabel(emu::PortId port, NodeIndex node, uint32_t label);
  // Returns the labels that the neighbors issue for their edges to this node in the port of the team `like` these
  // edges.
  std::vector<schedule::EdgeLabel> RemoteLabelsLike(TeamId like) const;
  // Returns whether SetRemoteLabel has succeeded for all edges.
  bool HasAllRemoteLabels() const;

 private:
  // Returns the node's index in `nodes_`, if there is an edge to it.
  std::optional<size_t> PlaceOf(NodeIndex node) const;

  struct Labels {
    uint32_t local = 0;   // issued here
    uint32_t remote = 0;  // issued by the other node; 0: not known
  };

  emu::Engine* const engine_;
  std::vector<uint32_t> nodes_;
  std::vector<uint32_t> edges_;          // parallel to nodes_
  std::vector<Labels> labels_;           // parallel to nodes_
  std::vector<emu::RegionIndex> cells_;  // [slot * nodes + place]
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_PORT_EDGES_H_
