// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/progress.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/command_line/table.h"

namespace copse::ctl {
namespace {

constexpr absl::Duration kShowAgain = absl::Seconds(1);
constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

VerbProgress::VerbProgress(std::string verb, ProgressOutput output, absl::Duration patience)
    : verb_(std::move(verb)), output_(std::move(output)), patience_(patience) {}

VerbProgress::~VerbProgress() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(&mutex_);
    ends_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void VerbProgress::Note(std::string doing) {
  if (output_.write == nullptr) return;
  {
    const MutexLock lock(&mutex_);
    doing_ = std::move(doing);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { Show(); });
}

void VerbProgress::Show() {
  const absl::Time begun = absl::Now();
  absl::Time due = begun + patience_;
  bool is_shown = false;
  const MutexLock lock(&mutex_);
  while (!ends_) {
    const absl::Time now = absl::Now();
    if (now < due) {
      changed_.WaitFor(&mutex_, due - now);
      continue;
    }
    const std::string line = absl::StrCat("copsectl: ", verb_, ": ", cli::Printable(doing_), ", since ",
                                          cli::FormatSeconds(absl::ToInt64Seconds(now - begun)));
    output_.write(output_.terminal ? absl::StrCat(kClearLine, line) : absl::StrCat(line, "\n"));
    is_shown = true;
    due = output_.terminal ? now + kShowAgain : absl::InfiniteFuture();
  }
  if (is_shown && output_.terminal) output_.write(kClearLine);
}

}  // namespace copse::ctl
