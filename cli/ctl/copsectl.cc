// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/copsectl.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"
#include "cli/command_line/table.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/command_line.h"
#include "cli/ctl/verbs.h"
#include "rpc/status.h"

namespace copse::ctl {
namespace {

constexpr int kExitUsage = 2;

std::string ErrorLine(const std::string& what, std::string_view why) {
  return absl::StrCat("copsectl: ", what, what.empty() ? "" : ": ", cli::Printable(why), "\n");
}

}  // namespace

const std::vector<Verb>& AllVerbs() {
  static const auto* const verbs = [] {
    auto* all = new std::vector<Verb>;
    for (auto family : {NodeVerbs(), TeamVerbs(), PlanVerbs(), TopoVerbs(), ProbeVerbs(), CollVerbs(), PlannerVerbs(),
                        StateVerbs(), StatsVerbs(), TraceVerbs()}) {
      for (Verb& verb : family) all->push_back(std::move(verb));
    }
    return all;
  }();
  return *verbs;
}

Outcome RunCopsectl(const std::vector<std::string>& arguments, size_t width,
                    std::function<bool(const std::string&)> print) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments, AllVerbs());
  if (!line.ok()) return {kExitUsage, "", ErrorLine("", StdView(line.status().message()))};
  if (line->answer.has_value()) return {0, *line->answer, ""};

  const std::string what = line->verb->FullName();
  const auto client = AdminClient::Create({.endpoint = line->endpoint,
                                           .insecure = line->insecure,
                                           .token_file = line->token_file,
                                           .tls = line->tls,
                                           .server = line->verb->family == "daemon" ? "node" : "planner",
                                           .timeout = line->timeout});
  if (!client.ok()) return {kExitUsage, "", ErrorLine(what, StdView(client.status().message()))};

  VerbContext context{.client = client->get(),
                      .style = {.format = line->format, .width = line->width.value_or(width)},
                      .terminal = width > 0,
                      .out = {},
                      .notes = {},
                      .print = std::move(print)};
  const absl::Status status = line->verb->run(line->arguments, context);
  Outcome outcome{rpc::ExitCode(status), std::move(context.out), ""};
  for (const std::string& note : context.notes) outcome.err += ErrorLine(what, note);
  if (!status.ok()) outcome.err += ErrorLine(what, StdView(status.message()));
  return outcome;
}

}  // namespace copse::ctl
