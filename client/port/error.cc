// SPDX-License-Identifier: Apache-2.0

#include "client/port/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "client/port/log.h"

namespace copse::client {
namespace {

thread_local const char* current_call = nullptr;
thread_local char last_error[512] = "";
thread_local copse_status_t last_status = COPSE_OK;
thread_local FailureFacts last_facts;

copse_status_t FailFormatted(copse_status_t status, const FailureFacts& facts, const char* format, va_list arguments) {
  // The text is formatted in another buffer, since an argument may be the last error itself.
  char text[sizeof(last_error)];
  int length = snprintf(text, sizeof(text), "copse: %s: ", current_call == nullptr ? "library" : current_call);
  vsnprintf(text + length, sizeof(text) - static_cast<size_t>(length), format, arguments);
  for (char* c = text; *c != '\0'; ++c) {
    if (static_cast<unsigned char>(*c) < ' ' || *c == 127) *c = ' ';
  }
  memcpy(last_error, text, sizeof(text));
  last_status = status;
  last_facts = facts;
  // Callers that poll with short time-outs must not fill the log.
  Log(status == COPSE_ERR_TIMED_OUT ? LogLevel::kDebug : LogLevel::kError, "%s", last_error + strlen("copse: "));
  return status;
}

}  // namespace

CallScope::CallScope(const char* name) : outermost_(current_call == nullptr) {
  if (outermost_) current_call = name;
}

CallScope::~CallScope() {
  if (outermost_) current_call = nullptr;
}

bool IsCurrentCall(const char* name) { return current_call != nullptr && strcmp(current_call, name) == 0; }

copse_status_t Fail(copse_status_t status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  FailFormatted(status, UsualFacts(status), format, arguments);
  va_end(arguments);
  return status;
}

copse_status_t FailWith(copse_status_t status, const FailureFacts& facts, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  FailFormatted(status, facts, format, arguments);
  va_end(arguments);
  return status;
}

copse_status_t LastFailure(FailureFacts* facts) {
  *facts = last_facts;
  return last_status;
}

FailureFacts UsualFacts(copse_status_t status) {
  FailureFacts facts;
  facts.cause = static_cast<uint8_t>(UsualCause(static_cast<Failure>(-status)));
  return facts;
}

FailureFacts FactsOfNode(FailureCause cause, const char* node) {
  FailureFacts facts;
  facts.cause = static_cast<uint8_t>(cause);
  snprintf(facts.node, sizeof(facts.node), "%s", node);
  return facts;
}

const char* LastError() { return last_error; }

const char* StatusString(copse_status_t status) {
  // The texts are indexed by the negative of the status.
  static constexpr const char* kTexts[] = {
      "COPSE_OK: success",
      "COPSE_ERR_INVALID_ARGUMENT: invalid argument",
      "COPSE_ERR_NO_DAEMON: no daemon answers",
      "COPSE_ERR_VERSION: versions too far apart",
      "COPSE_ERR_NO_RESOURCE: a queue, pool or quota is exhausted",
      "COPSE_ERR_TIMED_OUT: the time is over",
      "COPSE_ERR_MEMBER_LOST: a member of the team was lost",
      "COPSE_ERR_MISMATCH: the ranks' arguments differ",
      "COPSE_ERR_CANCELED: canceled",
      "COPSE_ERR_NOT_SUPPORTED: not supported",
      "COPSE_ERR_NO_MEMORY: out of memory",
      "COPSE_ERR_PERMISSION: permission denied",
      "COPSE_ERR_INTERNAL: a fault of copse's own",
  };
  static_assert(std::size(kTexts) == 1 - COPSE_ERR_INTERNAL);
  if (status == COPSE_INPROGRESS) return "COPSE_INPROGRESS: not complete yet";
  return status <= 0 && status >= COPSE_ERR_INTERNAL ? kTexts[-status] : "unknown status";
}

copse_status_t StatusFromWire(int32_t value) {
  if (value > 0 || value < COPSE_ERR_INTERNAL) return COPSE_ERR_INTERNAL;
  return static_cast<copse_status_t>(value);
}

}  // namespace copse::client
