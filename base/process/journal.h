// SPDX-License-Identifier: Apache-2.0
//
// Sends the log to systemd's journal, with levels and fields.
#ifndef COPSE_BASE_PROCESS_JOURNAL_H_
#define COPSE_BASE_PROCESS_JOURNAL_H_

namespace copse {

// If standard error leads to the journal, lines of the log that would go there become its records from now on: PRIORITY
// by level, MESSAGE, SYSLOG_IDENTIFIER and, where a line concerns one, COPSE_TEAM, COPSE_NODE, COPSE_JOB.
void LogToJournal();

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_JOURNAL_H_
