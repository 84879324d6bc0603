// SPDX-License-Identifier: Apache-2.0
#include "daemon/shm/client_teams.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace copse::daemon {

absl::Status ClientTeams::Check(const attach::TeamCreate& message) const {
  if (message.size == 0 || message.rank >= message.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("team: rank beyond its size (rank=", message.rank, ", size=", message.size, ")"));
  }
  if (message.parent != 0 && !members_.contains(message.parent)) {
    return absl::InvalidArgumentError(absl::StrCat("team: no such parent (handle=", message.parent, ")"));
  }
  if (std::isnan(message.timeout_s) || message.timeout_s < 0) {
    return absl::InvalidArgumentError(absl::StrCat("team: impossible time-out (timeout_s=", message.timeout_s, ")"));
  }
  const size_t pending = formations_.size() + destructions_.size();
  if (pending >= requests_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("team: too many requests (pending=", pending, ", limit=", requests_max_, ")"));
  }
  return absl::OkStatus();
}

uint64_t ClientTeams::Form(const Formation& formation) {
  formations_[next_request_] = formation;
  return next_request_++;
}

std::optional<uint64_t> ClientTeams::OnFormed(uint64_t request, uint32_t handle) {
  const auto formed = formations_.extract(request);
  if (formed.empty()) {
    unwanted_.push_back(handle);
    return std::nullopt;
  }
  members_[handle] = formed.mapped().member;
  return formed.mapped().client_request;
}

std::optional<uint64_t> ClientTeams::OnFailed(uint64_t request) {
  const auto failed = formations_.extract(request);
  return failed.empty() ? std::nullopt : std::optional(failed.mapped().client_request);
}

std::map<uint64_t, ClientTeams::Formation> ClientTeams::Late(absl::Time now) const {
  std::map<uint64_t, Formation> late;
  std::copy_if(formations_.begin(), formations_.end(), std::inserter(late, late.end()),
               [&](const auto& formation) { return now >= formation.second.deadline; });
  return late;
}

absl::Time ClientTeams::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [request, formation] : formations_) next = std::min(next, formation.deadline);
  return next;
}

std::optional<uint64_t> ClientTeams::Destroy(uint64_t client_request, uint32_t handle) {
  const auto member = members_.find(handle);
  if (member == members_.end()) return std::nullopt;
  destructions_[next_request_] = {client_request, handle, member->second};
  members_.erase(member);
  return next_request_++;
}

std::optional<uint64_t> ClientTeams::OnDestroyed(uint64_t request, bool is_destroyed) {
  const auto destroyed = destructions_.extract(request);
  if (destroyed.empty()) return std::nullopt;
  const Destruction& destruction = destroyed.mapped();
  if (!is_destroyed) members_[destruction.handle] = destruction.member;
  return destruction.client_request;
}

std::optional<ClientTeams::Unwanted> ClientTeams::TakeUnwanted() {
  if (unwanted_.empty()) return std::nullopt;
  const uint32_t handle = unwanted_.back();
  unwanted_.pop_back();
  return Unwanted{next_request_++, handle};
}

}  // namespace copse::daemon
