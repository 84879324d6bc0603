// SPDX-License-Identifier: Apache-2.0
//
// Parses copsectl's command line.
#ifndef COPSE_CLI_CTL_COMMAND_LINE_H_
#define COPSE_CLI_CTL_COMMAND_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config/tls_files.h"
#include "cli/client/style.h"
#include "cli/ctl/rows.h"
#include "cli/ctl/verb.h"

namespace copse::ctl {

inline constexpr char kDefaultEndpoint[] = "127.0.0.1:7470";
inline constexpr char kDefaultDaemonEndpoint[] = "127.0.0.1:7471";  // copsed's admin_listen
inline constexpr char kDefaultRunDir[] = "/run/copse";

struct CommandLine {
  // If set, the program prints it and ends.
  std::optional<std::string> answer;

  const Verb* verb = nullptr;
  Arguments arguments;
  std::string endpoint;  // the default one if none was given
  Format format = Format::kTable;
  RowOptions rows;
  absl::Duration watch;         // run the verb again after so long, until the output is closed; 0: once
  std::optional<size_t> width;  // characters; 0: unlimited; nothing: not given
  absl::Duration timeout;       // value of --timeout, or the verb's default
  bool insecure = false;
  std::string token_file;
  config::TlsFiles tls;  // as given
};

// OptionWords are the options of all verbs as they are given, such as "--endpoint" and "-e".
struct OptionWords {
  std::vector<std::string> switches;
  std::vector<std::string> valued;  // followed by a value
};
OptionWords CommonOptionWords();

// Parses `arguments`, which exclude the program's name; `verbs` must outlive the result. Defaults come from the
// environment: COPSECTL_ENDPOINT, COPSECTL_CONTEXT, COPSECTL_WRITE_OUT, COPSECTL_TIMEOUT, COPSECTL_WIDTH,
// COPSECTL_INSECURE, COPSECTL_TOKEN_FILE, COPSECTL_CERT, COPSECTL_KEY, COPSECTL_CACERT, COPSECTL_CRL_DIR,
// COPSECTL_RUN_DIR; then from the context (contexts.h). Errors: INVALID_ARGUMENT, and those of a context, which
// describe the mistake in one line.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_COMMAND_LINE_H_
