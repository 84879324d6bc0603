// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/node_table.h"

#include <algorithm>
#include <utility>

namespace copse::coordinator {

Session* NodeTable::FindSession(SessionId id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

void NodeTable::ForgetRequest(SessionId id, uint64_t request) {
  if (Session* session = FindSession(id)) session->requests.erase(request);
}

const Node* NodeTable::Find(const std::string& name) const {
  const auto it = nodes_.find(name);
  return it == nodes_.end() ? nullptr : &it->second;
}

Node* NodeTable::Find(const std::string& name) {
  const auto it = nodes_.find(name);
  return it == nodes_.end() ? nullptr : &it->second;
}

Node* NodeTable::NodeOf(SessionId session) {
  const Session* entry = FindSession(session);
  return entry == nullptr || entry->node.empty() ? nullptr : &nodes_.at(entry->node);
}

const Node* NodeTable::Live(const schedule::TeamNode& member) const {
  const Node* node = Find(member.name);
  if (node == nullptr || !node->is_connected()) return nullptr;
  return node->announcement.incarnation == member.incarnation ? node : nullptr;
}

bool NodeTable::AllHave(absl::Span<const schedule::TeamNode> members, schedule::Feature feature) const {
  return std::all_of(members.begin(), members.end(), [&](const schedule::TeamNode& member) {
    const Node* node = Live(member);
    return node != nullptr && node->announcement.features.contains(feature);
  });
}

bool NodeTable::AskForAddresses(absl::Span<const schedule::TeamNode> members) {
  bool any = false;
  for (const schedule::TeamNode& member : members) {
    if (const Node* live = Live(member); live == nullptr || !live->lacks_address()) continue;
    any = true;
    Node& node = At(member.name);
    if (std::exchange(node.asked_for_address, node.session) == node.session) continue;
    outbox_->Send(node.session, schedule::AddressQuery{});
  }
  return any;
}

void NodeTable::SendTo(const schedule::TeamNode& member, const schedule::ToDaemon& message) {
  if (const Node* node = Live(member)) outbox_->Send(node->session, message);
}

void NodeTable::NoteMachine(TeamRecord& record, uint32_t member) const {
  record.machines.resize(record.layout.nodes.size());
  if (const Node* node = Live(record.layout.nodes[member])) record.machines[member] = node->announcement.machine;
}

void NodeTable::NoteMachines(TeamRecord& record) const {
  for (uint32_t i = 0; i < record.layout.nodes.size(); ++i) NoteMachine(record, i);
}

}  // namespace copse::coordinator
