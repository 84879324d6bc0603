// SPDX-License-Identifier: Apache-2.0
//
// The command line that every configured program has.

#ifndef COPSE_BASE_CONFIG_START_H_
#define COPSE_BASE_CONFIG_START_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/config/config.h"

namespace copse::config {

// Exit codes of every program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;
inline constexpr int kExitTimedOut = 4;

struct Flag {
  std::string name;        // "port-file": given as --port-file VALUE or --port-file=VALUE
  std::string value_name;  // "FILE"
  std::string help;
};

struct ProgramDescription {
  std::string summary;           // one or more lines for --help
  std::string default_file;      // "/etc/copse/copsed.yaml"
  std::vector<Flag> flags = {};  // beside the common ones
  // Finds out what the keys mean together. Called once they are loaded, unless they are only printed; an error ends the
  // program as Fail does. Null: nothing to find out.
  std::function<absl::Status(const Config&)> read = nullptr;
};

struct Started {
  // Set: end now with this code; what there was to say has been said.
  std::optional<int> exit_code;
  std::map<std::string, std::string> flags;  // those of ProgramDescription that were given
  Sources sources;                           // to load again, on SIGHUP
};

// Parses --config FILE, --set KEY=VALUE, --check-config, --print-config, --help, --version and `description.flags`, and
// loads `*config`. Errors go to standard error as Fail says; there, too, variables of the environment with the
// program's prefix that are no key's are named.
Started Start(int argc, char** argv, const ProgramDescription& description, Config* config);

// Says why a program cannot start, as "PROGRAM: what: why". Returns its exit code: kExitUsage for a text that makes no
// sense (INVALID_ARGUMENT), which stays so until somebody changes it; kExitFailed for all that may pass, such as a
// file, an interface or a port that is not there yet. The service manager tries again after the latter only.
int Fail(const Config& config, const absl::Status& status);

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_START_H_
