// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/verb_parser.h"

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command_line/parse.h"

namespace copse::cli {
namespace {

constexpr size_t kColumnWidth = 32;
constexpr int kRepeatedMax = 1 << 20;

}  // namespace

VerbParser::VerbParser(const ProgramSyntax& program) : app_(program.description) {
  SetUp(&app_, program.name, program.footer, kColumnWidth);
  app_.require_subcommand(1);
}

void VerbParser::AddVerb(const std::string& family, const std::string& name, const std::string& help,
                         const std::vector<Parameter>& positionals, const std::vector<Parameter>& options) {
  const size_t number = verb_count_++;
  CLI::App* above = &app_;
  if (!family.empty()) {
    CLI::App*& known = families_[family];
    if (known == nullptr) {
      known = app_.add_subcommand(family)->require_subcommand(1)->fallthrough()->group("Verbs");
    }
    above = known;
    // A family's description lists its verbs.
    const std::string& so_far = known->get_description();
    known->description(absl::StrCat(so_far, so_far.empty() ? "" : ", ", name));
  }
  CLI::App* const app = above->add_subcommand(name, help)->fallthrough()->group("Verbs");
  app->callback([this, number] { given_ = number; });
  for (const Parameter& parameter : positionals) {
    ParameterTarget* const target = &targets_[{number, parameter.name}];
    const std::string shown = absl::AsciiStrToUpper(parameter.name);
    target->option = parameter.repeated ? app->add_option(shown, target->all, parameter.help)->expected(1, kRepeatedMax)
                                        : app->add_option(shown, target->one, parameter.help);
    target->option->required(!parameter.optional)->option_text(" ");
  }
  for (const Parameter& parameter : options) {
    const std::string flag = absl::StrCat("--", parameter.name);
    ParameterTarget* const target = &targets_[{number, parameter.name}];
    if (parameter.value_name.empty()) {
      target->option = app->add_flag_callback(
          flag, [] {}, parameter.help);
      continue;
    }
    // Either policy lets CLI11 accept the option more than once. Parse reads the values from results().
    target->option =
        app->add_option(flag, target->one, parameter.help)
            ->option_text(parameter.value_name)
            ->multi_option_policy(parameter.repeated ? CLI::MultiOptionPolicy::Join : CLI::MultiOptionPolicy::TakeLast);
  }
}

absl::StatusOr<ParsedVerb> VerbParser::Parse(const std::vector<std::string>& arguments) {
  ParsedVerb parsed;
  ASSIGN_OR_RETURN(parsed.answer, cli::Parse(&app_, arguments));
  parsed.verb = given_;
  for (const auto& [key, target] : targets_) {
    if (key.first != given_ || target.option->count() == 0) continue;
    const std::vector<std::string>& results = target.option->results();
    const bool all = target.option->get_multi_option_policy() == CLI::MultiOptionPolicy::Join || !target.all.empty();
    parsed.arguments.values[key.second] = all ? results : std::vector<std::string>{results.back()};
  }
  return parsed;
}

}  // namespace copse::cli
