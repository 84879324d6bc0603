// SPDX-License-Identifier: Apache-2.0
//
// Programs that end with the process that has started them.
#ifndef COPSE_CLIENT_RUN_KEPT_PROGRAM_H_
#define COPSE_CLIENT_RUN_KEPT_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace copse::run {

UniqueFd PidFd(pid_t pid);
// Returns "" if the file cannot be read.
std::string ReadFile(const std::string& path);
// Returns the time left, in ms, as poll(2) wants it; 0 if the deadline has passed.
int TimeoutMs(absl::Time deadline);

// A KeptProgram is a planner or daemon that runs on whichever processors there are. The destructor ends it; so does the
// kernel when the thread that has made this ends. It writes its standard error to a log, and its --port-file once it is
// ready.
class KeptProgram {
 public:
  // Starts the program at `path`, whose files are in `folder`, with these settings (KEY=VALUE).
  KeptProgram(const std::string& path, const std::string& folder, const std::vector<std::string>& settings);
  KeptProgram(const KeptProgram&) = delete;
  KeptProgram& operator=(const KeptProgram&) = delete;
  ~KeptProgram();

  // Waits until the program is ready, and returns the content of its --port-file. UNAVAILABLE with its last words if
  // it has ended; UNAVAILABLE with the time after `patience`; CANCELLED if `cancel` is readable or hangs up before.
  absl::StatusOr<std::string> AwaitReady(absl::Duration patience, int cancel) const;
  // Readable once the program has ended.
  int fd() const { return fd_.get(); }

 private:
  absl::Status Ended() const;

  const std::string name_, folder_, log_, port_file_;
  UniqueFd changes_;  // inotify on the folder
  pid_t pid_ = -1;
  UniqueFd fd_;
};

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_KEPT_PROGRAM_H_
