// SPDX-License-Identifier: Apache-2.0
//
// Defines macros that return errors of absl::Status from the enclosing function.

#ifndef COPSE_BASE_STATUS_MACROS_H_
#define COPSE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expr` from the enclosing function unless it is OK.
//
//   RETURN_IF_ERROR(Open(path));
#define RETURN_IF_ERROR(expr)                                          \
  do {                                                                 \
    ::absl::Status copse_status_ = (expr);                             \
    if (ABSL_PREDICT_FALSE(!copse_status_.ok())) return copse_status_; \
  } while (false)

// Evaluates `expr`, a StatusOr. Returns its status from the enclosing function unless it is OK; else moves its value
// into `lhs`, which may declare a variable. It cannot be the only statement of an `if` without braces.
//
//   ASSIGN_OR_RETURN(const Plan plan, Decode(bytes));
#define ASSIGN_OR_RETURN(lhs, ...) COPSE_ASSIGN_OR_RETURN_(COPSE_CONCAT_(copse_statusor_, __LINE__), lhs, (__VA_ARGS__))

#define COPSE_ASSIGN_OR_RETURN_(statusor, lhs, expr)                           \
  auto statusor = (expr);                                                      \
  if (ABSL_PREDICT_FALSE(!statusor.ok())) return std::move(statusor).status(); \
  lhs = *std::move(statusor)

#define COPSE_CONCAT_(a, b) COPSE_CONCAT_INNER_(a, b)
#define COPSE_CONCAT_INNER_(a, b) a##b

#endif  // COPSE_BASE_STATUS_MACROS_H_
