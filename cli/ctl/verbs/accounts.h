// SPDX-License-Identifier: Apache-2.0
//
// Sums what users' jobs hold at the nodes.
#ifndef COPSE_CLI_CTL_VERBS_ACCOUNTS_H_
#define COPSE_CLI_CTL_VERBS_ACCOUNTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/client/style.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// An AccountSum is what one job of a user holds at all nodes of a reply, and the least of the nodes' limits and
// weights.
struct AccountSum {
  uint32_t uid = 0;
  std::string job;                // by the control group
  std::set<std::string> claimed;  // jobs, as its processes say
  std::map<std::string, uint64_t> used;
  std::map<std::string, uint64_t> limits;  // of the user, with all jobs, at one node; 2^64 - 1: none
  uint32_t weight = 0;
  std::vector<std::pair<std::string, const v1::AccountRow*>> nodes;  // by name

  uint64_t UsedOf(const std::string& resource) const;
  std::vector<std::string> NodeNames() const;
  // Returns the claims as one text, with commas.
  std::string Claimed() const;
};

// Returns the user's name, or the id as text if it has none here.
std::string UserName(uint32_t uid);

// Returns the sums of the accounts that `wanted` selects, by user and job. `reply` must outlive them.
std::vector<AccountSum> SumAccounts(const v1::GetStatsReply& reply,
                                    const std::function<bool(const v1::AccountRow&)>& wanted);

// Renders the sums: as a table, or as JSON, with what is held at each node.
std::string RenderAccounts(const std::vector<AccountSum>& accounts, const Style& style);
// Returns the limits by resource; null: there is none.
Json LimitsJson(const std::map<std::string, uint64_t>& limits);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_ACCOUNTS_H_
