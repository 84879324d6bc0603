// SPDX-License-Identifier: Apache-2.0
//
// Writes the log, one line per event, to standard error, a file or the system's journal.
//
//   COPSE_LOG(kWarning, "node ", name, " is silent for ", silence_ms, " ms");
//   2026-01-31T12:00:00.123456Z WARNING copsed: node n3 is silent for 10000 ms
//
// All functions are thread-safe. A line is one write(2), unless the kernel writes only a part of it, so lines of
// several processes in one file do not mix.

#ifndef COPSE_BASE_LOG_H_
#define COPSE_BASE_LOG_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace copse {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

// Parses "debug", "info", "warning" or "error", in any case.
absl::StatusOr<LogLevel> ParseLogLevel(std::string_view text);
std::string_view LogLevelName(LogLevel level);

// A LogSubject tells what a line concerns, for readers that select lines; empty: nothing of that kind.
struct LogSubject {
  std::string team;  // its id
  std::string node;
  std::string job;
};

// A LogJournal stores lines as records with fields. Returns false if it cannot store this one.
using LogJournal = bool (*)(LogLevel level, std::string_view text, const LogSubject& subject);
// Lines that would be written to standard error go to `journal` instead, and as before if it cannot store them.
// `journal` is thread-safe; null: none.
void SetLogJournal(LogJournal journal);
// Lines that name no node concern this one from now on.
void SetLogNode(const std::string& node);

// Drops lines below `level` from now on. The default is kInfo.
void SetLogLevel(LogLevel level);
bool LogEnabled(LogLevel level);

// Appends to the file `path` from now on, which is created with mode 0640 if it is missing; an empty path means
// standard error, the default. A call with the same path after the file was rotated reopens it. On an error, which has
// the code for errno, the log is not moved.
absl::Status OpenLogFile(const std::string& path);

// Returns the line that the log writes, without its newline. Control characters in `text`, which may come from a
// peer, are escaped.
std::string FormatLogLine(absl::Time time, LogLevel level, std::string_view program, std::string_view text);

// Writes a line whether its level is enabled or not; use COPSE_LOG and COPSE_LOG_ABOUT.
void WriteLog(LogLevel level, std::string_view text, const LogSubject& subject = {});

}  // namespace copse

// Logs the absl::StrCat of the arguments after `level` (kDebug, kInfo, kWarning, kError); they are
// evaluated only if the level is enabled.
#define COPSE_LOG(level, ...)                                                   \
  do {                                                                          \
    if (::copse::LogEnabled(::copse::LogLevel::level)) {                        \
      ::copse::WriteLog(::copse::LogLevel::level, ::absl::StrCat(__VA_ARGS__)); \
    }                                                                           \
  } while (false)

// Does the same for a line that concerns `subject`, a LogSubject, which is evaluated only then, too.
#define COPSE_LOG_ABOUT(level, subject, ...)                                             \
  do {                                                                                   \
    if (::copse::LogEnabled(::copse::LogLevel::level)) {                                 \
      ::copse::WriteLog(::copse::LogLevel::level, ::absl::StrCat(__VA_ARGS__), subject); \
    }                                                                                    \
  } while (false)

#endif  // COPSE_BASE_LOG_H_
