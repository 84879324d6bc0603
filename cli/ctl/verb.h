// SPDX-License-Identifier: Apache-2.0
//
// The interface of a verb of copsectl. Every family has a file of its own, which lists its verbs.
#ifndef COPSE_CLI_CTL_VERB_H_
#define COPSE_CLI_CTL_VERB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_line/verb_parser.h"
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

  // Sets `out`, as the end of a verb that has succeeded.
  absl::Status Answer(std::string text) {
    out = std::move(text);
    return absl::OkStatus();
  }
  bool wants_json() const { return style.format == Format::kJson; }
};

using cli::Arguments;
using Verb = cli::Verb<absl::Status(const Arguments&, VerbContext&)>;

// Returns whether `text` consists of digits: an id, not a name or a file.
bool IsNumber(std::string_view text);

// Parses a number from 1 on; `what` names it in the error.
absl::StatusOr<uint64_t> ParseId(std::string_view what, std::string_view text);

// Parses the seconds of an option, above 0 and at most `limit`.
absl::StatusOr<double> ParseSeconds(const std::string& option, const std::string& text, double limit);

// Returns the team given by `text`: its id, or its name if only one team has it. Queries the server for a name.
// NOT_FOUND, or FAILED_PRECONDITION with the ids of all matches.
absl::StatusOr<uint64_t> FindTeam(AdminClient& client, const std::string& text);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERB_H_
