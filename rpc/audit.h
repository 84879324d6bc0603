// SPDX-License-Identifier: Apache-2.0
//
// Writes who has changed what.
#ifndef COPSE_RPC_AUDIT_H_
#define COPSE_RPC_AUDIT_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace copse::rpc {

struct AuditRecord {
  absl::Time time;      // when the call began
  std::string who;      // Principal::who
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

// An AuditWriter writes a line for each change to the log. Where standard error is the journal and the log has no file,
// a line has the fields COPSE_AUDIT, COPSE_WHO, COPSE_FROM, COPSE_METHOD and COPSE_RESULT. Thread-safe.
class AuditWriter {
 public:
  // `log_file`: as configured; empty: standard error.
  explicit AuditWriter(const std::string& log_file);

  void Write(const AuditRecord& record) const;

 private:
  const bool to_journal_;
};

}  // namespace copse::rpc

#endif  // COPSE_RPC_AUDIT_H_
