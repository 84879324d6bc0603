// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/verb_parser.h"

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
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

void VerbParser::AddVerb(const VerbSyntax& verb) {
  const size_t number = verb_count_++;
  CLI::App* family = &app_;
  if (!verb.family.empty()) {
    CLI::App*& known = families_[verb.family];
    if (known == nullptr) {
      known = app_.add_subcommand(verb.family)->require_subcommand(1)->fallthrough()->group("Verbs");
    }
    family = known;
    // A family's description lists its verbs.
    const std::string& so_far = family->get_description();
    family->description(absl::StrCat(so_far, so_far.empty() ? "" : ", ", verb.name));
  }
  CLI::App* const app = family->add_subcommand(verb.name, verb.help)->fallthrough()->group("Verbs");
  app->callback([this, number] { given_ = number; });
  for (const ParameterSyntax& parameter : verb.positionals) {
    Value* const value = &values_[{number, parameter.name}];
    const std::string shown = absl::AsciiStrToUpper(parameter.name);
    value->option = parameter.repeated ? app->add_option(shown, value->all, parameter.help)->expected(1, kRepeatedMax)
                                       : app->add_option(shown, value->one, parameter.help);
    value->option->required(!parameter.optional)->option_text(" ");
  }
  for (const ParameterSyntax& parameter : verb.options) {
    const std::string flag = absl::StrCat("--", parameter.name);
    Value* const value = &values_[{number, parameter.name}];
    if (parameter.value_name.empty()) {
      value->option = app->add_flag_callback(
          flag, [] {}, parameter.help);
      continue;
    }
    // CLI11 accepts several values, joined or the last. The values are read from its results.
    value->option =
        app->add_option(flag, value->one, parameter.help)
            ->option_text(parameter.value_name)
            ->multi_option_policy(parameter.repeated ? CLI::MultiOptionPolicy::Join : CLI::MultiOptionPolicy::TakeLast);
  }
}

absl::StatusOr<ParsedVerb> VerbParser::Parse(const std::vector<std::string>& arguments) {
  const absl::StatusOr<std::optional<std::string>> answer = cli::Parse(&app_, arguments);
  if (!answer.ok()) return answer.status();
  ParsedVerb parsed{.answer = *answer, .verb = given_, .values = {}};
  for (const auto& [key, value] : values_) {
    if (key.first != given_ || value.option->count() == 0) continue;
    const std::vector<std::string>& results = value.option->results();
    const bool all = value.option->get_multi_option_policy() == CLI::MultiOptionPolicy::Join || !value.all.empty();
    parsed.values[key.second] = all ? results : std::vector<std::string>{results.back()};
  }
  return parsed;
}

}  // namespace copse::cli
