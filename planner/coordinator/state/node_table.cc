// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/node_table.h"

#include <algorithm>
#include <iterator>
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
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &it->second->second;
}

Node* NodeTable::Find(const std::string& name) {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &it->second->second;
}

const Node* NodeTable::After(const std::string& name) const {
  const auto known = index_.find(name);
  const auto it = known == index_.end() ? nodes_.upper_bound(name) : std::next(known->second);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::pair<Node&, bool> NodeTable::FindOrAdd(const std::string& name) {
  const auto known = index_.find(name);
  if (known != index_.end()) return {known->second->second, false};
  const auto it = nodes_.try_emplace(name).first;
  index_.emplace(it->first, it);
  return {it->second, true};
}

void NodeTable::Erase(const std::string& name) {
  const auto known = index_.find(name);
  if (known == index_.end()) return;
  const auto it = known->second;
  index_.erase(known);  // its key is the node's
  nodes_.erase(it);
}

Node* NodeTable::NodeOf(SessionId session) {
  const Session* entry = FindSession(session);
  return entry == nullptr || entry->node.empty() ? nullptr : &At(entry->node);
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

std::vector<uint32_t> NodeTable::AskForAddresses(absl::Span<const schedule::TeamNode> members) {
  std::vector<uint32_t> lacking;
  for (uint32_t i = 0; i < members.size(); ++i) {
    if (const Node* live = Live(members[i]); live == nullptr || !live->lacks_address()) continue;
    lacking.push_back(i);
    Node& node = At(members[i].name);
    if (std::exchange(node.asked_for_address, node.session) == node.session) continue;
    outbox_->Send(node.session, schedule::AddressQuery{});
  }
  return lacking;
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
