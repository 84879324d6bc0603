// SPDX-License-Identifier: Apache-2.0
//
// Records who has changed what.
#ifndef COPSE_PLANNER_ADMIN_AUDIT_LOG_H_
#define COPSE_PLANNER_ADMIN_AUDIT_LOG_H_

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "rpc/audit.h"

namespace copse::planner {

// An AuditLog writes each change to the log, and keeps the last ones. Not thread-safe.
class AuditLog {
 public:
  static constexpr size_t kRecordsMax = 1000;

  // `log_file`: as configured; empty: standard error.
  explicit AuditLog(const std::string& log_file) : writer_(log_file) {}

  void Add(rpc::AuditRecord record) {
    writer_.Write(record);
    if (records_.size() == kRecordsMax) records_.pop_front();
    records_.push_back(std::move(record));
  }
  // Returns the last records, oldest first.
  const std::deque<rpc::AuditRecord>& records() const { return records_; }

 private:
  const rpc::AuditWriter writer_;
  std::deque<rpc::AuditRecord> records_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_AUDIT_LOG_H_
