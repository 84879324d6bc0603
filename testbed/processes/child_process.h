// SPDX-License-Identifier: Apache-2.0
//
// A program that runs beside its parent and never outlives it.
#ifndef COPSE_TESTBED_PROCESSES_CHILD_PROCESS_H_
#define COPSE_TESTBED_PROCESSES_CHILD_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace copse::procs {

struct ChildOptions {
  std::vector<std::string> arguments;              // the program's path first
  std::map<std::string, std::string> environment;  // beside our own, without COPSE*
  std::string stdin_file = "/dev/null";
  bool stdin_pipe = false;   // instead of stdin_file
  bool stdout_pipe = false;  // else standard output goes where standard error goes
  std::string log_file;      // appended to; empty: our own standard output and error
};

// A ChildProcess is started by Start and killed, if it still runs, by its destructor; when the thread that started it
// ends, the kernel kills it. It has a session of its own, like the processes of systemd or a launcher: a terminal's
// Ctrl-C does not reach it, and the kernel, which divides processors by session first (sched_autogroup), does not treat
// all of them as one program.
//
// Thread-compatible. Signals go through a pidfd, so they cannot reach another process with a reused number.
class ChildProcess {
 public:
  // Errors: NOT_FOUND and others of the system, naming the program or file.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // The descriptor is readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }
  // The reading end of its standard output, not blocking; -1 if there is none.
  int output() const { return output_.get(); }
  // Returns the next line of its standard output, without the line's end. OUT_OF_RANGE after the last one,
  // DEADLINE_EXCEEDED.
  absl::StatusOr<std::string> ReadLine(absl::Duration timeout);
  // Appends the further lines to `*lines` until the last one, and waits for its end. DEADLINE_EXCEEDED.
  absl::Status ReadToEnd(absl::Duration timeout, std::vector<std::string>* lines);
  // Writes to its standard input, which must be a pipe; waits while that is full. UNAVAILABLE if its read end is
  // closed.
  absl::Status Write(std::string_view text);
  // Ends its standard input, if that is a pipe.
  void CloseInput() { input_.reset(); }

  void Signal(int number);  // no-op if it has ended
  // Whether it has ended; never waits.
  bool Ended();
  // Returns DEADLINE_EXCEEDED if it still runs.
  absl::Status AwaitEnd(absl::Duration timeout);
  // Returns its exit code, or 128 plus the signal's number. Precondition: it has ended.
  int exit_code() const;
  std::string DescribeEnd() const;  // "exit code 3", "signal 9", "running"
  // Returns DescribeEnd() and the last line of its log file: "exit code 1: rank_copse: team: 1 of 32 ranks missing".
  std::string DescribeFailure() const;

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd, UniqueFd input, UniqueFd output, std::string log_file);

  const pid_t pid_;
  const UniqueFd pidfd_;
  UniqueFd input_;
  const UniqueFd output_;
  const std::string log_file_;
  std::string unread_;
  std::optional<int> wait_status_;
};

}  // namespace copse::procs

#endif  // COPSE_TESTBED_PROCESSES_CHILD_PROCESS_H_
