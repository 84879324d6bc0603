// SPDX-License-Identifier: Apache-2.0
//
// Adds variables for the ranks to launchers' commands.
#ifndef COPSE_CLIENT_RUN_LAUNCH_H_
#define COPSE_CLIENT_RUN_LAUNCH_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/run/launcher.h"

namespace copse::run {

// Additions are what AddToCommand adds to the environment of the ranks.
struct Additions {
  std::string library;                           // to be preloaded, after the libraries in LD_PRELOAD
  std::string preload;                           // LD_PRELOAD of copse-run's own environment
  std::string slurm_export;                      // SLURM_EXPORT_ENV of copse-run's own environment
  std::map<std::string, std::string> variables;  // the command's own settings take precedence
  // Names of variables of the launcher's environment whose values must not stand in its arguments.
  std::vector<std::string> inherited;
};

// Returns the launcher's command, whose first word is the launcher, with the additions. A command that
// sets LD_PRELOAD keeps its value before the library. Errors: INVALID_ARGUMENT if the library's path has a
// colon or a space, or, with srun, if a value has a comma.
absl::StatusOr<std::vector<std::string>> AddToCommand(Launcher launcher, const std::vector<std::string>& command,
                                                      const Additions& additions);

// Returns the command as a line that a shell splits into the same words.
std::string Quoted(const std::vector<std::string>& command);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_LAUNCH_H_
