// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/command_line.h"

#include <unistd.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/command_line/parse.h"
#include "cli/command_line/verb_parser.h"
#include "cli/ctl/contexts.h"

namespace copse::ctl {
namespace {

constexpr char kFooter[] =
    "Options may stand before or after the verb; `copsectl VERB --help` tells a verb's own.\n"
    "Exit codes: 0 done, 1 failed, 2 bad usage, 3 cannot reach the server, 4 timed out.";

// CommonOptions holds options that all verbs have, as CLI11 stores them.
struct CommonOptions {
  std::string format = "table";
  std::string columns;
  bool watch = false;
  double interval_s = 2;
  std::optional<double> timeout_s;
  int width = -1;
  std::string run_dir = kDefaultRunDir;
  std::string context;
};

// Returns the planner's socket on this machine that this user may use, and that gives more rights than others; else the
// planner's usual address. With a certificate, that is what says who the user is.
std::string DefaultEndpoint(const std::string& run_dir, bool has_certificate) {
  for (const char* name : {"admin.sock", "view.sock"}) {
    const std::string path = absl::StrCat(run_dir, "/", name);
    if (!has_certificate && access(path.c_str(), R_OK | W_OK) == 0) return absl::StrCat("unix:", path);
  }
  return kDefaultEndpoint;
}

// Returns the socket of this machine's daemon if this user may use it; else the daemon's usual address.
std::string DefaultDaemonEndpoint(const std::string& run_dir, bool has_certificate) {
  const std::string path = absl::StrCat(run_dir, "/copsed.sock.admin");
  if (!has_certificate && access(path.c_str(), R_OK | W_OK) == 0) return absl::StrCat("unix:", path);
  return kDefaultDaemonEndpoint;
}

Format FormatOf(const std::string& name) {
  if (name == "json") return Format::kJson;
  if (name == "yaml") return Format::kYaml;
  if (name == "wide") return Format::kWide;
  return name == "name" ? Format::kName : Format::kTable;
}

// Verbs with these names read, and end at once.
bool CanBeWatched(const Verb& verb) {
  static const auto* const names = new std::set<std::string>{"list", "show", "status", "stats", "audit", "ping"};
  return names->count(verb.name) > 0;
}

void AddCommonOptions(CLI::App* app, CommonOptions* common, CommandLine* line) {
  app->add_option("-e,--endpoint", line->endpoint,
                  "the planner's address, or those of several, with commas; default: its socket on this machine, or "
                  "127.0.0.1:7470; of `daemon` the daemon's own, its socket or 127.0.0.1:7471 (COPSECTL_ENDPOINT)")
      ->option_text("HOST:PORT")
      ->envname("COPSECTL_ENDPOINT");
  app->add_option("--context", common->context,
                  "the cluster of this name, of `copsectl context list`; default: the one in use, unless there is an "
                  "endpoint (COPSECTL_CONTEXT)")
      ->option_text("NAME")
      ->envname("COPSECTL_CONTEXT");
  app->add_option("-w,--write-out", common->format,
                  "how to write: wide has all columns, name the rows' names alone (COPSECTL_WRITE_OUT)")
      ->option_text("table|json|yaml|wide|name")
      ->check(CLI::IsMember({"table", "json", "yaml", "wide", "name"}))
      ->envname("COPSECTL_WRITE_OUT");
  app->add_option("--columns", common->columns, "these columns, by the keys that -w json shows")
      ->option_text("KEY[,KEY]...");
  app->add_option("--sort", line->rows.sort, "rows in the order of this key; -KEY: backwards")->option_text("[-]KEY");
  app->add_flag("--watch", common->watch, "show it again and again, until interrupted (verbs that change nothing)")
      ->option_text(" ");
  app->add_option("--interval", common->interval_s, "seconds from one showing to the next; default 2")
      ->option_text("S")
      ->check(CLI::Range(0.1, 3600.0));
  app->add_option("--timeout", common->timeout_s,
                  "seconds for the whole verb; default 5, support 10, team replan, topo import and trace 30, state "
                  "save 60, if it "
                  "waits a day (COPSECTL_TIMEOUT)")
      ->option_text("S")
      ->envname("COPSECTL_TIMEOUT");
  app->add_option("--width", common->width, "of lines; 0: any; default: the terminal's (COPSECTL_WIDTH)")
      ->option_text("N")
      ->check(CLI::Range(0, 1 << 20))
      ->envname("COPSECTL_WIDTH");
  app->add_option("--token-file", line->token_file,
                  "holds the token that the server asks for, if it does (COPSECTL_TOKEN_FILE)")
      ->option_text("FILE")
      ->envname("COPSECTL_TOKEN_FILE");
  const auto add_file = [&](const char* name, std::string* value, const char* help, const char* variable) {
    app->add_option(name, *value, absl::StrCat(help, " (", variable, ")"))->option_text("FILE")->envname(variable);
  };
  add_file("--cert", &line->tls.certificate, "this user's certificate, PEM, for TLS", "COPSECTL_CERT");
  add_file("--key", &line->tls.key, "its private key", "COPSECTL_KEY");
  add_file("--cacert", &line->tls.authorities, "certificates of the authorities that are believed", "COPSECTL_CACERT");
  add_file("--crl-dir", &line->tls.revoked, "folder with their revocation lists", "COPSECTL_CRL_DIR");
  add_file("--run-dir", &common->run_dir,
           "folder of the planner's sockets, admin.sock and view.sock; default /run/copse", "COPSECTL_RUN_DIR");
  app->add_flag("--insecure", line->insecure, "allow plain text beyond this host (COPSECTL_INSECURE)")
      ->option_text(" ")
      ->envname("COPSECTL_INSECURE");
  // An alias may have one already.
  for (CLI::Option* const option : app->get_options()) option->take_last();
}

// Sets what was not given to what the context says: the named one, or, without an endpoint, the one in use.
absl::Status ApplyContext(const std::string& named, CommandLine* line) {
  if (line->verb->family == kContextFamily) return absl::OkStatus();
  const ContextFolders folders = ContextFolders::OfThisUser();
  const std::string name = named.empty() && line->endpoint.empty() ? folders.Current() : named;
  if (name.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Context context, folders.Read(name));
  // A daemon's own address is not the planner's.
  if (line->endpoint.empty() && line->verb->family != "daemon") line->endpoint = context.endpoint;
  if (line->token_file.empty()) line->token_file = context.token_file;
  if (!line->tls.given()) line->tls = context.tls;
  line->insecure = line->insecure || context.insecure;
  return absl::OkStatus();
}

// Removes parameters with empty values, which count as not given. Errors: INVALID_ARGUMENT if a required argument is
// empty.
absl::StatusOr<Arguments> GivenArguments(Arguments arguments, const Verb& verb) {
  // Not as if it were not given: a script with an unset variable would ask for everything, or change it.
  for (const cli::Parameter& option : verb.options) {
    if (option.value_name.empty() || !arguments.Has(option.name) || !arguments.Text(option.name).empty()) continue;
    return cli::UsageError(absl::StrCat("--", option.name, ": an empty value (", option.name, "=)"));
  }
  std::erase_if(arguments.values, [&](const auto& item) { return arguments.Text(item.first).empty(); });
  for (const cli::Parameter& parameter : verb.positionals) {
    if (!arguments.Has(parameter.name) && !parameter.optional) {
      return cli::UsageError(absl::StrCat("empty argument (argument=", parameter.name, ")"));
    }
  }
  return arguments;
}

}  // namespace

OptionWords CommonOptionWords() {
  cli::VerbParser parser({.name = "copsectl", .description = "", .footer = ""});
  CommonOptions common;
  CommandLine line;
  AddCommonOptions(parser.app(), &common, &line);
  OptionWords words;
  for (const CLI::Option* const option : parser.app()->get_options()) {
    std::vector<std::string>& list = option->get_items_expected_max() > 0 ? words.valued : words.switches;
    for (const std::string& name : option->get_lnames()) list.push_back(absl::StrCat("--", name));
    for (const std::string& name : option->get_snames()) list.push_back(absl::StrCat("-", name));
  }
  return words;
}

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const std::vector<Verb>& verbs) {
  cli::VerbParser parser(
      {.name = "copsectl", .description = "Looks at a Copse cluster, and steers it.", .footer = kFooter});
  CommandLine line;
  CommonOptions common;
  AddCommonOptions(parser.app(), &common, &line);
  parser.AddVerbs(verbs);
  ASSIGN_OR_RETURN(const cli::ParsedVerb parsed, parser.Parse(arguments));
  line.answer = parsed.answer;
  if (line.answer.has_value()) return line;
  line.verb = &verbs[parsed.verb];
  ASSIGN_OR_RETURN(line.arguments, GivenArguments(parsed.arguments, *line.verb));
  RETURN_IF_ERROR(ApplyContext(common.context, &line));
  if (line.endpoint.empty()) {
    const auto find = line.verb->family == "daemon" ? DefaultDaemonEndpoint : DefaultEndpoint;
    line.endpoint = find(common.run_dir, line.tls.given());
  }
  line.format = FormatOf(common.format);
  line.rows.columns = absl::StrSplit(common.columns, ',', absl::SkipEmpty());
  if (common.watch) {
    if (!CanBeWatched(*line.verb)) {
      return cli::UsageError(absl::StrCat("--watch: not for this verb (verb=", line.verb->FullName(), ")"));
    }
    line.watch = absl::Seconds(common.interval_s);
  }
  if (common.width >= 0) line.width = static_cast<size_t>(common.width);
  const double default_s = line.arguments.Has("wait") ? kTimeoutMaxSeconds : line.verb->timeout_s;
  const double timeout_s = common.timeout_s.value_or(default_s);
  if (!(timeout_s > 0 && timeout_s <= kTimeoutMaxSeconds)) {
    return absl::InvalidArgumentError(absl::StrFormat("usage: not a number of seconds above 0 (timeout=%g, limit=%g)",
                                                      timeout_s, kTimeoutMaxSeconds));
  }
  line.timeout = absl::Seconds(timeout_s);
  return line;
}

}  // namespace copse::ctl
