// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/parse.h"

#include <algorithm>
#include <utility>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/version.h"

namespace copse::cli {
namespace {

std::string OneLine(const std::string& text) {
  return absl::StrReplaceAll(std::string(absl::StripAsciiWhitespace(text)), {{"\n", "; "}, {"A subcommand", "a VERB"}});
}

// Returns an error that names the first unknown option among `rest`, or, without one, `else_what` and the first
// argument, with `known`, what would have been right there.
std::string Unexpected(const std::vector<std::string>& rest, const std::string& else_what,
                       const std::vector<std::string>& known = {}) {
  const auto option = std::find_if(rest.begin(), rest.end(), [](const std::string& a) { return a.rfind('-', 0) == 0; });
  if (option != rest.end()) return absl::StrCat("no such option (argument=", *option, ")");
  return absl::StrCat(else_what, " (argument=", rest.front(),
                      known.empty() ? "" : ", known=", absl::StrJoin(known, ","), ")");
}

// Returns the verbs that may come after those that were given.
std::vector<std::string> NextVerbs(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  std::vector<std::string> names;
  for (const CLI::App* verb : app->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

// Returns what CLI11's "Could not convert: --timeout = 30s" says in our words. Only numbers are converted.
std::string NotConverted(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "Could not convert: ")) return OneLine(std::string(text));
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(" = ", 1));
  return absl::StrCat("not a number that it takes (argument=", parts.first, ", value=", parts.second, ")");
}

// Returns what CLI11's "once was given a disallowed flag override" says in our words; other texts of its class as they
// are.
std::string Mismatched(absl::string_view text) {
  if (!absl::ConsumeSuffix(&text, " was given a disallowed flag override")) return OneLine(std::string(text));
  return absl::StrCat("it takes no value (argument=", text.size() == 1 ? "-" : "--", text, ")");
}

}  // namespace

void SetUp(CLI::App* app, const std::string& name, const std::string& footer, size_t column_width) {
  app->name(name);
  app->footer(footer);
  app->option_defaults()->disable_flag_override();  // subcommands inherit it
  app->set_help_flag("-h,--help", "print this");
  app->set_version_flag("--version", kVersion, "print the version");
  app->get_formatter()->label("SUBCOMMAND", "VERB");
  app->get_formatter()->label("Positionals", "Arguments");
  app->get_formatter()->label("REQUIRED", "");
  app->get_formatter()->label("TEXT", "");
  app->get_formatter()->column_width(column_width);
}

CLI::Option* AddFormatOption(CLI::App* app, std::string* format, const std::string& help) {
  const auto formats = CLI::IsMember({"table", "json"});
  return app->add_option("-w,--write-out", *format, help)->option_text("table|json")->check(formats);
}

absl::Status UsageError(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("usage: ", what, "; try --help"));
}

absl::StatusOr<std::optional<std::string>> Parse(CLI::App* app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back.
  try {
    app->parse(arguments);
  } catch (const CLI::CallForHelp&) {
    std::string help = app->help();
    absl::StripTrailingAsciiWhitespace(&help);
    return help + "\n";
  } catch (const CLI::CallForVersion&) {
    return absl::StrCat(app->get_name(), " ", kVersion, "\n");
  } catch (const CLI::RequiredError& error) {
    // If an unknown verb was given, CLI11 reports only that a verb is missing.
    const std::vector<std::string> rest = app->remaining(/*recurse=*/true);
    return UsageError(rest.empty() ? OneLine(error.what()) : Unexpected(rest, "no such verb", NextVerbs(app)));
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> rest = app->remaining(/*recurse=*/true);
    return UsageError(rest.empty() ? OneLine(error.what()) : Unexpected(rest, "unexpected argument"));
  } catch (const CLI::ConversionError& error) {
    return UsageError(NotConverted(error.what()));
  } catch (const CLI::ArgumentMismatch& error) {
    return UsageError(Mismatched(error.what()));
  } catch (const CLI::Error& error) {
    return UsageError(OneLine(error.what()));
  }
  return std::optional<std::string>();
}

}  // namespace copse::cli
