// SPDX-License-Identifier: Apache-2.0
//
// Runs copsed, the daemon of a node.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/start.h"
#include "base/log.h"
#include "base/process/core_dump.h"
#include "base/process/journal.h"
#include "base/process/time_slice.h"
#include "daemon/control_identity.h"
#include "daemon/daemon.h"
#include "daemon/settings.h"
#include "rpc/prepare_grpc.h"

namespace copse::daemon {
namespace {

constexpr char kPortFile[] = "port-file";

int Main(int argc, char** argv) {
  BlockSignals();
  rpc::PrepareGrpc();
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
  absl::StatusOr<Settings> settings = absl::UnknownError("not read");
  description.read = [&settings](const config::Config& loaded) {
    settings = ReadSettings(loaded);
    if (!settings.ok()) return settings.status();
    const absl::Status places = CheckPlaces(loaded, *settings);
    return places.ok() ? ControlIdentity::Check(*settings) : places;
  };
  config::Started started = config::Start(argc, argv, description, &config);
  if (started.exit_code.has_value()) return *started.exit_code;
  const absl::Status kept = settings->core_memory ? absl::OkStatus() : KeepMemoryOutOfCores();
  LogToJournal();
  SetLogNode(settings->node);
  SetLogLevel(settings->live.log_level);
  if (const absl::Status opened = OpenLogFile(settings->live.log_file); !opened.ok())
    return config::Fail(config, opened);
  if (!kept.ok()) COPSE_LOG(kWarning, kept.message());

  absl::StatusOr<std::unique_ptr<Daemon>> daemon =
      Daemon::Start({*std::move(settings), config, started.sources, started.flags[kPortFile]});
  if (!daemon.ok()) return config::Fail(config, daemon.status());
  // This affects only this thread, which alternates between sleep and work with every call. Without short slices it
  // is only slower.
  SetTimeSlice(kShortSliceNs);
  (*daemon)->Run();
  return config::kExitDone;
}

}  // namespace
}  // namespace copse::daemon

int main(int argc, char** argv) { return copse::daemon::Main(argc, argv); }
