// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/sim.h"

#include <utility>

#include "cli/command_line/parse.h"
#include "cli/command_line/verb_parser.h"
#include "cli/sim/options.h"
#include "cli/sim/verbs.h"

namespace copse::simcli {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr char kFooter[] =
    "`copse-sim VERB --help` tells a verb's options.\n"
    "Exit codes: 0 done, 1 failed, 2 bad usage.";

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
  cli::VerbParser parser(
      {.name = "copse-sim", .description = "Copse's pure parts without a cluster.", .footer = kFooter});
  std::string format;
  cli::AddFormatOption(parser.app(), &format, "how to write what a verb finds; default table");
  parser.AddVerbs(AllVerbs());
  absl::StatusOr<cli::ParsedVerb> line = parser.Parse(arguments);
  if (!line.ok()) {
    err << "copse-sim: " << line.status().message() << "\n";
    return kExitUsage;
  }
  if (line->answer.has_value()) {
    out << *line->answer;
    return 0;
  }
  const Verb& verb = AllVerbs()[line->verb];
  line->arguments.values[kFormat] = {format};
  const absl::Status status = verb.run(line->arguments, out, err);
  if (status.ok()) return 0;
  if (!status.message().empty()) err << "copse-sim: " << verb.name << ": " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed;
}

}  // namespace copse::simcli
