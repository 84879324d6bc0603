// SPDX-License-Identifier: Apache-2.0
#include "bench/pair_start.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {

RankContender::Start PairStart(std::string program, std::string system) {
  return [program = std::move(program),
          system = std::move(system)](const std::vector<std::string>& arguments) -> absl::StatusOr<RankProcesses> {
    ASSIGN_OR_RETURN(const std::string path, procs::FindProgram(program));
    std::vector<std::string> all = {path, system};
    all.insert(all.end(), arguments.begin(), arguments.end());
    RankProcesses pair;
    ASSIGN_OR_RETURN(
        pair.processes.emplace_back(),
        procs::ChildProcess::Start({.arguments = std::move(all), .stdin_pipe = true, .stdout_pipe = true}));
    return pair;
  };
}

}  // namespace copse::bench
