// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration key `quotas`.
#ifndef COPSE_DAEMON_QUOTA_SETTINGS_H_
#define COPSE_DAEMON_QUOTA_SETTINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "daemon/accounts/quota_rules.h"

namespace copse::daemon {

// Reads a mapping such as
//   {exclusive: false, default: {teams: 64, memory: 25%}, groups: {hpc: {teams: 256}}, users: {alice: {teams:
//   unlimited}, "1001": {...}}}
// The amounts are those of Resource: a number, of bytes with a unit; a percentage of what all users share; unlimited.
// Users and groups are names or ids of this machine. INVALID_ARGUMENT: it makes no sense; NOT_FOUND: a user or group is
// not known here. The text names the key, down to its last part, the value and the limit.
absl::StatusOr<QuotaRules> ReadQuotas(const std::string& text);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_QUOTA_SETTINGS_H_
