// SPDX-License-Identifier: Apache-2.0
//
// Writes libcopse's log, if COPSE_LOG_LEVEL (error, warning, info, debug) is set, to standard error or COPSE_LOG_FILE.
// base/log.h is not used, since it would bring Abseil into users' processes; the format of lines is the same.
#ifndef COPSE_CLIENT_PORT_LOG_H_
#define COPSE_CLIENT_PORT_LOG_H_

#include <string>

namespace copse::client {

enum class LogLevel { kNone = 0, kError, kWarning, kInfo, kDebug };

// Ignores case. Returns kNone for null and for an unknown name.
LogLevel ParseLogLevel(const char* text);

// Sets level and file for the whole process. An empty path, or one that cannot be opened, means standard error.
// Thread-safe.
void ConfigureLog(LogLevel level, const std::string& path);

// Writes one line, of at most 768 bytes, by one write(2) if `level` is enabled. Thread-safe; keeps errno.
void Log(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_LOG_H_
