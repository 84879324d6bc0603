// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/shared_quota.h"

#include "absl/status/status.h"
#include "base/check.h"

namespace copse::daemon {

SharedQuota::Holding& SharedQuota::Holding::operator=(Holding&& other) noexcept {
  std::swap(quota_, other.quota_);
  std::swap(uid_, other.uid_);
  std::swap(amount_, other.amount_);
  return *this;
}

SharedQuota::Holding::~Holding() {
  if (quota_ != nullptr) quota_->Return(uid_, amount_);
}

absl::StatusOr<SharedQuota::Holding> SharedQuota::Take(uint32_t uid, uint64_t amount) {
  const uint64_t used = used_by(uid);
  if (!share_.Allows(used, used_by_all_, amount)) {
    return absl::ResourceExhaustedError(share_.Refusal(name_, uid, used, used_by_all_, amount));
  }
  used_by_all_ += amount;
  used_[uid] += amount;
  return Holding(this, uid, amount);
}

uint64_t SharedQuota::used_by(uint32_t uid) const {
  const auto it = used_.find(uid);
  return it == used_.end() ? 0 : it->second;
}

void SharedQuota::Return(uint32_t uid, uint64_t amount) {
  const auto it = used_.find(uid);
  CHECK(it != used_.end());
  CHECK(it->second >= amount);
  used_by_all_ -= amount;
  it->second -= amount;
  if (it->second == 0) used_.erase(it);
}

}  // namespace copse::daemon
