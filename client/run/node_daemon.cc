// SPDX-License-Identifier: Apache-2.0
#include "client/run/node_daemon.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/run/job_authority.h"
#include "client/run/keeper.h"
#include "client/run/kept_program.h"
#include "client/run/lease.h"

namespace copse::run {
namespace {

constexpr absl::Duration kLeasePatience = absl::Seconds(5);

std::string HostName() {
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  return host;
}

// What is for the job's processes is not for the daemon, which would be one of them.
void ForgetJobsEnvironment() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (absl::StartsWith(text, "COPSE_") || absl::StartsWith(text, "LD_PRELOAD=")) {
      names.push_back(text.substr(0, text.find('=')));
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

class KeptDaemon : public Kept {
 public:
  KeptDaemon(const NodeDaemonOptions& options, const std::string& folder) : options_(options), folder_(folder) {}

  absl::StatusOr<std::string> Start() override {
    RETURN_IF_ERROR(StartDaemon());
    return "";
  }
  void AwaitEnd() override {
    pollfd ended[] = {{.fd = lease_.fd.get(), .events = POLLIN | POLLRDHUP, .revents = 0},
                      {.fd = daemon_->fd(), .events = POLLIN, .revents = 0}};
    while (poll(ended, 2, -1) < 0 && errno == EINTR) {
    }
  }

 private:
  absl::Status StartDaemon() {
    ASSIGN_OR_RETURN(lease_, TakeLease(options_.contact.addresses, options_.contact.lease_port, kLeasePatience));
    ASSIGN_OR_RETURN(const JobIdentity identity, MakeJobIdentity(options_.secret, "node", HostName()));
    std::vector<std::string> settings = identity.settings();
    for (const std::string& setting : {absl::StrCat("planner=", lease_.there, ":", options_.contact.planner_port),
                                       absl::StrCat("data_listen=", lease_.here),
                                       absl::StrCat("socket=", options_.socket), absl::StrCat("run_dir=", folder_),
                                       std::string("admin_listen=127.0.0.1:0"), std::string("drain_timeout=1s")}) {
      settings.push_back(setting);
    }
    ForgetJobsEnvironment();
    daemon_ = std::make_unique<KeptProgram>(options_.daemon, folder_, settings);
    return daemon_->AwaitReady(options_.patience, lease_.fd.get()).status();
  }

  const NodeDaemonOptions options_;
  const std::string folder_;
  Lease lease_;
  std::unique_ptr<KeptProgram> daemon_;
};

}  // namespace

absl::Status StartNodeDaemon(const NodeDaemonOptions& options) {
  if (access(options.daemon.c_str(), X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat("no such program (path=", options.daemon, ")"));
  }
  const std::string folder = std::filesystem::path(options.socket).parent_path().string();
  return StartKeeper(folder, -1, [&]() { return std::make_unique<KeptDaemon>(options, folder); }).status();
}

}  // namespace copse::run
