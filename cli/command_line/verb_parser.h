// SPDX-License-Identifier: Apache-2.0
//
// Command lines of programs that have verbs: PROGRAM [OPTION...] [FAMILY] VERB [ARGUMENT...].
#ifndef COPSE_CLI_COMMAND_LINE_VERB_PARSER_H_
#define COPSE_CLI_COMMAND_LINE_VERB_PARSER_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"

namespace copse::cli {

struct ParameterSyntax {
  std::string name;        // "file": FILE as a positional, --file as an option
  std::string value_name;  // for an option: "FILE"; empty: a switch
  std::string help;
  bool repeated = false;  // may be given more than once; else the last one counts
  bool optional = false;  // for a positional
};

struct VerbSyntax {
  std::string family;  // empty: the verb stands alone
  std::string name;
  std::string help;  // one line
  std::vector<ParameterSyntax> positionals;
  std::vector<ParameterSyntax> options;
};

struct ProgramSyntax {
  std::string name;
  std::string description;
  std::string footer;  // last lines of its help
};

struct ParsedVerb {
  std::optional<std::string> answer;  // if set, the program prints it and ends
  size_t verb = 0;                    // its number from AddVerb
  // Values given for the verb's parameters, by name; "true" for a switch.
  std::map<std::string, std::vector<std::string>> values;
};

// VerbParser owns one parse's CLI11 objects and their targets. Calls: AddVerb*, then one Parse.
class VerbParser {
 public:
  explicit VerbParser(const ProgramSyntax& program);
  VerbParser(const VerbParser&) = delete;
  VerbParser& operator=(const VerbParser&) = delete;

  // Gives access for the program's own options; they may stand before or after the verb.
  CLI::App* app() { return &app_; }
  // Adds a verb; verbs are numbered from 0.
  void AddVerb(const VerbSyntax& verb);
  // Parses `arguments`, which exclude the program's name. INVALID_ARGUMENT describes the mistake in one line.
  absl::StatusOr<ParsedVerb> Parse(const std::vector<std::string>& arguments);

 private:
  // Value is CLI11's target for a parameter.
  struct Value {
    CLI::Option* option = nullptr;
    std::string one;
    std::vector<std::string> all;  // for a repeated positional
  };

  CLI::App app_;
  size_t verb_count_ = 0;
  size_t given_ = 0;  // the verb
  std::map<std::string, CLI::App*> families_;
  std::map<std::pair<size_t, std::string>, Value> values_;  // by verb and name
};

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_VERB_PARSER_H_
