// SPDX-License-Identifier: Apache-2.0
//
// libcopse's log: silent unless COPSE_LOG_LEVEL (error, warning, info, debug) asks, to standard error or
// COPSE_LOG_FILE. base/log.h is not used here as it brings Abseil into users' processes; the lines look alike.
#ifndef COPSE_CLIENT_PORT_LOG_H_
#define COPSE_CLIENT_PORT_LOG_H_

#include <string>

namespace copse::client {

enum class LogLevel { kNone = 0, kError, kWarning, kInfo, kDebug };

// Returns kNone for anything unknown.
LogLevel ParseLogLevel(const char* text);

// Applies to the whole process from now on. An empty path, or one that cannot be opened, means standard error.
void ConfigureLog(LogLevel level, const std::string& path);

// Writes one line by one write(2), if `level` is enabled. Thread-safe; keeps errno.
void Log(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_LOG_H_
