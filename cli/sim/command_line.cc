// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/command_line.h"

#include <algorithm>
#include <map>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/version.h"

namespace copse::simcli {
namespace {

constexpr char kFooter[] =
    "`copse-sim VERB --help` tells a verb's options.\n"
    "Exit codes: 0 done, 1 failed, 2 bad usage.";

// One parse's CLI11 objects and what they write to.
class Parser {
 public:
  explicit Parser(const std::vector<Verb>& verbs) : app_("Copse's pure parts without a cluster.") {
    app_.name("copse-sim");
    app_.footer(kFooter);
    app_.set_help_flag("-h,--help", "print this");
    app_.set_version_flag("--version", kVersion, "print the version");
    app_.require_subcommand(1);
    app_.get_formatter()->label("SUBCOMMAND", "VERB");
    app_.get_formatter()->label("Positionals", "Arguments");
    app_.get_formatter()->label("REQUIRED", "");
    app_.get_formatter()->label("TEXT", "");
    app_.get_formatter()->column_width(32);
    app_.add_option("-w,--write-out", write_out_, "how to write what a verb finds; default table")
        ->option_text("table|json")
        ->check(CLI::IsMember({"table", "json"}));
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
      line_.answer = absl::StrCat("copse-sim ", kVersion, "\n");
      return line_;
    } catch (const CLI::RequiredError& error) {
      // CLI11 would only say that a verb is missing.
      const std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
      return Usage(unknown.empty() ? OneLine(error.what())
                                   : absl::StrCat("no such verb (argument=", unknown.front(), ")"));
    } catch (const CLI::Error& error) {
      return Usage(OneLine(error.what()));
    }
    Arguments::Values given;
    for (const auto& [key, values] : values_) {
      if (key.first == line_.verb && !values.empty()) given[key.second] = values;
    }
    if (!write_out_.empty()) given["write-out"] = {write_out_};
    line_.arguments = Arguments(std::move(given));
    return line_;
  }

 private:
  static absl::Status Usage(const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("usage: ", what, "; try --help"));
  }

  static std::string OneLine(const std::string& text) {
    return absl::StrReplaceAll(std::string(absl::StripAsciiWhitespace(text)),
                               {{"\n", "; "}, {"A subcommand", "a VERB"}});
  }

  void AddVerb(const Verb& verb) {
    CLI::App* const app = app_.add_subcommand(verb.name, verb.help)->fallthrough()->group("Verbs");
    app->callback([this, &verb] { line_.verb = &verb; });
    for (const Parameter& parameter : verb.positionals) {
      app->add_option(parameter.name, Values(verb, parameter.name), parameter.help)
          ->required()
          ->expected(1, parameter.repeated ? 1 << 20 : 1)
          ->option_text(" ");
    }
    for (const Parameter& parameter : verb.options) {
      const std::string flag = absl::StrCat("--", parameter.name);
      std::vector<std::string>* const values = &Values(verb, parameter.name);
      if (parameter.value_name.empty()) {
        app->add_flag_callback(
            flag, [values] { *values = {"true"}; }, parameter.help);
      } else {
        CLI::Option* const option =
            app->add_option(flag, *values, parameter.help)->option_text(parameter.value_name)->expected(1);
        if (!parameter.repeated) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      }
    }
  }

  // Where CLI11 writes these values to.
  std::vector<std::string>& Values(const Verb& verb, const std::string& name) { return values_[{&verb, name}]; }

  CLI::App app_;
  std::string write_out_;
  CommandLine line_;
  std::map<std::pair<const Verb*, std::string>, std::vector<std::string>> values_;
};

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const std::vector<Verb>& verbs) {
  return Parser(verbs).Parse(arguments);
}

}  // namespace copse::simcli
