// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/progress.h"

#include <string>

#include "base/mutex.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

// Shown gathers what is written.
class Shown {
 public:
  ProgressOutput Output(bool terminal) {
    return {.write =
                [this](const std::string& text) {
                  const MutexLock lock(&mutex_);
                  text_ += text;
                  ++writes_;
                  written_.NotifyAll();
                },
            .terminal = terminal};
  }
  // Waits until there were so many writes, and returns all text.
  std::string Await(int writes) {
    const MutexLock lock(&mutex_);
    while (writes_ < writes) written_.Wait(&mutex_);
    return text_;
  }
  std::string text() {
    const MutexLock lock(&mutex_);
    return text_;
  }

 private:
  Mutex mutex_;
  CondVar written_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  int writes_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(ProgressTest, WhatTakesLongSaysSoOnce) {
  Shown shown;
  {
    VerbProgress progress("team wait", shown.Output(/*terminal=*/false), absl::Milliseconds(1));
    progress.Note("waiting (state=form\x1bing)");
    EXPECT_EQ(shown.Await(1), "copsectl: team wait: waiting (state=form?ing), since 0 s\n");
    progress.Note("waiting (state=ready)");
  }
  EXPECT_EQ(shown.text(), "copsectl: team wait: waiting (state=form?ing), since 0 s\n");
}

TEST(ProgressTest, ATerminalHasTheNewestNoteUntilTheEnd) {
  Shown shown;
  {
    VerbProgress progress("trace", shown.Output(/*terminal=*/true), absl::Milliseconds(1));
    progress.Note("one");
    EXPECT_EQ(shown.Await(1), "\r\x1b[Kcopsectl: trace: one, since 0 s");
    progress.Note("two");
    EXPECT_NE(shown.Await(2).find("\r\x1b[Kcopsectl: trace: two, since "), std::string::npos) << shown.text();
  }
  EXPECT_TRUE(shown.text().ends_with(" s\r\x1b[K")) << shown.text();
}

TEST(ProgressTest, WhatIsSoonDoneSaysNothing) {
  Shown shown;
  {
    VerbProgress none("trace", shown.Output(true), absl::ZeroDuration());
    VerbProgress soon("trace", shown.Output(true), absl::Hours(1));
    soon.Note("one");
    VerbProgress unseen("trace", {}, absl::ZeroDuration());
    unseen.Note("one");
  }
  EXPECT_EQ(shown.text(), "");
}

}  // namespace
}  // namespace copse::ctl
