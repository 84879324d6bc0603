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
  std::string value_name;  // of an option: "FILE"; empty: a switch
  std::string help;
  bool repeated = false;  // given once or more often; else the last one counts
  bool optional = false;  // of a positional
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
  std::string footer;  // of its help
};

struct ParsedVerb {
  std::optional<std::string> answer;  // set: print this and end
  size_t verb = 0;                    // as AddVerb numbered it
  // What was given for the verb's parameters, by name; "true" for a switch.
  std::map<std::string, std::vector<std::string>> values;
};

// One parse's CLI11 objects and what they write to: all AddVerb, then one Parse.
class VerbParser {
 public:
  explicit VerbParser(const ProgramSyntax& program);
  VerbParser(const VerbParser&) = delete;
  VerbParser& operator=(const VerbParser&) = delete;

  // For options of the program itself; they may stand before or after the verb.
  CLI::App* app() { return &app_; }
  // Verbs are numbered from 0.
  void AddVerb(const VerbSyntax& verb);
  // `arguments` without the program's name. INVALID_ARGUMENT says what is wrong, in one line.
  absl::StatusOr<ParsedVerb> Parse(const std::vector<std::string>& arguments);

 private:
  // Where CLI11 keeps what was given for a parameter.
  struct Value {
    CLI::Option* option = nullptr;
    std::string one;
    std::vector<std::string> all;  // of a repeated positional
  };

  CLI::App app_;
  size_t verb_count_ = 0;
  size_t given_ = 0;  // the verb
  std::map<std::string, CLI::App*> families_;
  std::map<std::pair<size_t, std::string>, Value> values_;  // by verb and name
};

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_VERB_PARSER_H_
