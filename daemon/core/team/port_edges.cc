// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/port_edges.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace copse::daemon {
namespace {

// Returns the label of an edge in the team `like`, whose ends both know the labels that the receiver and the sender of
// the same edge have issued. Those are random, so a daemon without this edge cannot find it.
emu::Label LabelLike(uint32_t receivers, uint32_t senders, TeamId like) {
  const auto label = static_cast<uint32_t>(Mix64(Mix64(uint64_t{receivers} << 32 | senders) + like.value()));
  return emu::Label{label == 0 ? 1 : label};
}

}  // namespace

PortEdges::PortEdges(emu::Engine* engine, const std::vector<schedule::Plan>& plans, NodeIndex self) : engine_(engine) {
  for (const schedule::Plan& plan : plans) {
    for (const NodeIndex node : schedule::NeighborsOf(plan, self)) nodes_.push_back(node.value());
  }
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
}

absl::Status PortEdges::Open(emu::PortId port, const schedule::TeamLayout& layout, const PortEdges* like) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const emu::Label label =
        like == nullptr ? emu::kNoLabel : LabelLike(like->labels_[i].local, like->labels_[i].remote, layout.id);
    ASSIGN_OR_RETURN(const emu::Engine::NewEdge edge,
                     engine_->AddEdge(port, layout.nodes[nodes_[i]].incarnation, label));
    edges_.push_back(edge.edge);
    labels_.push_back({.local = static_cast<uint32_t>(edge.label)});
  }
  for (uint32_t slot = 0; slot < layout.window; ++slot) {
    for (const uint32_t edge : edges_) cells_.push_back(engine_->CellRegion(port, edge, slot));
  }
  return absl::OkStatus();
}

absl::Span<const emu::RegionIndex> PortEdges::CellsOf(uint32_t slot) const {
  return absl::MakeConstSpan(cells_).subspan(slot * nodes_.size(), nodes_.size());
}

std::optional<NodeIndex> PortEdges::NodeOfEdge(uint32_t edge) const {
  const auto it = std::find(edges_.begin(), edges_.end(), edge);
  return it == edges_.end() ? std::nullopt : std::optional(NodeIndex(nodes_[it - edges_.begin()]));
}

std::vector<schedule::EdgeLabel> PortEdges::IncomingLabels() const {
  std::vector<schedule::EdgeLabel> labels;
  for (size_t i = 0; i < nodes_.size(); ++i) labels.push_back({NodeIndex(nodes_[i]), labels_[i].local});
  return labels;
}

std::vector<schedule::EdgeLabel> PortEdges::RemoteLabelsLike(TeamId like) const {
  std::vector<schedule::EdgeLabel> labels;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const emu::Label label = LabelLike(labels_[i].remote, labels_[i].local, like);
    labels.push_back({NodeIndex(nodes_[i]), static_cast<uint32_t>(label)});
  }
  return labels;
}

std::optional<size_t> PortEdges::PlaceOf(NodeIndex node) const {
  const auto it = std::lower_bound(nodes_.begin(), nodes_.end(), node.value());
  if (it == nodes_.end() || *it != node.value()) return std::nullopt;
  return it - nodes_.begin();
}

uint32_t PortEdges::LabelFor(NodeIndex node) const {
  const std::optional<size_t> place = PlaceOf(node);
  return place ? labels_[*place].local : 0;
}

absl::Status PortEdges::SetRemoteLabel(emu::PortId port, NodeIndex node, uint32_t label) {
  const std::optional<size_t> place = PlaceOf(node);
  if (!place) {
    return absl::InvalidArgumentError(absl::StrCat("label of a node that is no neighbor (node=", node.value(), ")"));
  }
  RETURN_IF_ERROR(engine_->SetRemoteLabel(port, edges_[*place], static_cast<emu::Label>(label)));
  labels_[*place].remote = label;
  return absl::OkStatus();
}

bool PortEdges::HasAllRemoteLabels() const {
  return std::all_of(labels_.begin(), labels_.end(), [](const Labels& labels) { return labels.remote != 0; });
}

}  // namespace copse::daemon
