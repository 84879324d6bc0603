// SPDX-License-Identifier: Apache-2.0
//
// Maps codes of absl::Status to the failures that clients see.
#ifndef COPSE_BASE_FAILURE_OF_H_
#define COPSE_BASE_FAILURE_OF_H_

#include "absl/status/status.h"
#include "base/failure.h"

namespace copse {

// Returns the failure for a code. FAILED_PRECONDITION gives kVersion, since it comes from CheckVersion
// (base/version.h). Codes that are never returned to a client give kInternal.
constexpr Failure FailureOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return Failure::kNone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
      return Failure::kInvalidArgument;
    case absl::StatusCode::kUnavailable:
      return Failure::kNoDaemon;
    case absl::StatusCode::kFailedPrecondition:
      return Failure::kVersion;
    case absl::StatusCode::kResourceExhausted:
      return Failure::kNoResource;
    case absl::StatusCode::kDeadlineExceeded:
      return Failure::kTimedOut;
    case absl::StatusCode::kDataLoss:
      return Failure::kMemberLost;
    case absl::StatusCode::kCancelled:
      return Failure::kCanceled;
    case absl::StatusCode::kUnimplemented:
      return Failure::kNotSupported;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return Failure::kPermission;
    default:
      return Failure::kInternal;
  }
}

}  // namespace copse

#endif  // COPSE_BASE_FAILURE_OF_H_
