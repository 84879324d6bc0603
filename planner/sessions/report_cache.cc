// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/report_cache.h"

#include <variant>

#include "base/status_macros.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"

namespace copse::planner {

void ReportCache::Add(const v1::TeamContent& content) {
  contents_[content.sha256()] = content;
  bytes_ += content.zstd().size();
}

absl::StatusOr<ReportCache::Expanded> ReportCache::Expand(const v1::RunningTeam& report, uint64_t* bytes) {
  const std::string key = report.SerializeAsString();
  if (const auto known = reports_.find(key); known != reports_.end()) return known->second;
  v1::FromDaemon from;
  v1::RunningTeam* const expanded = from.mutable_register_()->add_teams();
  *expanded = report;
  if (!report.content().empty()) RETURN_IF_ERROR(rpc::PutContent(contents_.at(report.content()), expanded));
  ASSIGN_OR_RETURN(const schedule::FromDaemon whole, rpc::FromProto(from));
  const schedule::RunningTeam& running = std::get<schedule::Register>(whole).teams.front();
  const uint64_t size = key.size() + expanded->ByteSizeLong();
  *bytes += size;
  bytes_ += size;
  return reports_[key] = {running.layout, running.plans};
}

void ReportCache::Forget(const std::set<std::string>& named) {
  reports_.clear();
  std::erase_if(contents_, [&](const auto& entry) { return !named.contains(entry.first); });
  bytes_ = 0;
  for (const auto& [name, content] : contents_) bytes_ += content.zstd().size();
}

}  // namespace copse::planner
