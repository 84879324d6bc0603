// SPDX-License-Identifier: Apache-2.0
//
// Makes the rows of a daemon's report, which planners keep and pass on to administrators encoded.
#ifndef COPSE_RPC_STATUS_REPORT_H_
#define COPSE_RPC_STATUS_REPORT_H_

#include <cstdint>
#include <string>

#include "protocol/control.h"

namespace copse::v1 {
class AccountRow;
}  // namespace copse::v1

namespace copse::rpc {

// Limits the bytes of each of a report's three kinds of rows.
inline constexpr uint32_t kReportRowsBytesMax = 1 << 20;

// Returns the report of a daemon with this status, without rows of a kind that are too long.
schedule::StatusReport ReportOf(schedule::DaemonStatus status);
// Returns whether the bytes are an encoded NodeStats.
bool AreRows(const std::string& rows);

void FillAccount(const schedule::AccountStatus& account, v1::AccountRow* row);

}  // namespace copse::rpc

#endif  // COPSE_RPC_STATUS_REPORT_H_
