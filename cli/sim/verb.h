// SPDX-License-Identifier: Apache-2.0
//
// The interface of a verb of copse-sim. Every verb, or family of verbs, has a file of its own.
#ifndef COPSE_CLI_SIM_VERB_H_
#define COPSE_CLI_SIM_VERB_H_

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace copse::simcli {

// Arguments holds the values given on the command line, by name.
class Arguments {
 public:
  using Values = std::map<std::string, std::vector<std::string>>;

  Arguments() = default;
  explicit Arguments(Values values) : values_(std::move(values)) {}

  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  // Returns the last value; `fallback` if not given.
  std::string Text(const std::string& name, const std::string& fallback = "") const {
    const auto it = values_.find(name);
    return it == values_.end() ? fallback : it->second.back();
  }
  // Returns all values, for example of FILE...
  std::vector<std::string> Texts(const std::string& name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? std::vector<std::string>() : it->second;
  }

 private:
  Values values_;
};

struct Parameter {
  std::string name;        // "file": FILE as a positional, --file as an option
  std::string value_name;  // for an option: "FILE"; empty: a switch
  std::string help;
  bool repeated = false;  // may be given more than once
};

struct Verb {
  std::string name;
  std::string help;                         // one line
  std::vector<Parameter> positionals = {};  // all are required
  std::vector<Parameter> options = {};
  // `out` and `err` are standard output and error. INVALID_ARGUMENT is bad usage; any other error is a failure, whose
  // text is printed unless it is empty
  std::function<absl::Status(const Arguments&, std::ostream& out, std::ostream& err)> run;
};

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_VERB_H_
