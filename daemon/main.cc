// SPDX-License-Identifier: Apache-2.0
//
// copsed: the daemon of a node.

#include <stdio.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/settings.h"

namespace copse::daemon {
namespace {

constexpr char kPortFile[] = "port-file";

int Fail(const absl::Status& status) {
  const std::string message(status.message());
  fprintf(stderr, "copsed: %s\n", message.c_str());
  const bool usage = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
  return usage ? config::kExitUsage : config::kExitFailed;
}

// --check-config and --print-config end in config::Start, which knows the keys but not what they mean together.
bool Asks(int argc, char** argv, const std::string& flag) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == flag) return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  BlockSignals();
  config::Config config = NewConfig();
  config::ProgramDescription description;
  description.summary =
      "Runs the collectives of this node's processes. Registers with the planner and serves clients over shared "
      "memory.\n"
      "Signals: SIGTERM and SIGINT drain and end (twice: at once); SIGHUP reloads log level, log file and time-outs.";
  description.default_file = "/etc/copse/copsed.yaml";
  description.flags = {{.name = kPortFile,
                        .value_name = "FILE",
                        .help = "write the admin service's HOST:PORT there once the planner has accepted this node"}};
  config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) {
    const bool check = *started.exit_code == config::kExitDone && Asks(argc, argv, "--check-config") &&
                       !Asks(argc, argv, "--help") && !Asks(argc, argv, "--version");
    if (!check) return *started.exit_code;
    const absl::StatusOr<Settings> settings = ReadSettings(config);
    return settings.ok() ? config::kExitDone : Fail(settings.status());
  }
  absl::StatusOr<Settings> settings = ReadSettings(config);
  if (!settings.ok()) return Fail(settings.status());
  SetLogLevel(settings->live.log_level);
  if (const absl::Status opened = OpenLogFile(settings->live.log_file); !opened.ok()) return Fail(opened);

  absl::StatusOr<std::unique_ptr<Daemon>> daemon =
      Daemon::Start({*std::move(settings), std::move(config), started.sources, started.flags[kPortFile]});
  if (!daemon.ok()) return Fail(daemon.status());
  (*daemon)->Run();
  return config::kExitDone;
}

}  // namespace
}  // namespace copse::daemon

int main(int argc, char** argv) { return copse::daemon::Main(argc, argv); }
