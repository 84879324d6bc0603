// SPDX-License-Identifier: Apache-2.0
#include "client/run/launcher.h"

#include <stdlib.h>

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::run {
namespace {

bool Contains(std::string_view text, const char* part) { return absl::StrContains(AbslView(text), part); }

// What launchers tell each of their ranks.
struct RankVariables {
  const char *rank, *ranks, *command;
  const char* beside;  // others than this launcher do not set it
};
// Launchers start each other's ranks: the first that fits is the one that the user called.
constexpr RankVariables kRankVariables[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "mpiexec", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun", "SLURM_STEP_NUM_TASKS"},
    {"PMI_RANK", "PMI_SIZE", "mpiexec", "PMI_SIZE"}};
// A step whose first task is a shell for its user.
constexpr char kTerminalOfStep[] = "SLURM_PTY_PORT";

std::optional<uint64_t> NumberIn(const char* variable) {
  const char* value = getenv(variable);
  uint64_t number = 0;
  return value != nullptr && absl::SimpleAtoi(value, &number) ? std::optional<uint64_t>(number) : std::nullopt;
}

}  // namespace

std::optional<Launcher> LauncherNamed(std::string_view name) {
  if (name == "hydra") return Launcher::kHydra;
  if (name == "openmpi") return Launcher::kOpenMpi;
  if (name == "srun") return Launcher::kSrun;
  return std::nullopt;
}

bool IsNamedAsLauncher(std::string_view file_name) {
  if (file_name == "srun") return true;
  for (const char* name : {"mpiexec", "mpirun", "orterun", "prterun"}) {
    if (absl::StartsWith(AbslView(file_name), name)) return true;
  }
  return false;
}

std::optional<Launcher> LauncherOfFile(std::string_view file_name) {
  if (!IsNamedAsLauncher(file_name)) return std::nullopt;
  if (file_name == "srun") return Launcher::kSrun;
  if (Contains(file_name, "hydra") || Contains(file_name, "mpich")) return Launcher::kHydra;
  for (const char* part : {"openmpi", "orterun", "prterun"}) {
    if (Contains(file_name, part)) return Launcher::kOpenMpi;
  }
  return std::nullopt;
}

std::optional<Launcher> LauncherOfVersion(std::string_view output) {
  if (Contains(output, "HYDRA")) return Launcher::kHydra;
  if (Contains(output, "Open MPI") || Contains(output, "OpenRTE")) return Launcher::kOpenMpi;
  return std::nullopt;
}

std::optional<LaunchedRank> LaunchedAs() {
  if (getenv(kTerminalOfStep) != nullptr) return std::nullopt;
  for (const RankVariables& variables : kRankVariables) {
    const std::optional<uint64_t> ranks = NumberIn(variables.ranks);
    if (ranks.value_or(1) < 2 || getenv(variables.beside) == nullptr) continue;
    return LaunchedRank{.command = absl::StrCat(variables.command, " -n ", *ranks),
                        .first = NumberIn(variables.rank).value_or(0) == 0};
  }
  return std::nullopt;
}

}  // namespace copse::run
