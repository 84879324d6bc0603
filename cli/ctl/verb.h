// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between copsectl and its verbs. Each family of verbs has a file with a function that returns
// its verbs, such as NodeVerbs in node_verbs.cc.
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
#include "absl/time/time.h"
#include "cli/client/admin_client.h"
#include "cli/client/style.h"
#include "cli/command_line/verb.h"
#include "cli/ctl/progress.h"

namespace copse::ctl {

// A VerbContext gives a verb its server and style, and takes the verb's output.
struct VerbContext {
  AdminClient* client;
  Style style;
  bool terminal = false;           // true: standard output is a terminal
  std::string out;                 // for standard output, even if the verb fails
  std::vector<std::string> notes;  // lines for standard error, such as about data missing from `out`
  // Writes to standard output at once, for a verb that runs until it is stopped. Returns false if the output is closed.
  std::function<bool(const std::string&)> print;
  VerbProgress* progress = nullptr;  // null: nobody looks

  // Says what the verb is doing, in case it takes long.
  void Note(std::string doing) const {
    if (progress != nullptr) progress->Note(std::move(doing));
  }
  // Sets `out` and returns OK, so that a verb that succeeds can end with it.
  absl::Status Answer(std::string text) {
    out = std::move(text);
    return absl::OkStatus();
  }
  // Sets `out` to `json` or `text`, by the style's format, and returns OK.
  absl::Status Answer(const Json& json, std::string text) {
    return Answer(wants_json() ? DumpJson(json) : std::move(text));
  }

  bool wants_json() const { return style.format == Format::kJson; }
};

// Verbs that wait for a state ask for it after such pauses.
inline constexpr absl::Duration kWaitPause = absl::Milliseconds(200);
// Begins a screen on a terminal.
inline constexpr char kClearScreen[] = "\x1b[H\x1b[2J";
// The longest value of --timeout, and the default of verbs that wait.
inline constexpr double kTimeoutMaxSeconds = 86400;

using cli::Arguments;
using Verb = cli::Verb<absl::Status(const Arguments&, VerbContext&)>;

// Returns whether `text` consists of digits, so that it is an id and not the name of a team or file.
bool IsNumber(std::string_view text);

// Parses a number from 1 on. Errors: INVALID_ARGUMENT, in which `what` names the number.
absl::StatusOr<uint64_t> ParseId(std::string_view what, std::string_view text);

// Parses the value of `option`, seconds above 0 and at most `limit`. Errors: INVALID_ARGUMENT.
absl::StatusOr<double> ParseSeconds(const std::string& option, const std::string& text, double limit);

// Returns the id of the team given by `text`: an id, or a name that only one team has. Only a name is looked up at the
// server. Errors: INVALID_ARGUMENT for an invalid id; NOT_FOUND for an unknown name; FAILED_PRECONDITION, with all ids,
// if several teams have the name; those of the call.
absl::StatusOr<uint64_t> FindTeam(AdminClient& client, const std::string& text);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERB_H_
