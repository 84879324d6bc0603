// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/accounts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::daemon {
namespace {

constexpr size_t Index(Resource resource) { return static_cast<size_t>(resource); }

}  // namespace

// A User is the sum of its accounts.
struct Account::User {
  Amounts used{};
  Amounts maxima{};
  std::set<uint32_t> gids;  // of all processes that were seen
  uint32_t accounts = 0;
  uint32_t weight = 1;
};

// --- Holding ---

Account::Holding& Account::Holding::operator=(Holding&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(resource_, other.resource_);
  std::swap(amount_, other.amount_);
  return *this;
}

Account::Holding::~Holding() {
  if (account_ != nullptr) account_->Give(resource_, amount_);
}

// --- Account ---

Account::~Account() {
  for (const uint64_t amount : used_) CHECK_EQ(amount, 0u);
  accounts_->Remove(*this);
}

uint32_t Account::weight() const { return user_->weight; }

absl::Status Account::Check(Resource resource, uint64_t amount) {
  const size_t i = Index(resource);
  const FairShare share = accounts_->ShareFor(uid_, i);
  const uint64_t used = user_->used[i];
  const uint64_t used_by_all = accounts_->used_[i];
  const uint64_t maximum = user_->maxima[i];
  const bool is_within = amount <= maximum && used <= maximum - amount;
  if (is_within && share.Allows(used, used_by_all, amount)) return absl::OkStatus();
  ++accounts_->refused_[i];
  const std::string_view text = kResourceNames[i].text;
  if (is_within) return absl::ResourceExhaustedError(share.Refusal(text, uid_, used, used_by_all, amount));
  return absl::ResourceExhaustedError(absl::StrCat("too many ", AbslView(text), " (uid=", uid_, ", used=", used,
                                                   ", limit=", maximum, ", wanted=", amount, ")"));
}

absl::StatusOr<Account::Holding> Account::Take(Resource resource, uint64_t amount) {
  RETURN_IF_ERROR(Check(resource, amount));
  return TakeAnyway(resource, amount);
}

Account::Holding Account::TakeAnyway(Resource resource, uint64_t amount) {
  Add(resource, amount);
  return Holding(shared_from_this(), resource, amount);
}

absl::Status Account::PostBegins() {
  const absl::Status allowed = Check(Resource::kPosts, 1);
  Add(Resource::kPosts, 1);
  return allowed;
}

absl::Status Account::Charge(uint64_t bytes) {
  RETURN_IF_ERROR(Check(Resource::kMemory, bytes));
  Add(Resource::kMemory, bytes);
  return absl::OkStatus();
}

void Account::Add(Resource resource, uint64_t amount) {
  const size_t i = Index(resource);
  used_[i] += amount;
  user_->used[i] += amount;
  accounts_->used_[i] += amount;
}

void Account::Give(Resource resource, uint64_t amount) {
  const size_t i = Index(resource);
  CHECK_GE(used_[i], amount);
  used_[i] -= amount;
  user_->used[i] -= amount;
  accounts_->used_[i] -= amount;
}

// --- Accounts ---

Accounts::Accounts() { shares_.fill({.limit = kUnlimited, .floor = kUnlimited}); }

Accounts::~Accounts() { CHECK(accounts_.empty()); }

void Accounts::SetShare(Resource resource, FairShare share) {
  shares_[Index(resource)] = share;
  SetRules(std::move(rules_));  // they may have parts of it
}

void Accounts::SetRules(QuotaRules rules) {
  rules_ = std::move(rules);
  for (FairShare& share : shares_) share.keeps = !rules_.exclusive;
  for (const auto& [uid, user] : users_) ApplyRules(uid, user.get());
}

void Accounts::ApplyRules(uint32_t uid, Account::User* user) const {
  Amounts totals;
  std::transform(shares_.begin(), shares_.end(), totals.begin(), [](const FairShare& share) { return share.limit; });
  user->maxima = rules_.MaximaOf(uid, user->gids, totals);
  user->weight = rules_.WeightOf(uid, user->gids);
}

absl::Status Accounts::BeginJob(uint32_t uid, std::string_view job, bool exclusive) {
  const auto key = std::pair(uid, std::string(job));
  if (jobs_.size() >= kJobsMax && !jobs_.contains(key)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many jobs have begun (jobs=", jobs_.size(), ", limit=", kJobsMax, ")"));
  }
  jobs_[key] = exclusive;
  return absl::OkStatus();
}

FairShare Accounts::ShareFor(uint32_t uid, size_t resource) const {
  FairShare share = shares_[resource];
  for (auto job = jobs_.lower_bound({uid, ""}); job != jobs_.end() && job->first.first == uid; ++job) {
    share.keeps &= !job->second;
  }
  return share;
}

std::shared_ptr<Account> Accounts::Open(uint32_t uid, std::string_view job, const std::set<uint32_t>& gids) {
  const auto key = std::pair(uid, std::string(job));
  std::unique_ptr<Account::User>& user = users_[uid];
  const bool is_new = user == nullptr;
  if (is_new) user = std::make_unique<Account::User>();
  const size_t groups = user->gids.size();
  user->gids.insert(gids.begin(), gids.end());
  if (is_new || user->gids.size() != groups) ApplyRules(uid, user.get());
  if (const auto it = accounts_.find(key); it != accounts_.end()) return it->second->shared_from_this();
  ++user->accounts;
  const std::shared_ptr<Account> account(new Account(this, user.get(), uid, key.second));
  accounts_[key] = account.get();
  return account;
}

void Accounts::Remove(const Account& account) {
  accounts_.erase(std::pair(account.uid_, account.job_));
  if (--account.user_->accounts == 0) users_.erase(account.uid_);
}

Amounts Accounts::LimitsOf(const Account& account) const {
  Amounts limits;
  for (size_t i = 0; i < kResourceCount; ++i) {
    limits[i] = std::min(ShareFor(account.uid_, i).most(), account.user_->maxima[i]);
  }
  return limits;
}

uint64_t Accounts::used_by(uint32_t uid, Resource resource) const {
  const auto it = users_.find(uid);
  return it == users_.end() ? 0 : it->second->used[Index(resource)];
}

std::vector<const Account*> Accounts::All() const {
  std::vector<const Account*> all;
  for (const auto& [key, account] : accounts_) all.push_back(account);
  return all;
}

void Accounts::CheckInvariants() const {
  Amounts sum{};
  for (const auto& [key, account] : accounts_) {
    CHECK(!account->weak_from_this().expired());
    for (size_t i = 0; i < kResourceCount; ++i) sum[i] += account->used_[i];
  }
  CHECK(sum == used_);
}

}  // namespace copse::daemon
