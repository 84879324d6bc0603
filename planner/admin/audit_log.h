// SPDX-License-Identifier: Apache-2.0
//
// Records who has changed what.
#ifndef COPSE_PLANNER_ADMIN_AUDIT_LOG_H_
#define COPSE_PLANNER_ADMIN_AUDIT_LOG_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace copse::planner {

struct AuditRecord {
  absl::Time time;      // when the call began
  std::string who;      // rpc::Principal::who
  std::string from;     // its address, or process
  std::string method;   // "DrainNode"
  std::string request;  // the call's arguments in one line
  absl::Status result;
  absl::Duration duration;
};

// Returns a request as one line of text, without line breaks. A long one is cut, and its bytes are counted. Fields of
// type bytes are counted only.
std::string DescribeRequest(const google::protobuf::Message& request);

// Returns the line that the log has for a record: "audit: operator/alice has called DrainNode ...".
std::string FormatAudit(const AuditRecord& record);

// An AuditLog writes a line for each change to the log, and keeps the last ones. Where standard error is the journal
// and the log has no file, a line has the fields COPSE_AUDIT, COPSE_WHO, COPSE_FROM, COPSE_METHOD and COPSE_RESULT.
// Not thread-safe.
class AuditLog {
 public:
  static constexpr size_t kRecordsMax = 1000;

  // `log_file`: as configured; empty: standard error.
  explicit AuditLog(const std::string& log_file);

  void Add(AuditRecord record);
  // Returns the last records, oldest first.
  const std::deque<AuditRecord>& records() const { return records_; }

 private:
  const bool to_journal_;
  std::deque<AuditRecord> records_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_AUDIT_LOG_H_
