// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/report.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "client/mpi/api/output_line.h"
#include "client/mpi/session/early_verdict.h"
#include "client/mpi/session/run_verdict.h"
#include "client/mpi/session/statistics.h"
#include "client/mpi/session/statistics_json.h"

namespace copse::mpi {
namespace {

constexpr mode_t kFileMode = 0666;  // less the umask

bool Write(int file, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t bytes = write(file, text.data() + written, text.size() - written);
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) written += static_cast<size_t>(bytes);
  }
  return true;
}

void WriteFile(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  bool is_written = file >= 0 && Write(file, text);
  int why = errno;
  if (file >= 0 && close(file) != 0 && is_written) {
    is_written = false;
    why = errno;
  }
  if (!is_written) PrintLine("statistics: cannot write the file: %s (file=%s)", strerror(why), path.c_str());
}

}  // namespace

void Report(const RunFigures& figures, const Settings& settings, uint64_t worth_ns) {
  const RunVerdict verdict = VerdictOf(figures, settings, worth_ns);
  const std::string json = JsonOf(figures, verdict) + "\n";
  if (!settings.stats_file.empty()) WriteFile(settings.stats_file, json);
  if (settings.stats == Settings::StatsForm::kJson) Write(STDERR_FILENO, json);
  if (settings.stats != Settings::StatsForm::kText) return;
  PrintFigures(figures);
  PrintLine("verdict: %s", verdict.text.c_str());
  if (figures.early.has_value()) PrintLine("verdict of T-NBC: %s", VerdictOf(*figures.early).c_str());
}

}  // namespace copse::mpi
