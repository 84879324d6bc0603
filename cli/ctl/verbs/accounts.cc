// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/accounts.h"

#include <pwd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hostlist.h"
#include "base/units.h"
#include "cli/command_line/table.h"

namespace copse::ctl {
namespace {

constexpr uint64_t kUnlimited = UINT64_MAX;
// What users think of as their quotas; the limits of other resources are for those who look for them.
constexpr const char* kShownLimits[] = {"clients", "teams", "memory", "posts"};

bool IsBytes(const std::string& resource) {
  return resource == "memory" || absl::EndsWith(resource, "_memory") || absl::EndsWith(resource, "_bytes");
}

std::string AmountText(const std::string& resource, uint64_t amount) {
  return IsBytes(resource) ? FormatBytes(static_cast<int64_t>(amount)) : absl::StrCat(amount);
}

// Adds the amounts under the keys that copsectl prints: the reserved memory is `bytes_reserved`.
void AddAmounts(const std::map<std::string, uint64_t>& used, Json* json) {
  for (const auto& [resource, amount] : used) (*json)[resource == "memory" ? "bytes_reserved" : resource] = amount;
}

Json NodeJson(const std::string& node, const v1::AccountRow& row) {
  std::map<std::string, uint64_t> used, limits;
  for (const v1::HoldingRow& holding : row.holdings()) {
    used[holding.resource()] = holding.used();
    limits[holding.resource()] = holding.limit();
  }
  Json json = {{"node", node}};
  AddAmounts(used, &json);
  json["limits"] = LimitsJson(limits);
  json["weight"] = row.weight();
  return json;
}

Json AccountJson(const AccountSum& account) {
  Json json = {{"user", UserName(account.uid)},
               {"uid", account.uid},
               {"job", account.job},
               {"claimed", account.Claimed()},
               {"nodes", account.NodeNames()}};
  AddAmounts(account.used, &json);
  json["limits"] = LimitsJson(account.limits);
  json["weight"] = account.weight;
  json["per_node"] = Json::array();
  for (const auto& [node, row] : account.nodes) json["per_node"].push_back(NodeJson(node, *row));
  return json;
}

std::string LimitsText(const AccountSum& account) {
  std::vector<std::string> texts;
  const std::map<std::string, uint64_t>& limits = account.limits;
  for (const char* resource : kShownLimits) {
    const auto it = limits.find(resource);
    if (it == limits.end() || it->second == kUnlimited) continue;
    texts.push_back(absl::StrCat(resource, "=", AmountText(resource, it->second)));
  }
  if (account.weight > 1) texts.push_back(absl::StrCat("weight=", account.weight));
  return texts.empty() ? "-" : absl::StrJoin(texts, " ");
}

}  // namespace

uint64_t AccountSum::UsedOf(const std::string& resource) const {
  const auto it = used.find(resource);
  return it == used.end() ? 0 : it->second;
}

std::vector<std::string> AccountSum::NodeNames() const {
  std::vector<std::string> names;
  for (const auto& [name, row] : nodes) names.push_back(name);
  return names;
}

std::string AccountSum::Claimed() const { return absl::StrJoin(claimed, ","); }

std::string UserName(uint32_t uid) {
  const passwd* const user = getpwuid(uid);
  return user == nullptr ? absl::StrCat(uid) : user->pw_name;
}

std::vector<AccountSum> SumAccounts(const v1::GetStatsReply& reply,
                                    const std::function<bool(const v1::AccountRow&)>& wanted) {
  std::map<std::pair<uint32_t, std::string>, AccountSum> sums;
  for (const v1::NodeStats& node : reply.stats()) {
    for (const v1::AccountRow& row : node.accounts()) {
      if (!wanted(row)) continue;
      AccountSum& sum = sums[{row.uid(), row.job()}];
      sum.uid = row.uid();
      sum.job = row.job();
      sum.weight = sum.nodes.empty() ? row.weight() : std::min(sum.weight, row.weight());
      sum.claimed.insert(row.claimed().begin(), row.claimed().end());
      for (const v1::HoldingRow& holding : row.holdings()) {
        sum.used[holding.resource()] += holding.used();
        uint64_t& limit = sum.limits.try_emplace(holding.resource(), kUnlimited).first->second;
        limit = std::min(limit, holding.limit());
      }
      sum.nodes.emplace_back(node.node(), &row);
    }
  }
  std::vector<AccountSum> all;
  for (auto& [key, sum] : sums) all.push_back(std::move(sum));
  return all;
}

Json LimitsJson(const std::map<std::string, uint64_t>& limits) {
  Json json = Json::object();
  for (const auto& [resource, limit] : limits) json[resource] = limit == kUnlimited ? Json() : Json(limit);
  return json;
}

std::string RenderAccounts(const std::vector<AccountSum>& accounts, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const AccountSum& account : accounts) json.push_back(AccountJson(account));
    return DumpJson(json);
  }
  cli::TableRows rows = {
      {"USER", "JOB", "CLAIMED", "NODES", "CLIENTS>", "TEAMS>", "POSTS>", "RESERVED>", "LIMITS AT A NODE"}};
  for (const AccountSum& account : accounts) {
    rows.push_back({UserName(account.uid), account.job.empty() ? "-" : account.job,
                    account.claimed.empty() ? "-" : account.Claimed(), CompressHostlist(account.NodeNames()),
                    absl::StrCat(account.UsedOf("clients")), absl::StrCat(account.UsedOf("teams")),
                    absl::StrCat(account.UsedOf("posts")), AmountText("memory", account.UsedOf("memory")),
                    LimitsText(account)});
  }
  return cli::RenderTable(std::move(rows), style.width);
}

}  // namespace copse::ctl
