// SPDX-License-Identifier: Apache-2.0
//
// The interface of a verb of copsectl. Every family has a file of its own, which lists its verbs.
#ifndef COPSE_CLI_CTL_VERB_H_
#define COPSE_CLI_CTL_VERB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/style.h"

namespace copse::ctl {

// VerbContext is a verb's environment.
struct VerbContext {
  AdminClient* client;
  Style style;
  bool terminal = false;           // standard output is one
  std::string out;                 // for standard output, even if the verb fails
  std::vector<std::string> notes;  // lines for standard error: data missing from `out`
  // For a verb that continues: writes to standard output at once; false: the output is closed.
  std::function<bool(const std::string&)> print;
};

// Arguments holds the values given on the command line, by name.
class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  // Returns "" if not given.
  std::string Text(const std::string& name) const;
  // Returns the id of the verb's own object. INVALID_ARGUMENT unless it is a number from 1 on.
  absl::StatusOr<uint64_t> Id(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

struct Parameter {
  std::string name;        // "node": NODE as a positional, --node as an option
  std::string value_name;  // for an option: "NAME"; empty: a switch
  std::string help;
  bool repeated = false;  // for an option: its values are joined by commas
  bool optional = false;  // for a positional
};

struct Verb {
  std::string family;  // "node"; empty: the verb stands alone
  std::string name;
  std::string help;  // one line
  std::vector<Parameter> positionals = {};
  std::vector<Parameter> options = {};
  double timeout_s = 5;
  std::function<absl::Status(const Arguments&, VerbContext&)> run;

  std::string FullName() const { return family.empty() ? name : family + " " + name; }
};

// Parses a number from 1 on; `what` names it in the error.
absl::StatusOr<uint64_t> ParseId(std::string_view what, std::string_view text);

// Returns the team given by `text`: its id, or its name if only one team has it. Queries the server for a name.
// NOT_FOUND, or FAILED_PRECONDITION with the ids of all matches.
absl::StatusOr<uint64_t> FindTeam(AdminClient& client, const std::string& text);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERB_H_
