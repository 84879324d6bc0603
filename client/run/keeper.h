// SPDX-License-Identifier: Apache-2.0
//
// Processes beside a job that keep programs and a folder for it, and leave nothing.
#ifndef COPSE_CLIENT_RUN_KEEPER_H_
#define COPSE_CLIENT_RUN_KEEPER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace copse::run {

// A Kept starts what a keeper keeps, in the keeper's process.
class Kept {
 public:
  virtual ~Kept() = default;
  // Returns what StartKeeper returns.
  virtual absl::StatusOr<std::string> Start() = 0;
  // Called after a start that succeeded: returns when all is to end.
  virtual void AwaitEnd() = 0;
};

// Returns what Start has returned in the keeper of `folder`: a process of its own session that this starts unless there
// is one. It makes the folder, for this user alone. It ends after AwaitEnd, or if Start fails; first it destroys the
// Kept, then it removes the folder with all that is in it. Another process, which is there before, removes the folder
// if the keeper is killed; if that is, too, the next keeper in the folder's parent does. Both let go of all descriptors
// but `keep_fd` (-1: none). `make` runs in the keeper. Errors: those of Start as UNAVAILABLE; UNAVAILABLE;
// PERMISSION_DENIED if others have a hand in the folder.
absl::StatusOr<std::string> StartKeeper(const std::string& folder, int keep_fd,
                                        const std::function<std::unique_ptr<Kept>()>& make);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_KEEPER_H_
