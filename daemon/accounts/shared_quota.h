// SPDX-License-Identifier: Apache-2.0
//
// Counts what each user holds of one thing that all users of a node share.
#ifndef COPSE_DAEMON_ACCOUNTS_SHARED_QUOTA_H_
#define COPSE_DAEMON_ACCOUNTS_SHARED_QUOTA_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "daemon/accounts/fair_share.h"

namespace copse::daemon {

// A SharedQuota grants amounts of one thing (bytes, regions) to users by a FairShare. A grant is returned when its
// Holding is destroyed, so nothing stays with a user who is gone. Thread-compatible; it must outlive its Holdings.
class SharedQuota {
 public:
  // A Holding is an amount that a user has. Movable.
  class Holding {
   public:
    Holding() = default;
    Holding(Holding&& other) noexcept { *this = std::move(other); }
    Holding& operator=(Holding&& other) noexcept;
    ~Holding();

   private:
    friend class SharedQuota;
    Holding(SharedQuota* quota, uint32_t uid, uint64_t amount) : quota_(quota), uid_(uid), amount_(amount) {}

    SharedQuota* quota_ = nullptr;
    uint32_t uid_ = 0;
    uint64_t amount_ = 0;
  };

  // `name` is what there can be too many of: "regions", "bytes of regions".
  SharedQuota(std::string name, FairShare share) : name_(std::move(name)), share_(share) {}
  SharedQuota(const SharedQuota&) = delete;
  SharedQuota& operator=(const SharedQuota&) = delete;

  // Grants `amount` to the user. RESOURCE_EXHAUSTED, and nothing changes, if the share does not allow it; the text
  // names user, quota, used, limit and `amount`.
  absl::StatusOr<Holding> Take(uint32_t uid, uint64_t amount);

  uint64_t used() const { return used_by_all_; }
  uint64_t used_by(uint32_t uid) const;
  const FairShare& share() const { return share_; }

 private:
  void Return(uint32_t uid, uint64_t amount);

  const std::string name_;
  const FairShare share_;
  uint64_t used_by_all_ = 0;
  std::map<uint32_t, uint64_t> used_;  // by user; only users who have something
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_ACCOUNTS_SHARED_QUOTA_H_
