// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/endless_calls.h"

#include <string>
#include <utility>
#include <vector>

namespace copse::planner {

void EndlessCalls::Add(EndlessCall* call, rpc::Principal caller) {
  const MutexLock lock(&mutex_);
  calls_[call] = std::move(caller);
}

bool EndlessCalls::Remove(EndlessCall* call) {
  const MutexLock lock(&mutex_);
  return calls_.erase(call) > 0;
}

// Certificates are checked without the lock: there may be thousands, of which each takes some 100 us.
void EndlessCalls::Check(const rpc::Authorizer& authorizer) {
  if (authorizer.identity() == nullptr) return;
  std::map<std::string, rpc::PeerCertificate> shown;
  {
    const MutexLock lock(&mutex_);
    for (const auto& [call, caller] : calls_) shown[caller.certificate.certificate] = caller.certificate;
  }
  std::map<std::string, absl::Status> refused;
  for (const auto& [text, certificate] : shown) {
    if (text.empty()) continue;
    const absl::Status status = authorizer.identity()->StillBelieves(certificate);
    if (!status.ok()) refused[text] = status;
  }
  std::vector<std::pair<EndlessCall*, absl::Status>> ended;
  {
    const MutexLock lock(&mutex_);
    for (auto it = calls_.begin(); it != calls_.end();) {
      const auto why = refused.find(it->second.certificate.certificate);
      if (why == refused.end()) {
        ++it;
        continue;
      }
      authorizer.LogRefusal(it->second.peer, why->second);
      ended.emplace_back(it->first, why->second);
      it = calls_.erase(it);
    }
  }
  for (const auto& [call, why] : ended) call->Refuse(why);
}

}  // namespace copse::planner
