// SPDX-License-Identifier: Apache-2.0
//
// Describes the verbs of a program for VerbParser, in a header of its own: whoever defines verbs need not read CLI11's.
#ifndef COPSE_CLI_COMMAND_LINE_VERB_H_
#define COPSE_CLI_COMMAND_LINE_VERB_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace copse::cli {

struct Parameter {
  std::string name;        // "file": FILE as a positional, --file as an option
  std::string value_name;  // for an option: "FILE"; empty: a switch
  std::string help;
  bool repeated = false;  // may be given more than once; otherwise the last value of an option counts
  bool optional = false;  // for a positional
};

// A Verb describes one verb of a program. The program calls `run`, a function of type `Run`, with the verb's Arguments.
template <typename Run>
struct Verb {
  std::string family;  // empty: the verb stands alone
  std::string name;
  std::string help;  // one line
  std::vector<Parameter> positionals;
  std::vector<Parameter> options;
  double timeout_s = 5;  // limit of the verb's time, in programs that have one
  std::function<Run> run;

  std::string FullName() const { return family.empty() ? name : family + " " + name; }
};

// Arguments holds the values of the parameters that were given, by name. A switch has the value "true".
struct Arguments {
  std::map<std::string, std::vector<std::string>> values;

  bool Has(const std::string& name) const { return values.count(name) > 0; }
  // Returns the parameter's value, or its values joined by commas if it was repeated; `fallback` if it was not given.
  std::string Text(const std::string& name, const std::string& fallback = "") const;
};

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_VERB_H_
