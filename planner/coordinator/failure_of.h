// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_COORDINATOR_FAILURE_OF_H_
#define COPSE_PLANNER_COORDINATOR_FAILURE_OF_H_

#include <string>

#include "absl/status/status.h"
#include "planner/schedule/control.h"

namespace copse::coordinator {

// What a team's members are told of an error of the planner's own.
inline schedule::FailureReport FailureOf(const absl::Status& status) {
  using schedule::Failure;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return {Failure::kInvalidArgument, std::string(status.message())};
    case absl::StatusCode::kResourceExhausted:
      return {Failure::kNoResource, std::string(status.message())};
    case absl::StatusCode::kUnimplemented:
      return {Failure::kNotSupported, std::string(status.message())};
    default:
      return {Failure::kInternal, std::string(status.message())};
  }
}

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_FAILURE_OF_H_
