// SPDX-License-Identifier: Apache-2.0
//
// Says on standard error what a verb that takes long is doing.
#ifndef COPSE_CLI_CTL_PROGRESS_H_
#define COPSE_CLI_CTL_PROGRESS_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace copse::ctl {

// A ProgressOutput is where progress is shown.
struct ProgressOutput {
  std::function<void(const std::string&)> write;  // called by another thread; null: it is not shown
  bool terminal = false;                          // lines can be replaced
};

// A VerbProgress shows one line once a verb has taken kPatience since its first Note: on a terminal with the newest
// note and anew every second, until the VerbProgress ends and the line is removed; elsewhere once. A verb without a
// note shows nothing. Thread-safe, but for its end.
class VerbProgress {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(2);

  VerbProgress(std::string verb, ProgressOutput output, absl::Duration patience = kPatience);
  ~VerbProgress();
  VerbProgress(const VerbProgress&) = delete;
  VerbProgress& operator=(const VerbProgress&) = delete;

  // Sets what the verb is doing: "measuring", "waiting (state=forming)".
  void Note(std::string doing);

 private:
  void Show();

  const std::string verb_;
  const ProgressOutput output_;
  const absl::Duration patience_;
  Mutex mutex_;
  CondVar changed_;
  std::string doing_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // runs from the first note on
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PROGRESS_H_
