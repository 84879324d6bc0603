// SPDX-License-Identifier: Apache-2.0
//
// The certificates of one job's planner and daemons, all from one secret.
#ifndef COPSE_CLIENT_RUN_JOB_AUTHORITY_H_
#define COPSE_CLIENT_RUN_JOB_AUTHORITY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::run {

// Returns 32 random bytes as 64 hexadecimal digits. UNAVAILABLE if the kernel gives none.
absl::StatusOr<std::string> NewJobSecret();

// Writes cert.pem, key.pem and ca.pem into the folder, for spiffe://copse-run/ROLE/NAME, and returns the settings that
// name them. The secret is the seed of the authority's key: all who have the same secret believe each other, and
// nothing but the secret has to reach a node. Errors: INVALID_ARGUMENT for the secret or the name; UNAVAILABLE if a
// file cannot be written.
absl::StatusOr<std::vector<std::string>> WriteJobIdentity(const std::string& secret, const std::string& role,
                                                          const std::string& name, const std::string& folder);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_JOB_AUTHORITY_H_
