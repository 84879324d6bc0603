// SPDX-License-Identifier: Apache-2.0
//
// Parses command lines of programs that have verbs: PROGRAM [OPTION...] [FAMILY] VERB [ARGUMENT...].
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
#include "cli/command_line/verb.h"

namespace copse::cli {

struct ProgramSyntax {
  std::string name;
  std::string description;
  std::string footer;  // last lines of the help
};

struct ParsedVerb {
  std::optional<std::string> answer;  // if set, the program prints it and ends
  size_t verb = 0;                    // number of the verb; valid without an answer
  Arguments arguments;
};

// A VerbParser parses one command line. It owns the CLI11 objects and the memory into which CLI11 stores values. Calls
// follow AddVerbs* Parse.
class VerbParser {
 public:
  explicit VerbParser(const ProgramSyntax& program);
  VerbParser(const VerbParser&) = delete;
  VerbParser& operator=(const VerbParser&) = delete;

  // Returns the parser of the program's own options, which may be given before or after the verb.
  CLI::App* app() { return &app_; }
  // Adds verbs. All verbs of a parser are numbered from 0, in the order in which they were added.
  template <typename Run>
  void AddVerbs(const std::vector<Verb<Run>>& verbs) {
    for (const Verb<Run>& verb : verbs) AddVerb(verb.family, verb.name, verb.help, verb.positionals, verb.options);
  }
  // Parses `arguments`, which exclude the program's name. INVALID_ARGUMENT describes the mistake in one line.
  absl::StatusOr<ParsedVerb> Parse(const std::vector<std::string>& arguments);

 private:
  // A ParameterTarget is the memory into which CLI11 stores the values of a parameter.
  struct ParameterTarget {
    CLI::Option* option = nullptr;
    std::string one;
    std::vector<std::string> all;  // for a repeated positional
  };

  void AddVerb(const std::string& family, const std::string& name, const std::string& help,
               const std::vector<Parameter>& positionals, const std::vector<Parameter>& options);

  CLI::App app_;
  size_t verb_count_ = 0;
  size_t given_ = 0;  // number of the parsed verb
  std::map<std::string, CLI::App*> families_;
  std::map<std::pair<size_t, std::string>, ParameterTarget> targets_;  // by verb's number and parameter's name
};

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_VERB_PARSER_H_
