// SPDX-License-Identifier: Apache-2.0
#include "base/process/journal.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
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

bool StderrIsJournal() {
  const char* const stream = getenv("JOURNAL_STREAM");
  struct stat status = {};
  return stream != nullptr && fstat(STDERR_FILENO, &status) == 0 &&
         stream == absl::StrCat(status.st_dev, ":", status.st_ino);
}

void LogToJournal() {
  if (StderrIsJournal()) SetLogJournal(Send);
}

}  // namespace copse
