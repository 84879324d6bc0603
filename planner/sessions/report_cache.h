// SPDX-License-Identifier: Apache-2.0
//
// Expands what daemons report of their teams, so that those that report alike share one layout.
#ifndef COPSE_PLANNER_SESSIONS_REPORT_CACHE_H_
#define COPSE_PLANNER_SESSIONS_REPORT_CACHE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/shared.h"
#include "proto/copse/v1/control.pb.h"
#include "protocol/control.h"

namespace copse::planner {

// A ReportCache holds contents of teams (rpc/team_content.h), and reports that were expanded by them.
// Thread-compatible.
class ReportCache {
 public:
  struct Expanded {
    Shared<schedule::TeamLayout> layout;
    Shared<std::vector<std::string>> plans;
  };

  bool Has(const std::string& content) const { return contents_.contains(content); }
  // Adds a content, which is not here and has been checked (rpc::CheckContent).
  void Add(const v1::TeamContent& content);
  // Expands a report without what differs between daemons, whose content, if it names one, is here. Adds to `*bytes`
  // if the report was not known. INVALID_ARGUMENT: it does not fit the content, or is no valid team.
  absl::StatusOr<Expanded> Expand(const v1::RunningTeam& report, uint64_t* bytes);
  // Forgets all reports, and the contents that are not `named`.
  void Forget(const std::set<std::string>& named);
  // Returns the bytes of the contents, as compressed, and of reports with their contents.
  uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, v1::TeamContent> contents_;  // by name
  std::map<std::string, Expanded> reports_;          // by the encoded report
  uint64_t bytes_ = 0;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_REPORT_CACHE_H_
