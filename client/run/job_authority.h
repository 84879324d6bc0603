// SPDX-License-Identifier: Apache-2.0
//
// The certificates of one job's planner and daemons, all from one secret.
#ifndef COPSE_CLIENT_RUN_JOB_AUTHORITY_H_
#define COPSE_CLIENT_RUN_JOB_AUTHORITY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace copse::run {

// Returns 32 random bytes as 64 hexadecimal digits. UNAVAILABLE if the kernel gives none.
absl::StatusOr<std::string> NewJobSecret();

// A JobIdentity is in files in memory, which programs that are started while it exists inherit: no disk has the key,
// also when all of the job's processes are killed at once.
struct JobIdentity {
  UniqueFd certificate, key, authority;

  // The programs' settings that name the files.
  std::vector<std::string> settings() const;
};

// Makes a certificate for spiffe://copse-run/ROLE/NAME. The secret is the seed of the authority's key: all who have the
// same secret believe each other, and nothing but the secret has to reach a node. Errors: INVALID_ARGUMENT for the
// secret or the name; UNAVAILABLE if the kernel has no memory.
absl::StatusOr<JobIdentity> MakeJobIdentity(const std::string& secret, const std::string& role,
                                            const std::string& name);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_JOB_AUTHORITY_H_
