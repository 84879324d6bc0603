// SPDX-License-Identifier: Apache-2.0
//
// Sends the log to systemd's journal, with levels and fields.
#ifndef COPSE_BASE_PROCESS_JOURNAL_H_
#define COPSE_BASE_PROCESS_JOURNAL_H_

namespace copse {

// Returns whether standard error leads to the journal, as systemd says in JOURNAL_STREAM. A program's child with
// another standard error inherits the variable, too.
bool StderrIsJournal();

// If so, lines of the log that would go to standard error become records of the journal from now on: PRIORITY by level,
// MESSAGE, SYSLOG_IDENTIFIER and, where a line concerns one, COPSE_TEAM, COPSE_NODE, COPSE_JOB.
void LogToJournal();

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_JOURNAL_H_
