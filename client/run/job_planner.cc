// SPDX-License-Identifier: Apache-2.0
#include "client/run/job_planner.h"

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/run/job_authority.h"
#include "client/run/keeper.h"
#include "client/run/kept_folder.h"
#include "client/run/kept_program.h"
#include "client/run/lease.h"

namespace copse::run {
namespace {

// Paths of sockets are short: 40 bits of a name are enough.
constexpr int kUnusedBits = 24;

class KeptPlanner : public Kept {
 public:
  KeptPlanner(const JobPlannerOptions& options, const std::string& folder, const std::string& secret, UniqueFd job)
      : options_(options), folder_(folder), secret_(secret), job_(std::move(job)) {}

  absl::StatusOr<std::string> Start() override {
    ASSIGN_OR_RETURN(leases_, ListenForLeases());
    ASSIGN_OR_RETURN(const JobIdentity identity, MakeJobIdentity(secret_, "planner", "job"));
    std::vector<std::string> settings = identity.settings();
    settings.push_back("listen=0.0.0.0:0");
    planner_ = std::make_unique<KeptProgram>(options_.planner, folder_, settings);
    ASSIGN_OR_RETURN(const std::string listens, planner_->AwaitReady(options_.patience, job_.get()));
    JobContact contact = {.lease_port = leases_.port, .addresses = OwnAddresses()};
    int port = 0;
    if (!absl::SimpleAtoi(listens.substr(listens.rfind(':') + 1), &port)) {
      return absl::UnavailableError(absl::StrCat("copse-planner has no port (value=", listens, ")"));
    }
    contact.planner_port = static_cast<uint16_t>(port);
    return ContactText(contact);
  }
  void AwaitEnd() override {
    pollfd ended = {.fd = job_.get(), .events = POLLIN, .revents = 0};
    while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
    }
  }

 private:
  const JobPlannerOptions options_;
  const std::string folder_, secret_;
  const UniqueFd job_;
  LeaseListener leases_;
  std::unique_ptr<KeptProgram> planner_;
};

absl::StatusOr<std::string> NewFolderName(const std::string& parent) {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    return absl::UnavailableError(absl::StrCat("getrandom: ", std::strerror(errno)));
  }
  return absl::StrCat(parent, "/", kFolderPrefix, absl::Hex(number >> kUnusedBits, absl::kZeroPad10));
}

}  // namespace

absl::StatusOr<JobPlanner> StartJobPlanner(const JobPlannerOptions& options) {
  if (access(options.planner.c_str(), X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat("no such program (path=", options.planner, ")"));
  }
  UniqueFd job = PidFd(getpid());
  if (!job.valid()) return absl::UnavailableError(absl::StrCat("pidfd_open: ", std::strerror(errno)));
  JobPlanner planner;
  ASSIGN_OR_RETURN(planner.secret, NewJobSecret());
  ASSIGN_OR_RETURN(planner.folder, NewFolderName(options.parent));
  const int job_fd = job.get();
  ASSIGN_OR_RETURN(const std::string contact, StartKeeper(planner.folder, job_fd, [&]() -> std::unique_ptr<Kept> {
                     return std::make_unique<KeptPlanner>(options, planner.folder, planner.secret, std::move(job));
                   }));
  ASSIGN_OR_RETURN(planner.contact, ParseContact(contact));
  return planner;
}

}  // namespace copse::run
