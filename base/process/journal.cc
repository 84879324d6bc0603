// SPDX-License-Identifier: Apache-2.0
#include "base/process/journal.h"

#include <errno.h>
#include <sys/uio.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/process/journal_stream.h"
#include "base/string_view.h"

namespace copse {
namespace {

int PriorityOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return LOG_DEBUG;
    case LogLevel::kInfo:
      return LOG_INFO;
    case LogLevel::kWarning:
      return LOG_WARNING;
    case LogLevel::kError:
      return LOG_ERR;
  }
  return LOG_ERR;
}

bool Send(LogLevel level, std::string_view text, const LogSubject& subject) {
  std::vector<std::string> fields = {absl::StrCat("PRIORITY=", PriorityOf(level)),
                                     absl::StrCat("MESSAGE=", AbslView(text)),
                                     absl::StrCat("SYSLOG_IDENTIFIER=", program_invocation_short_name)};
  if (!subject.team.empty()) fields.push_back(absl::StrCat("COPSE_TEAM=", subject.team));
  if (!subject.node.empty()) fields.push_back(absl::StrCat("COPSE_NODE=", subject.node));
  if (!subject.job.empty()) fields.push_back(absl::StrCat("COPSE_JOB=", subject.job));
  std::vector<iovec> parts;
  for (std::string& field : fields) parts.push_back({field.data(), field.size()});
  return sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

}  // namespace

void LogToJournal() {
  if (StderrIsJournal()) SetLogJournal(Send);
}

}  // namespace copse
