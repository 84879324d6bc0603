// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/daemon_pages.h"

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace copse::daemon {

absl::StatusOr<DaemonPage*> DaemonPages::Enter(uint32_t uid) {
  auto it = pages_.find(uid);
  if (it == pages_.end()) {
    ASSIGN_OR_RETURN(std::unique_ptr<DaemonPage> page, DaemonPage::Create(incarnation_));
    page->SetSleeping(sleeping_);
    it = pages_.emplace(uid, Entry{std::move(page)}).first;
  }
  ++it->second.clients;
  return it->second.page.get();
}

void DaemonPages::Leave(uint32_t uid) {
  const auto it = pages_.find(uid);
  CHECK(it != pages_.end());
  if (--it->second.clients == 0) pages_.erase(it);
}

void DaemonPages::SetSleeping(bool sleeping) {
  sleeping_ = sleeping;
  for (auto& [uid, entry] : pages_) entry.page->SetSleeping(sleeping);
}

void DaemonPages::CountTurn() {
  for (auto& [uid, entry] : pages_) entry.page->CountTurn();
}

void DaemonPages::Wake() {
  for (auto& [uid, entry] : pages_) entry.page->group_wake().Wake();
}

}  // namespace copse::daemon
