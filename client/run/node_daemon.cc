// SPDX-License-Identifier: Apache-2.0
#include "client/run/node_daemon.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
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
// What stands in the lock file: empty while nobody has tried.
constexpr char kReady = '+';
constexpr char kFailed = '-';

absl::Status Unavailable(const std::string& what, const std::string& path) {
  return absl::UnavailableError(absl::StrCat(what, " (path=", path, "): ", std::strerror(errno)));
}

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
  KeptDaemon(const NodeDaemonOptions& options, const std::string& folder, UniqueFd lock)
      : options_(options), folder_(folder), lock_(std::move(lock)) {}

  // Says in the lock file how it went before others may look.
  absl::StatusOr<std::string> Start() override {
    const absl::Status started = StartDaemon();
    const std::string said =
        started.ok() ? std::string(1, kReady) : absl::StrCat(std::string(1, kFailed), started.message());
    [[maybe_unused]] const ssize_t written = pwrite(lock_.get(), said.data(), said.size(), 0);
    flock(lock_.get(), LOCK_UN);
    if (!started.ok()) return started;
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
    ASSIGN_OR_RETURN(std::vector<std::string> settings, WriteJobIdentity(options_.secret, "node", HostName(), folder_));
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
  const UniqueFd lock_;
  Lease lease_;
  std::unique_ptr<KeptProgram> daemon_;
};

absl::Status MakeOwnFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return Unavailable("no folder can be made", folder);
  struct stat about;
  if (lstat(folder.c_str(), &about) != 0) return Unavailable("the daemon's folder has gone", folder);
  if (S_ISDIR(about.st_mode) && about.st_uid == geteuid() && (about.st_mode & 077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the daemon's folder is not this user's alone (path=", folder, ", uid=", about.st_uid, ")"));
}

}  // namespace

absl::Status StartNodeDaemon(const NodeDaemonOptions& options) {
  if (access(options.daemon.c_str(), X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat("no such program (path=", options.daemon, ")"));
  }
  const std::string folder = std::filesystem::path(options.socket).parent_path().string();
  RETURN_IF_ERROR(MakeOwnFolder(folder));
  const std::string path = folder + "/lock";
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return Unavailable("no lock can be made", path);
  while (flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return Unavailable("flock", path);
  }
  char said[1024];
  const ssize_t bytes = pread(lock.get(), said, sizeof(said), 0);
  if (bytes > 0 && said[0] == kReady) return absl::OkStatus();
  if (bytes > 0) return absl::UnavailableError(std::string(said + 1, static_cast<size_t>(bytes) - 1));
  struct stat about;
  if (fstat(lock.get(), &about) != 0 || about.st_nlink == 0) {
    return absl::UnavailableError(absl::StrCat("the daemon's keeper has ended (path=", folder, ")"));
  }
  const int lock_fd = lock.get();
  return StartKeeper(
             folder, lock_fd,
             [&]() -> std::unique_ptr<Kept> { return std::make_unique<KeptDaemon>(options, folder, std::move(lock)); })
      .status();
}

}  // namespace copse::run
