// SPDX-License-Identifier: Apache-2.0
//
// Launchers of MPI programs, and how each takes the environment of its ranks.
#ifndef COPSE_CLIENT_RUN_LAUNCH_H_
#define COPSE_CLIENT_RUN_LAUNCH_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace copse::run {

enum class Launcher { kHydra, kOpenMpi, kSrun };

// "hydra", "openmpi", "srun".
std::optional<Launcher> LauncherNamed(std::string_view name);
// By the last part of a program's path: "mpiexec.hydra", "orterun"; none of one that several MPIs have.
std::optional<Launcher> LauncherOfFile(std::string_view file_name);
// By what it prints for --version.
std::optional<Launcher> LauncherOfVersion(std::string_view output);

struct Additions {
  std::string library;                           // to preload, behind what is there
  std::string preload;                           // LD_PRELOAD as copse-run has it
  std::string slurm_export;                      // SLURM_EXPORT_ENV as copse-run has it
  std::map<std::string, std::string> variables;  // of the ranks, unless the command sets them
};

// The launcher's command, its path first, with the additions. A command that sets LD_PRELOAD itself keeps that in front
// of the library. Errors: INVALID_ARGUMENT if a value cannot be given to this launcher.
absl::StatusOr<std::vector<std::string>> AddToCommand(Launcher launcher, const std::vector<std::string>& command,
                                                      const Additions& additions);

// Quotes a command so that a shell reads it.
std::string Quoted(const std::vector<std::string>& command);

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_LAUNCH_H_
