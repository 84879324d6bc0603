// SPDX-License-Identifier: Apache-2.0
//
// Tells whether standard error leads to systemd's journal.
#ifndef COPSE_BASE_PROCESS_JOURNAL_STREAM_H_
#define COPSE_BASE_PROCESS_JOURNAL_STREAM_H_

namespace copse {

// Returns whether standard error leads to the journal, as systemd says in JOURNAL_STREAM. A program's child with
// another standard error inherits the variable, too.
bool StderrIsJournal();

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_JOURNAL_STREAM_H_
