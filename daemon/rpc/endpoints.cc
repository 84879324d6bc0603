// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/endpoints.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rpc/credentials.h"

namespace copse::daemon {
namespace {

absl::Status Named(const char* key, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(key, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParsePlanners(const std::string& list, bool may_leave) {
  absl::StatusOr<std::vector<std::string>> planners = rpc::ParseAddresses(list);
  if (!planners.ok()) return Named("planner", planners.status());
  for (const std::string& planner : *planners) {
    RETURN_IF_ERROR(Named("planner", rpc::CredentialsFactory({may_leave}).CheckChannel(planner)));
  }
  return planners;
}

absl::Status CheckAdminListen(const std::string& admin_listen, bool may_leave) {
  const rpc::CredentialsFactory credentials({may_leave});
  RETURN_IF_ERROR(Named("admin_listen", rpc::HostOf(admin_listen).status()));
  return Named("admin_listen", credentials.CheckServer(admin_listen));
}

absl::StatusOr<std::string> ReadJoinToken(const std::string& path) {
  const absl::StatusOr<std::vector<std::string>> tokens = rpc::ReadTokenFile(path);
  if (!tokens.ok()) return Named("join_token_file", tokens.status());
  return tokens->empty() ? "" : tokens->front();
}

}  // namespace copse::daemon
