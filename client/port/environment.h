// SPDX-License-Identifier: Apache-2.0
//
// Reads libcopse's environment variables, which docs/reference/c-api.md lists.
#ifndef COPSE_CLIENT_PORT_ENVIRONMENT_H_
#define COPSE_CLIENT_PORT_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "client/port/log.h"

namespace copse::client {

struct Environment {
  std::string socket;     // COPSE_SOCKET, expanded; empty: the default places
  std::string job;        // COPSE_JOB, or the launcher's; may be empty
  double timeout_s = -1;  // COPSE_TIMEOUT; negative: no limit, also if it is 0, negative or infinite
  bool timeout_is_number = true;
  uint64_t copies_bytes = 0;  // COPSE_COPIES_MIB; 0: the default, also if it is no valid number
  LogLevel log_level = LogLevel::kNone;
  std::string log_file;  // COPSE_LOG_FILE, expanded
};

Environment ReadEnvironment();

// Replaces %h by the host name, %p by the process id and %% by %; other text stays.
std::string Expand(std::string_view pattern);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_ENVIRONMENT_H_
