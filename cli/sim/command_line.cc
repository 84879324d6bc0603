// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/command_line.h"

#include <map>
#include <utility>

#include "cli/command_line/verb_parser.h"

namespace copse::simcli {
namespace {

constexpr char kFooter[] =
    "`copse-sim VERB --help` tells a verb's options.\n"
    "Exit codes: 0 done, 1 failed, 2 bad usage.";

std::vector<cli::ParameterSyntax> SyntaxOf(const std::vector<Parameter>& parameters) {
  std::vector<cli::ParameterSyntax> syntax;
  for (const Parameter& p : parameters) {
    syntax.push_back({.name = p.name, .value_name = p.value_name, .help = p.help, .repeated = p.repeated});
  }
  return syntax;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const std::vector<Verb>& verbs) {
  cli::VerbParser parser(
      {.name = "copse-sim", .description = "Copse's pure parts without a cluster.", .footer = kFooter});
  std::string write_out;
  parser.app()
      ->add_option("-w,--write-out", write_out, "how to write what a verb finds; default table")
      ->option_text("table|json")
      ->check(CLI::IsMember({"table", "json"}));
  for (const Verb& verb : verbs) {
    parser.AddVerb({.family = "",
                    .name = verb.name,
                    .help = verb.help,
                    .positionals = SyntaxOf(verb.positionals),
                    .options = SyntaxOf(verb.options)});
  }
  absl::StatusOr<cli::ParsedVerb> parsed = parser.Parse(arguments);
  if (!parsed.ok()) return parsed.status();
  CommandLine line;
  line.answer = std::move(parsed->answer);
  if (line.answer.has_value()) return line;
  line.verb = &verbs[parsed->verb];
  if (!write_out.empty()) parsed->values["write-out"] = {write_out};
  line.arguments = Arguments(std::move(parsed->values));
  return line;
}

}  // namespace copse::simcli
