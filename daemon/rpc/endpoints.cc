// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/endpoints.h"

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

absl::Status CheckEndpoints(const std::string& planner, const std::string& admin_listen, bool insecure) {
  const rpc::CredentialsFactory credentials({insecure});
  RETURN_IF_ERROR(Named("planner", rpc::CheckAddress(planner)));
  RETURN_IF_ERROR(Named("planner", credentials.Channel(planner).status()));
  RETURN_IF_ERROR(Named("admin_listen", rpc::CheckAddress(admin_listen)));
  return Named("admin_listen", credentials.Server(admin_listen).status());
}

absl::StatusOr<std::string> ReadJoinToken(const std::string& path) {
  absl::StatusOr<std::string> token = rpc::ReadTokenFile(path);
  if (!token.ok()) return Named("join_token_file", token.status());
  return token;
}

}  // namespace copse::daemon
