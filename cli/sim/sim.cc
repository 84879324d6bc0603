// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/sim.h"

#include "cli/sim/barrier_verb.h"
#include "cli/sim/command_line.h"
#include "cli/sim/golden_verb.h"
#include "cli/sim/run_verb.h"
#include "cli/sim/sweep_verbs.h"

namespace copse::simcli {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

}  // namespace

const std::vector<Verb>& AllVerbs() {
  static const auto* const verbs = [] {
    auto* const all = new std::vector<Verb>{GoldenVerb(), RunVerb(), BarrierVerb()};
    for (Verb& verb : SweepVerbs()) all->push_back(std::move(verb));
    return all;
  }();
  return *verbs;
}

int RunSim(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments, AllVerbs());
  if (!line.ok()) {
    err << "copse-sim: " << line.status().message() << "\n";
    return kExitUsage;
  }
  if (line->answer.has_value()) {
    out << *line->answer;
    return 0;
  }
  const absl::Status status = line->verb->run(line->arguments, out, err);
  if (status.ok()) return 0;
  if (!status.message().empty()) err << "copse-sim: " << line->verb->name << ": " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed;
}

}  // namespace copse::simcli
