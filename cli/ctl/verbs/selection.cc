// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/selection.h"

#include <pwd.h>

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::ctl {
namespace {

// One user's record, with the longest names that directories have.
constexpr size_t kUserRecordBytesMax = 16384;

// Returns the id of the user that `text` names, by id or name.
absl::StatusOr<uint32_t> UidOf(const std::string& text) {
  uint32_t uid = 0;
  if (absl::SimpleAtoi(text, &uid)) return uid;
  std::array<char, kUserRecordBytesMax> buffer;
  passwd record{};
  passwd* found = nullptr;
  if (getpwnam_r(text.c_str(), &record, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_uid;
  }
  return absl::InvalidArgumentError(absl::StrCat("neither a user that is known here nor an id (user=", text, ")"));
}

}  // namespace

std::vector<cli::Parameter> WithSelection(std::vector<cli::Parameter> options, bool owner, const std::string& states) {
  if (owner) {
    options.push_back(
        {"node", "LIST", "only of teams with a member on one of these nodes, a host list: n[1-64],login"});
    options.push_back({"user", "NAME", "only of this user: a name or an id"});
    options.push_back({"job", "JOB", "only of this job"});
  } else {
    options.push_back({"node", "LIST", "only these nodes, a host list: n[1-64],login"});
  }
  if (!states.empty()) options.push_back({"state", "STATE", absl::StrCat("only in this state: ", states)});
  return options;
}

absl::Status ReadSelector(const cli::Arguments& arguments, v1::RowSelector* selector) {
  selector->set_nodes(arguments.Text("node"));
  selector->set_job(arguments.Text("job"));
  selector->set_state(arguments.Text("state"));
  if (arguments.Has("user")) {
    ASSIGN_OR_RETURN(const uint32_t uid, UidOf(arguments.Text("user")));
    selector->set_uid(uid);
  }
  return absl::OkStatus();
}

}  // namespace copse::ctl
