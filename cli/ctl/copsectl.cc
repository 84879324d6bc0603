// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/copsectl.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "cli/client/admin_client.h"
#include "cli/client/style.h"
#include "cli/command_line/parse.h"
#include "cli/command_line/table.h"
#include "cli/ctl/command_line.h"
#include "cli/ctl/completion.h"
#include "cli/ctl/progress.h"
#include "cli/ctl/rows.h"
#include "cli/ctl/support.h"
#include "cli/ctl/verbs/verbs.h"
#include "rpc/status.h"

namespace copse::ctl {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitUnreachable = 3;
constexpr int kExitTimedOut = 4;

std::string ErrorLine(const std::string& what, std::string_view why) {
  return absl::StrCat("copsectl: ", what, what.empty() ? "" : ": ", cli::Printable(why), "\n");
}

// Returns whether the verb's own form of the format is not what was asked for.
bool NeedsRows(const CommandLine& line) {
  return (line.format != Format::kTable && line.format != Format::kJson) || !line.rows.columns.empty() ||
         !line.rows.sort.empty();
}

absl::StatusOr<std::string> AsRows(const CommandLine& line, const Style& style, const std::string& out) {
  Json answer = Json::parse(out, nullptr, /*allow_exceptions=*/false);
  if (answer.is_discarded()) return absl::InvalidArgumentError("usage: it writes no rows: -w table or json alone");
  return FormatAnswer(std::move(answer), line.rows, style);
}

Outcome RunVerb(const CommandLine& line, AdminClient* client, const Style& style, bool terminal,
                const std::function<bool(const std::string&)>& print, const ProgressOutput& output) {
  const bool needs_rows = NeedsRows(line);
  VerbProgress progress(line.verb->FullName(), output);
  VerbContext context{.client = client,
                      .style = style,
                      .terminal = terminal,
                      .out = {},
                      .notes = {},
                      .print = print,
                      .progress = &progress};
  if (needs_rows) context.style = {.format = Format::kJson, .width = 0};
  absl::Status status = line.verb->run(line.arguments, context);
  if (needs_rows && !context.out.empty()) {
    const absl::StatusOr<std::string> rows = AsRows(line, style, context.out);
    context.out = rows.value_or("");
    if (status.ok()) status = rows.status();
  }
  const std::string what = line.verb->FullName();
  Outcome outcome{rpc::ExitCode(status), std::move(context.out), ""};
  for (const std::string& note : context.notes) outcome.err += ErrorLine(what, note);
  if (!status.ok()) outcome.err += ErrorLine(what, StdView(status.message()));
  return outcome;
}

// Shows the verb's answer until the output is closed. A server that cannot be reached for a while, as when another
// planner takes over, does not end it, unless it was never reached.
Outcome Watch(const CommandLine& line, AdminClient* client, const Style& style, bool terminal,
              const std::function<bool(const std::string&)>& print) {
  bool reached = false;
  while (true) {
    const Outcome shown = RunVerb(line, client, style, terminal, print, {});
    const bool may_pass = shown.exit_code == kExitUnreachable || shown.exit_code == kExitTimedOut;
    if (shown.exit_code != 0 && !(reached && may_pass)) return shown;
    reached = true;
    if (!print(absl::StrCat(terminal ? kClearScreen : "", shown.out, shown.err))) return {};
    absl::SleepFor(line.watch);
    client->Renew();
  }
}

// `completion` needs all verbs, also itself.
Verb CompletionVerb() {
  return {.name = "completion",
          .help = "write what makes a shell complete copsectl's command lines",
          .positionals = {{.name = "shell", .help = "bash, zsh or fish"}},
          .run = [](const Arguments& arguments, VerbContext& context) -> absl::Status {
            ASSIGN_OR_RETURN(const std::string script,
                             CompletionScript(arguments.Text("shell"), AllVerbs(), CommonOptionWords()));
            return context.Answer({{"shell", arguments.Text("shell")}, {"script", script}}, script);
          }};
}

std::string HelpOf(std::vector<std::string> words) {
  words.push_back("--help");
  return RunCopsectl(words, 0, nullptr).out;
}

// Returns a section of what the verb takes, from its help: a title such as "copsectl node drain NODE:", and indented
// lines.
std::string HelpSection(const Verb& verb) {
  const std::vector<std::string> lines = absl::StrSplit(HelpOf(absl::StrSplit(verb.FullName(), ' ')), '\n');
  constexpr absl::string_view kUsage = "Usage: ";
  std::string title, rows;
  for (const std::string& line : lines) {
    if (absl::StartsWith(line, kUsage)) {
      title = absl::StrReplaceAll(line.substr(kUsage.size()), {{" [OPTIONS]", ""}});
    } else if (absl::StartsWith(line, " ") && !absl::StartsWith(line, "  -h,--help")) {
      absl::StrAppend(&rows, line, "\n");
    }
  }
  return absl::StrCat(title, ":\n  ", verb.help, "\n", rows.empty() ? "" : "\n", rows, "\n");
}

// Returns the program's help with a section for each verb in the place of their list.
std::string HelpOfAll() {
  const std::string help = HelpOf({});
  const size_t verbs = help.find("Verbs:\n"), footer = help.find("\n\n", verbs) + 2;
  std::string text = help.substr(0, verbs);
  for (const Verb& verb : AllVerbs()) text += HelpSection(verb);
  return text + help.substr(footer);
}

// `help VERB` says what `VERB --help` does.
absl::Status Help(const Arguments& arguments, VerbContext& context) {
  const auto given = arguments.values.find("verb");
  std::vector<std::string> words = given == arguments.values.end() ? std::vector<std::string>() : given->second;
  const std::string verb = absl::StrJoin(words, " ");
  const std::vector<Verb>& verbs = AllVerbs();
  if (!verb.empty() && std::none_of(verbs.begin(), verbs.end(), [&](const Verb& known) {
        return known.family == verb || known.FullName() == verb;
      })) {
    return cli::UsageError(absl::StrCat("no such verb (verb=", verb, ")"));
  }
  const bool all = arguments.Has("all");
  if (all && !verb.empty()) return cli::UsageError(absl::StrCat("help: --all is for no verb (verb=", verb, ")"));
  const std::string help = all ? HelpOfAll() : HelpOf(words);
  return context.Answer({{"verb", verb}, {"help", help}}, help);
}

Verb HelpVerb() {
  return {.name = "help",
          .help = "print what a verb, or a family of verbs, takes; without one, all verbs",
          .positionals = {{.name = "verb", .help = "as node drain", .repeated = true, .optional = true}},
          .options = {{"all", "", "what each verb takes; the man page is made from this"}},
          .run = Help};
}

}  // namespace

const std::vector<Verb>& AllVerbs() {
  static const auto* const verbs = [] {
    auto* all = new std::vector<Verb>;
    for (auto family :
         {NodeVerbs(), TeamVerbs(), JobVerbs(), PlanVerbs(), TopoVerbs(), ProbeVerbs(), CollVerbs(), PlannerVerbs(),
          StateVerbs(), StatsVerbs(), TopVerbs(), TraceVerbs(), DoctorVerbs(), ContextVerbs()}) {
      for (Verb& verb : family) all->push_back(std::move(verb));
    }
    all->push_back(CompletionVerb());
    all->push_back(HelpVerb());
    all->push_back(SupportVerb(AllVerbs));
    return all;
  }();
  return *verbs;
}

Outcome RunCopsectl(const std::vector<std::string>& arguments, size_t width,
                    std::function<bool(const std::string&)> print, const ProgressOutput& progress) {
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

  const Style style{.format = line->format, .width = line->width.value_or(width)};
  if (line->watch == absl::ZeroDuration()) {
    return RunVerb(*line, client->get(), style, width > 0, print, progress);
  }
  return Watch(*line, client->get(), style, width > 0, print);
}

}  // namespace copse::ctl
