// SPDX-License-Identifier: Apache-2.0
//
// What lines of the log concern, in the planner and in daemons alike.
#ifndef COPSE_PROTOCOL_LOG_SUBJECT_H_
#define COPSE_PROTOCOL_LOG_SUBJECT_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/log.h"
#include "protocol/control.h"

namespace copse::schedule {

// `node` is named by lines of the planner; a daemon's concern its own anyway.
inline LogSubject AboutTeam(TeamId id, const TeamIdentity& identity, const std::string& node = "") {
  return {.team = absl::StrCat(id.value()), .node = node, .job = identity.job};
}
inline LogSubject AboutTeam(const TeamLayout& layout, const std::string& node = "") {
  return AboutTeam(layout.id, layout.identity, node);
}
inline LogSubject AboutNode(const std::string& node) { return {.team = "", .node = node, .job = ""}; }

}  // namespace copse::schedule

#endif  // COPSE_PROTOCOL_LOG_SUBJECT_H_
