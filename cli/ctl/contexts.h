// SPDX-License-Identifier: Apache-2.0
//
// Reads contexts: files that name clusters, and say how copsectl reaches each.
#ifndef COPSE_CLI_CTL_CONTEXTS_H_
#define COPSE_CLI_CTL_CONTEXTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/config/tls_files.h"

namespace copse::ctl {

// The family of verbs that look at contexts, and use none.
inline constexpr char kContextFamily[] = "context";

// Context is what FOLDER/contexts/NAME.yaml says. Keys that it lacks are empty.
struct Context {
  std::string endpoint;
  std::string token_file;
  config::TlsFiles tls;
  bool insecure = false;
};

// A ContextFolders finds contexts in several folders, of which earlier ones come first: the user's, then the machine's.
// The file `context` of a folder names the one in use. Thread-compatible.
class ContextFolders {
 public:
  explicit ContextFolders(std::vector<std::string> folders) : folders_(std::move(folders)) {}
  // $XDG_CONFIG_HOME/copse or ~/.config/copse, and /etc/copse.
  static ContextFolders OfThisUser();

  // Returns the files by the contexts' names.
  std::map<std::string, std::string> Files() const;
  // Returns the name of the context in use; empty: none.
  std::string Current() const;
  // Reads a context; relative paths of files are relative to its folder. Errors: NOT_FOUND names those that there are;
  // INVALID_ARGUMENT with file and line.
  absl::StatusOr<Context> Read(const std::string& name) const;
  // Makes it the one in use, by the first folder's file. Errors: NOT_FOUND; FAILED_PRECONDITION if that cannot be
  // written.
  absl::Status Use(const std::string& name) const;

 private:
  absl::StatusOr<std::string> FileOf(const std::string& name) const;

  const std::vector<std::string> folders_;
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_CONTEXTS_H_
