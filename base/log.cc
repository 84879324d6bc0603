// SPDX-License-Identifier: Apache-2.0

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/string_view.h"

namespace copse {
namespace {

constexpr LogLevel kLevels[] = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError};

std::atomic<LogLevel> log_level = LogLevel::kInfo;

// The lock keeps the descriptor from being closed between a writer's read of it and its write.
constinit Mutex log_mutex;
int log_fd ABSL_GUARDED_BY(log_mutex) = STDERR_FILENO;
LogJournal log_journal ABSL_GUARDED_BY(log_mutex) = nullptr;

std::string& LogNode() ABSL_EXCLUSIVE_LOCKS_REQUIRED(log_mutex) {
  static auto* const node = new std::string();  // lines are written until the process is gone
  return *node;
}

// Escapes control characters.
void AppendPrintable(std::string_view text, std::string* line) {
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(line, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      line->push_back(c);
    }
  }
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the disk is full or the pipe closed: the error cannot be reported anywhere
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

absl::StatusOr<LogLevel> ParseLogLevel(std::string_view text) {
  for (const LogLevel level : kLevels) {
    if (absl::EqualsIgnoreCase(AbslView(text), AbslView(LogLevelName(level)))) return level;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("log level '", AbslView(text), "': unknown (debug, info, warning, error)"));
}

std::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      return "ERROR";
  }
  return "UNKNOWN";
}

void SetLogLevel(LogLevel level) { log_level.store(level, std::memory_order_relaxed); }

bool LogEnabled(LogLevel level) { return level >= log_level.load(std::memory_order_relaxed); }

absl::Status OpenLogFile(const std::string& path) {
  int fd = STDERR_FILENO;
  if (!path.empty()) {
    fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
    if (fd < 0) {
      const int error = errno;
      return absl::ErrnoToStatus(error, absl::StrCat("log file '", path, "'"));
    }
  }
  int old_fd;
  {
    MutexLock lock(&log_mutex);
    old_fd = log_fd;
    log_fd = fd;
  }
  if (old_fd != STDERR_FILENO) close(old_fd);
  return absl::OkStatus();
}

std::string FormatLogLine(absl::Time time, LogLevel level, std::string_view program, std::string_view text) {
  std::string line = absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()), " ",
                                  AbslView(LogLevelName(level)), " ", AbslView(program), ": ");
  AppendPrintable(text, &line);
  return line;
}

void SetLogJournal(LogJournal journal) {
  MutexLock lock(&log_mutex);
  log_journal = journal;
}

void SetLogNode(const std::string& node) {
  MutexLock lock(&log_mutex);
  LogNode() = node;
}

void WriteLog(LogLevel level, std::string_view text, const LogSubject& subject) {
  std::string line = FormatLogLine(absl::Now(), level, program_invocation_short_name, text);
  line.push_back('\n');
  MutexLock lock(&log_mutex);
  if (log_journal != nullptr && log_fd == STDERR_FILENO) {
    LogSubject about = subject;
    if (about.node.empty()) about.node = LogNode();
    std::string message;
    AppendPrintable(text, &message);
    if (log_journal(level, message, about)) return;
  }
  WriteAll(log_fd, line);
}

}  // namespace copse
