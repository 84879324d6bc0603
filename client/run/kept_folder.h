// SPDX-License-Identifier: Apache-2.0
//
// A folder that one process keeps: others find it complete or not at all, and know whether that process has ended.
#ifndef COPSE_CLIENT_RUN_KEPT_FOLDER_H_
#define COPSE_CLIENT_RUN_KEPT_FOLDER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace copse::run {

// The names of jobs' folders begin with it.
inline constexpr char kFolderPrefix[] = "copse-run-";

// A KeptFolder is this user's alone. It is kept while this exists in the process that made it or in one forked from it,
// and it is removed by RemoveFolder only.
class KeptFolder {
 public:
  // Makes the folder under the name `draft` in the same parent and then renames it, so that a kill leaves a draft or a
  // kept folder. ALREADY_EXISTS if there is a folder with anything in it; UNAVAILABLE. Then there is no draft.
  static absl::StatusOr<KeptFolder> Make(const std::string& folder, const std::string& draft);

  // Ends AwaitTold of all that wait, and of those to come.
  void Tell(std::string_view said);

 private:
  KeptFolder(UniqueFd mark, UniqueFd told) : mark_(std::move(mark)), told_(std::move(told)) {}

  UniqueFd mark_;  // locked while the folder is kept
  UniqueFd told_;  // locked until Tell
};

// Returns what Tell has said in the folder's keeper, or "" if that has ended without. Errors: NOT_FOUND if there is no
// such folder; PERMISSION_DENIED if it is not this user's alone; UNAVAILABLE.
absl::StatusOr<std::string> AwaitTold(const std::string& folder);

// Removes the folder with all that is in it. After a kill in the midst of this, RemoveAbandoned finds what is left.
void RemoveFolder(const std::string& folder);

// Removes the folder if its keeper was a process of this machine that has ended.
void RemoveAbandoned(const std::string& folder);

// Does so with each of this user's folders of jobs in `parent`.
void RemoveAllAbandoned(const std::string& parent);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_KEPT_FOLDER_H_
