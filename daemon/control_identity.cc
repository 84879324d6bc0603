// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_identity.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/certificates/spiffe_id.h"
#include "base/status_macros.h"

namespace copse::daemon {
namespace {

absl::Status CheckName(const SpiffeId& id, const Settings& settings) {
  if (id.name == settings.node) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tls_cert: is another node's (tls_cert=", settings.tls.certificate,
                                                 ", its node=", id.name, ", node=", settings.node, ")"));
}

}  // namespace

absl::Status ControlIdentity::Check(const Settings& settings) {
  if (!settings.tls.given()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SpiffeId id, rpc::Identity::CheckFiles(settings.tls, {"node"}));
  return CheckName(id, settings);
}

absl::Status ControlIdentity::Open(const Settings& settings, absl::Time now) {
  if (!settings.tls.given()) {
    if (settings.insecure) {
      insecure_warning_.Begin(now,
                              absl::StrCat("connections to the planner are not encrypted, and prove nothing (planner=",
                                           absl::StrJoin(settings.planners, ","), ")"));
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(identity_, rpc::Identity::Open(settings.tls, {"node"}));
  next_look_ = now + rpc::Identity::kRefresh;
  return CheckName(identity_->self(), settings);
}

bool ControlIdentity::Tick(absl::Time now) {
  insecure_warning_.Tick(now);
  if (now < next_look_) return false;
  next_look_ = now + rpc::Identity::kRefresh;
  return true;
}

absl::Time ControlIdentity::NextDeadline() const { return std::min(insecure_warning_.NextDeadline(), next_look_); }

}  // namespace copse::daemon
