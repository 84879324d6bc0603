// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/cluster_identity.h"

#include <utility>

namespace copse::coordinator {
namespace {

// Nodes of more foreign clusters than this are refused without being listed.
constexpr size_t kForeignClustersMax = 16;

}  // namespace

ClusterIdentity::ClusterIdentity(Outbox* outbox, std::string uuid, bool is_new, const std::string& fresh)
    : outbox_(outbox), uuid_(std::move(uuid)), is_new_(is_new), was_new_(is_new) {
  if (!uuid_.empty() || fresh.empty()) return;
  uuid_ = fresh;
  is_new_ = was_new_ = true;
  outbox_->Record(PutCluster{uuid_, true});
}

bool ClusterIdentity::IsForeign(const std::string& uuid) const {
  return !uuid.empty() && !uuid_.empty() && uuid != uuid_ && !former_.contains(uuid);
}

void ClusterIdentity::Adopt(const std::string& uuid) {
  if (!uuid_.empty()) former_.insert(uuid_);
  uuid_ = uuid;
  is_new_ = false;
  refused_.erase(uuid);
  outbox_->Record(PutCluster{uuid_, false});
}

void ClusterIdentity::Found() {
  if (!is_new_ || uuid_.empty()) return;
  is_new_ = false;
  outbox_->Record(PutCluster{uuid_, false});
}

void ClusterIdentity::NoteRefused(const std::string& uuid, const std::string& node) {
  NoteAccepted(node);
  if (refused_.size() < kForeignClustersMax || refused_.contains(uuid)) refused_[uuid].insert(node);
}

void ClusterIdentity::NoteAccepted(const std::string& node) {
  for (auto it = refused_.begin(); it != refused_.end();) {
    it->second.erase(node);
    it = it->second.empty() ? refused_.erase(it) : std::next(it);
  }
}

std::vector<ForeignTeams> ClusterIdentity::foreign() const {
  std::vector<ForeignTeams> foreign;
  for (const auto& [cluster, nodes] : refused_) foreign.push_back({cluster, nodes});
  return foreign;
}

}  // namespace copse::coordinator
