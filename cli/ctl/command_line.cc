// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/command_line.h"

#include <algorithm>
#include <map>
#include <optional>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/version.h"

namespace copse::ctl {
namespace {

constexpr char kFooter[] =
    "Options may stand before or after the verb; `copsectl VERB --help` tells a verb's own.\n"
    "Exit codes: 0 done, 1 failed, 2 bad usage, 3 cannot reach the server, 4 timed out.";

// One parse's CLI11 objects and what they write to.
class Parser {
 public:
  explicit Parser(const std::vector<Verb>& verbs) : app_("Looks at a Copse cluster, and steers it.") {
    app_.name("copsectl");
    app_.footer(kFooter);
    app_.set_help_flag("-h,--help", "print this");
    app_.set_version_flag("--version", kVersion, "print the version");
    app_.require_subcommand(1);
    app_.get_formatter()->label("SUBCOMMAND", "VERB");
    app_.get_formatter()->label("Positionals", "Arguments");
    app_.get_formatter()->label("REQUIRED", "");
    app_.get_formatter()->label("TEXT", "");
    app_.get_formatter()->column_width(32);
    AddCommonOptions();
    for (const Verb& verb : verbs) AddVerb(verb);
  }

  absl::StatusOr<CommandLine> Parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back.
    try {
      app_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      line_.answer = app_.help();
      absl::StripTrailingAsciiWhitespace(&*line_.answer);
      *line_.answer += '\n';
      return line_;
    } catch (const CLI::CallForVersion&) {
      line_.answer = absl::StrCat("copsectl ", kVersion, "\n");
      return line_;
    } catch (const CLI::RequiredError& error) {
      // CLI11 would only say that a verb is missing.
      const std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
      return absl::InvalidArgumentError(absl::StrCat(
          "usage: ",
          unknown.empty() ? OneLine(error.what()) : absl::StrCat("no such verb (argument=", unknown.front(), ")"),
          "; try --help"));
    } catch (const CLI::Error& error) {
      return absl::InvalidArgumentError(absl::StrCat("usage: ", OneLine(error.what()), "; try --help"));
    }
    return Finish();
  }

 private:
  static std::string OneLine(const std::string& text) {
    return absl::StrReplaceAll(std::string(absl::StripAsciiWhitespace(text)),
                               {{"\n", "; "}, {"A subcommand", "a VERB"}});
  }

  void AddCommonOptions() {
    app_.add_option(
            "-e,--endpoint", line_.endpoint,
            "the planner's address, default 127.0.0.1:7470; of `daemon status` the daemon's own (COPSECTL_ENDPOINT)")
        ->option_text("HOST:PORT")
        ->envname("COPSECTL_ENDPOINT");
    app_.add_option("-w,--write-out", format_, "how to write (COPSECTL_WRITE_OUT)")
        ->option_text("table|json")
        ->check(CLI::IsMember({"table", "json"}))
        ->envname("COPSECTL_WRITE_OUT");
    app_.add_option("--timeout", timeout_s_,
                    "seconds for the whole verb; default 5, team replan and topo import 30 (COPSECTL_TIMEOUT)")
        ->option_text("S")
        ->envname("COPSECTL_TIMEOUT");
    app_.add_option("--width", width_, "of lines; 0: any; default: the terminal's (COPSECTL_WIDTH)")
        ->option_text("N")
        ->check(CLI::Range(0, 1 << 20))
        ->envname("COPSECTL_WIDTH");
    app_.add_option("--token-file", line_.token_file,
                    "holds the token that the server asks for, if it does (COPSECTL_TOKEN_FILE)")
        ->option_text("FILE")
        ->envname("COPSECTL_TOKEN_FILE");
    app_.add_flag("--insecure", line_.insecure, "allow plain text beyond this host (COPSECTL_INSECURE)")
        ->option_text(" ")
        ->envname("COPSECTL_INSECURE");
  }

  void AddVerb(const Verb& verb) {
    CLI::App* family = &app_;
    if (!verb.family.empty()) {
      CLI::App*& known = families_[verb.family];
      if (known == nullptr) {
        known = app_.add_subcommand(verb.family)->require_subcommand(1)->fallthrough()->group("Verbs");
      }
      family = known;
      // Its description lists its verbs.
      const std::string& so_far = family->get_description();
      family->description(absl::StrCat(so_far, so_far.empty() ? "" : ", ", verb.name));
    }
    CLI::App* app = family->add_subcommand(verb.name, verb.help)->fallthrough()->group("Verbs");
    app->callback([this, &verb] { line_.verb = &verb; });
    for (const Parameter& parameter : verb.positionals) {
      app->add_option(parameter.name, Value(verb, parameter.name), parameter.help)
          ->required(!parameter.optional)
          ->option_text(" ");
    }
    for (const Parameter& parameter : verb.options) {
      const std::string flag = absl::StrCat("--", parameter.name);
      if (parameter.value_name.empty()) {
        app->add_flag_callback(
            flag, [this, name = parameter.name] { switches_[name] = "true"; }, parameter.help);
      } else {
        CLI::Option* const option =
            app->add_option(flag, Value(verb, parameter.name), parameter.help)->option_text(parameter.value_name);
        if (parameter.repeated) option->join(',');
      }
    }
  }

  // Where CLI11 writes this value to.
  std::string& Value(const Verb& verb, const std::string& name) { return values_[{&verb, name}]; }

  absl::StatusOr<CommandLine> Finish() {
    std::map<std::string, std::string> given = switches_;
    for (const auto& [key, value] : values_) {
      if (key.first == line_.verb && !value.empty()) given[key.second] = value;
    }
    for (const Parameter& parameter : line_.verb->positionals) {
      if (given.count(parameter.name) == 0 && !parameter.optional) {
        return absl::InvalidArgumentError(
            absl::StrCat("usage: empty argument (argument=", parameter.name, "); try --help"));
      }
    }
    line_.arguments = Arguments(std::move(given));
    line_.format = format_ == "json" ? Format::kJson : Format::kTable;
    if (width_ >= 0) line_.width = static_cast<size_t>(width_);
    const double timeout_s = timeout_s_.value_or(line_.verb->timeout_s);
    if (!(timeout_s > 0 && timeout_s <= kTimeoutMaxSeconds)) {
      return absl::InvalidArgumentError(absl::StrFormat("usage: not a number of seconds above 0 (timeout=%g, limit=%g)",
                                                        timeout_s, kTimeoutMaxSeconds));
    }
    line_.timeout = absl::Seconds(timeout_s);
    return line_;
  }

  CLI::App app_;
  CommandLine line_;
  std::string format_ = "table";
  std::optional<double> timeout_s_;
  int width_ = -1;
  std::map<std::string, CLI::App*> families_;
  std::map<std::pair<const Verb*, std::string>, std::string> values_;
  std::map<std::string, std::string> switches_;
};

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const std::vector<Verb>& verbs) {
  return Parser(verbs).Parse(arguments);
}

}  // namespace copse::ctl
