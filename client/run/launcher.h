// SPDX-License-Identifier: Apache-2.0
//
// Which programs launch MPI programs, and whether this process was launched by one.
#ifndef COPSE_CLIENT_RUN_LAUNCHER_H_
#define COPSE_CLIENT_RUN_LAUNCHER_H_

#include <optional>
#include <string>
#include <string_view>

namespace copse::run {

enum class Launcher { kHydra, kOpenMpi, kSrun };

// Returns the launcher of the name "hydra", "openmpi" or "srun"; nullopt for other names.
std::optional<Launcher> LauncherNamed(std::string_view name);
// Returns whether a program file may be a launcher, such as "mpiexec", "mpirun_rsh", "orterun" or "srun". Others are
// not asked what they are.
bool IsNamedAsLauncher(std::string_view file_name);
// Returns the launcher of a program file, such as "mpiexec.hydra" or "orterun"; nullopt if several MPIs use the name,
// or it is no launcher's.
std::optional<Launcher> LauncherOfFile(std::string_view file_name);
// Returns the launcher that prints `output` if it is called with --version; nullopt if it is not known.
std::optional<Launcher> LauncherOfVersion(std::string_view output);

// A process that is one of several ranks.
struct LaunchedRank {
  std::string command;  // as it may have been launched: "mpiexec -n 4"
  bool first = true;    // it is rank 0, or its number is not known
};
// Returns what the environment says of this process; nullopt if it is no rank, or the only one of its launcher.
std::optional<LaunchedRank> LaunchedAs();

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_LAUNCHER_H_
