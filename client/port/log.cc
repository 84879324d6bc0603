// SPDX-License-Identifier: Apache-2.0

#include "client/port/log.h"

#include <fcntl.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace copse::client {
namespace {

constexpr const char* kNames[] = {"none", "error", "warning", "info", "debug"};

std::atomic<LogLevel> enabled{LogLevel::kNone};
std::atomic<int> log_fd{STDERR_FILENO};

}  // namespace

LogLevel ParseLogLevel(const char* text) {
  for (int level = 0; text != nullptr && level <= static_cast<int>(LogLevel::kDebug); ++level) {
    if (strcasecmp(text, kNames[level]) == 0) return static_cast<LogLevel>(level);
  }
  return LogLevel::kNone;
}

void ConfigureLog(LogLevel level, const std::string& path) {
  static std::mutex mutex;
  static int file = -1;
  std::lock_guard<std::mutex> lock(mutex);
  const int opened = level == LogLevel::kNone || path.empty()
                         ? -1
                         : open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (opened >= 0 && file < 0) {
    file = opened;
  } else if (opened >= 0) {
    // Another thread may be writing to the descriptor, so it is not closed but made to refer to the new file.
    dup3(opened, file, O_CLOEXEC);
    close(opened);
  }
  // Relaxed: the two are read independently of each other.
  log_fd.store(opened >= 0 ? file : STDERR_FILENO, std::memory_order_relaxed);
  enabled.store(level, std::memory_order_relaxed);
}

void Log(LogLevel level, const char* format, ...) {
  if (level > enabled.load(std::memory_order_relaxed)) return;
  const int saved_errno = errno;
  char line[768];
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  size_t length = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &parts);
  char name[12] = "";
  for (int i = 0; kNames[static_cast<int>(level)][i] != '\0'; ++i) {
    name[i] = static_cast<char>(kNames[static_cast<int>(level)][i] - 'a' + 'A');
  }
  length +=
      static_cast<size_t>(snprintf(line + length, sizeof(line) - length,
                                   ".%06ldZ %s libcopse[%d]: ", now.tv_nsec / 1000, name, static_cast<int>(getpid())));
  va_list arguments;
  va_start(arguments, format);
  const int text = vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
  va_end(arguments);
  if (text > 0) length += strnlen(line + length, sizeof(line) - length - 1);
  line[length++] = '\n';
  [[maybe_unused]] const ssize_t written = write(log_fd.load(std::memory_order_relaxed), line, length);
  errno = saved_errno;
}

}  // namespace copse::client
