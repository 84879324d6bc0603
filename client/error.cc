// SPDX-License-Identifier: Apache-2.0

#include "client/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "client/log.h"

namespace copse::client {
namespace {

thread_local const char* current_call = nullptr;
thread_local char last_error[512] = "";

}  // namespace

CallScope::CallScope(const char* name) : outermost_(current_call == nullptr) {
  if (outermost_) current_call = name;
}

CallScope::~CallScope() {
  if (outermost_) current_call = nullptr;
}

copse_status_t Fail(copse_status_t status, const char* format, ...) {
  // Composed aside, as an argument may be the last error itself.
  char text[sizeof(last_error)];
  int length = snprintf(text, sizeof(text), "copse: %s: ", current_call == nullptr ? "library" : current_call);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + length, sizeof(text) - static_cast<size_t>(length), format, arguments);
  va_end(arguments);
  for (char* c = text; *c != '\0'; ++c) {
    if (static_cast<unsigned char>(*c) < ' ' || *c == 127) *c = ' ';
  }
  memcpy(last_error, text, sizeof(text));
  // Time-outs are how some callers poll.
  Log(status == COPSE_ERR_TIMED_OUT ? LogLevel::kDebug : LogLevel::kError, "%s", last_error + strlen("copse: "));
  return status;
}

const char* LastError() { return last_error; }

const char* StatusString(copse_status_t status) {
  switch (status) {
    case COPSE_OK:
      return "COPSE_OK: success";
    case COPSE_INPROGRESS:
      return "COPSE_INPROGRESS: not complete yet";
    case COPSE_ERR_INVALID_ARGUMENT:
      return "COPSE_ERR_INVALID_ARGUMENT: invalid argument";
    case COPSE_ERR_NO_DAEMON:
      return "COPSE_ERR_NO_DAEMON: no daemon answers";
    case COPSE_ERR_VERSION:
      return "COPSE_ERR_VERSION: versions too far apart";
    case COPSE_ERR_NO_RESOURCE:
      return "COPSE_ERR_NO_RESOURCE: a queue, pool or quota is exhausted";
    case COPSE_ERR_TIMED_OUT:
      return "COPSE_ERR_TIMED_OUT: the time is over";
    case COPSE_ERR_MEMBER_LOST:
      return "COPSE_ERR_MEMBER_LOST: a member of the team was lost";
    case COPSE_ERR_MISMATCH:
      return "COPSE_ERR_MISMATCH: the ranks' arguments differ";
    case COPSE_ERR_CANCELED:
      return "COPSE_ERR_CANCELED: canceled";
    case COPSE_ERR_NOT_SUPPORTED:
      return "COPSE_ERR_NOT_SUPPORTED: not supported";
    case COPSE_ERR_NO_MEMORY:
      return "COPSE_ERR_NO_MEMORY: out of memory";
    case COPSE_ERR_PERMISSION:
      return "COPSE_ERR_PERMISSION: permission denied";
    case COPSE_ERR_INTERNAL:
      return "COPSE_ERR_INTERNAL: a fault of copse's own";
  }
  return "unknown status";
}

copse_status_t StatusFromWire(int32_t value) {
  if (value > 0 || value < COPSE_ERR_INTERNAL) return COPSE_ERR_INTERNAL;
  return static_cast<copse_status_t>(value);
}

}  // namespace copse::client
