// SPDX-License-Identifier: Apache-2.0
//
// Handles the command line that all programs with a configuration share.

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

// All programs end with these exit codes.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;
inline constexpr int kExitTimedOut = 4;

struct Flag {
  std::string name;        // "port-file": given as --port-file VALUE or --port-file=VALUE
  std::string value_name;  // "FILE"; empty: a switch, which takes no value
  std::string help;
  bool sets_key = false;  // it is short for --set of the key of its name
};

struct ProgramDescription {
  std::string summary;           // one or more lines for --help
  std::string default_file;      // "/etc/copse/copsed.yaml"
  std::vector<Flag> flags = {};  // flags besides the common ones
  // Checks that the values of the keys fit together. Start calls it after loading, unless --print-config is given
  // without --check-config, and passes an error to Fail. Null: there is nothing to check.
  std::function<absl::Status(const Config&)> read = nullptr;
};

struct Started {
  // If set, the program must end with this code; all output has been written.
  std::optional<int> exit_code;
  std::map<std::string, std::string> flags;  // values of the given flags of ProgramDescription, by name
  Sources sources;                           // for reloading on SIGHUP
};

// Parses --config FILE, --set KEY=VALUE, --check-config, --print-config, --help, --version and `description.flags`,
// and loads `*config`. Errors go to standard error in Fail's format, as do the names of environment variables with
// the program's prefix that match no key.
Started Start(int argc, char** argv, const ProgramDescription& description, Config* config);

// Prints to standard error why a program cannot start, as "PROGRAM: what: why"; to the journal, as an error. Returns
// its exit code: kExitUsage for INVALID_ARGUMENT, since a wrong text in the configuration stays wrong until it is
// changed; kExitFailed for errors that may pass, such as a file, an interface or a port that is not there yet. The
// service manager restarts the program only after the latter.
int Fail(const Config& config, const absl::Status& status);

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_START_H_
