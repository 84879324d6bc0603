// SPDX-License-Identifier: Apache-2.0
//
// Counts what each user's jobs hold of what all users of a node share, and decides who may have more.
#ifndef COPSE_DAEMON_ACCOUNTS_ACCOUNTS_H_
#define COPSE_DAEMON_ACCOUNTS_ACCOUNTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/accounts/fair_share.h"
#include "daemon/accounts/quota_rules.h"
#include "daemon/accounts/resource.h"
#include "offload_emu/memory_owner.h"

namespace copse::daemon {

class Accounts;

// An Account counts what one job of one user holds. The job is an administrator's (JobOfCgroup), never what the client
// says. Shared by everything that is held for it, and gone with the last of that. Thread-compatible.
class Account final : public emu::MemoryOwner, public std::enable_shared_from_this<Account> {
 public:
  // A Holding is an amount of a resource that the account has, until its destruction. Movable.
  class Holding {
   public:
    Holding() = default;
    Holding(Holding&& other) noexcept { *this = std::move(other); }
    Holding& operator=(Holding&& other) noexcept;
    ~Holding();
    // Returns null if nothing is held.
    Account* account() const { return account_.get(); }

   private:
    friend class Account;
    Holding(std::shared_ptr<Account> account, Resource resource, uint64_t amount)
        : account_(std::move(account)), resource_(resource), amount_(amount) {}

    std::shared_ptr<Account> account_;
    Resource resource_ = Resource::kClients;
    uint64_t amount_ = 0;
  };

  ~Account() override;
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  uint32_t uid() const { return uid_; }
  const std::string& job() const { return job_; }
  uint64_t used(Resource resource) const { return used_[static_cast<size_t>(resource)]; }
  // Returns the user's weight by QuotaRules.
  uint32_t weight() const;

  // Grants `amount`. RESOURCE_EXHAUSTED, and nothing changes, if the user may not have so much more; the text names
  // quota, user, what is used, the limit and `amount`. The refusal is counted.
  absl::StatusOr<Holding> Take(Resource resource, uint64_t amount = 1);
  // Returns the error of Take, without taking anything.
  absl::Status Check(Resource resource, uint64_t amount = 1);
  // Grants `amount` whatever the limits are, as for what was checked under another name before.
  Holding TakeAnyway(Resource resource, uint64_t amount = 1);

  // Counts a post that begins, also if it is one too many, which the error says; each ends by PostsOver.
  absl::Status PostBegins();
  void PostsOver(uint64_t posts) { Give(Resource::kPosts, posts); }

  // These implement emu::MemoryOwner.
  absl::Status Charge(uint64_t bytes) override;
  void Discharge(uint64_t bytes) override { Give(Resource::kMemory, bytes); }

 private:
  friend class Accounts;
  struct User;
  Account(Accounts* accounts, User* user, uint32_t uid, std::string job)
      : accounts_(accounts), user_(user), uid_(uid), job_(std::move(job)) {}

  void Add(Resource resource, uint64_t amount);
  void Give(Resource resource, uint64_t amount);

  Accounts* const accounts_;
  User* const user_;
  const uint32_t uid_;
  const std::string job_;
  Amounts used_{};
};

// An Accounts has an account for each job with anything, and the limits. A limit is for a user, with all jobs: else a
// user with many jobs would have more than one with few. A user may have what the FairShare of all users allows, up to
// the maximum by QuotaRules. Thread-compatible; it must outlive its accounts.
class Accounts {
 public:
  Accounts();
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;
  ~Accounts();

  // Sets what all users share. Without it there is no limit. What is held stays held.
  void SetShare(Resource resource, FairShare share);
  // Sets the maxima and weights of users. What is held stays held.
  void SetRules(QuotaRules rules);

  // A job begins: if it is `exclusive`, its user has the node to itself until EndJob, and nothing is kept for others.
  // Idempotent; the last call counts. RESOURCE_EXHAUSTED: kJobsMax have begun.
  static constexpr size_t kJobsMax = 4096;
  absl::Status BeginJob(uint32_t uid, std::string_view job, bool exclusive);
  void EndJob(uint32_t uid, std::string_view job) { jobs_.erase(std::pair(uid, std::string(job))); }
  size_t jobs() const { return jobs_.size(); }

  // Returns the account of a user's job, of which a process has these groups.
  std::shared_ptr<Account> Open(uint32_t uid, std::string_view job, const std::set<uint32_t>& gids = {});

  // Returns the most that the user may have of each resource while others have nothing.
  Amounts LimitsOf(const Account& account) const;
  uint64_t used(Resource resource) const { return used_[static_cast<size_t>(resource)]; }
  uint64_t used_by(uint32_t uid, Resource resource) const;
  // Returns how often the resource was refused since the start.
  uint64_t refused(Resource resource) const { return refused_[static_cast<size_t>(resource)]; }
  // Returns all accounts, by user and job.
  std::vector<const Account*> All() const;

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  friend class Account;
  void Remove(const Account& account);
  void ApplyRules(uint32_t uid, Account::User* user) const;
  // Returns what all users share, as it is for this one.
  FairShare ShareFor(uint32_t uid, size_t resource) const;

  std::array<FairShare, kResourceCount> shares_;
  QuotaRules rules_;
  Amounts used_{};
  Amounts refused_{};
  std::map<std::pair<uint32_t, std::string>, bool> jobs_;  // that have begun; true: exclusive
  std::map<uint32_t, std::unique_ptr<Account::User>> users_;
  std::map<std::pair<uint32_t, std::string>, Account*, std::less<>> accounts_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_ACCOUNTS_ACCOUNTS_H_
