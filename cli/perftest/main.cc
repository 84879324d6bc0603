// SPDX-License-Identifier: Apache-2.0
//
// copse-perftest measures the costs of a cluster's collectives for their callers.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/string_view.h"
#include "cli/perftest/computation.h"
#include "cli/perftest/local.h"
#include "cli/perftest/measurement.h"
#include "cli/perftest/options.h"
#include "cli/perftest/report.h"
#include "cli/perftest/session.h"

namespace copse::perftest {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kBadUsage = 2, kNoDaemon = 3, kTimedOut = 4 };

Outcome Failure(const Options& options, const absl::Status& status) {
  const int code = absl::IsUnavailable(status) ? kNoDaemon : absl::IsDeadlineExceeded(status) ? kTimedOut : kFailed;
  return {code, absl::StrCat("rank ", options.member.rank, ": ", status.message())};
}

bool Print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

// Run measures all cells as one rank. Only rank 0 prints.
class Run {
 public:
  Run(const Options& options, Session* session)
      : options_(options),
        session_(session),
        report_(Report::Make(&options, {session->ranks(), session->nodes(), session->ranks_per_node()})) {
    if (options.mode == Mode::kOverlap) computation_ = std::make_unique<Computation>();
  }

  Outcome Go() {
    for (const Collective collective : options_.collectives) {
      if (!Say(report_->Heading(collective))) return CannotPrint();
      for (const uint64_t count : HasData(collective) ? options_.counts : std::vector<uint64_t>{0}) {
        const absl::StatusOr<Cell> cell = Measure(session_, options_, collective, count, computation_.get());
        if (!cell.ok()) return Failure(options_, cell.status());
        if (!Say(report_->Row(*cell))) return CannotPrint();
        Judge(*cell);
      }
    }
    return worst_;
  }

 private:
  bool Say(const std::string& text) { return options_.member.rank != 0 || Print(text); }
  static Outcome CannotPrint() { return {kFailed, absl::StrCat("cannot write results: ", std::strerror(errno))}; }

  // The first cell with wrong data determines the outcome; without one, the first refused cell does.
  void Judge(const Cell& cell) {
    const std::string where =
        absl::StrCat("collective=", AbslView(CollectiveName(cell.collective)), ", count=", cell.count);
    if (cell.errors.value_or(0) > 0 && !wrong_) {
      wrong_ = true;
      Fail(absl::StrCat("wrong data (", where, ", elements=", *cell.errors, ", rank=", cell.first_rank_with_errors,
                        ")"));
    }
    if (!cell.refused.empty() && worst_.exit_code == kDone) {
      Fail(absl::StrCat("refused: ", cell.refused, " (", where, ")"));
    }
  }
  void Fail(const std::string& error) { worst_ = {kFailed, options_.member.rank == 0 ? error : ""}; }

  const Options& options_;
  Session* const session_;
  const std::unique_ptr<Report> report_;
  std::unique_ptr<Computation> computation_;
  Outcome worst_;
  bool wrong_ = false;
};

// Keeps a rank that timed out alive for another time-out. Its end breaks the team, so ranks that reach their own
// time-outs later would fail with kFailed instead of kTimedOut. With --local there is no need to wait: RunLocally gives
// time-outs precedence.
void LetOthersTimeOut(const Options& options) {
  if (options.local == 0 && options.member.timeout_s.has_value())
    absl::SleepFor(absl::Seconds(*options.member.timeout_s));
}

Outcome RunRank(const Options& options) {
  const auto session = Session::Join(options);
  if (!session.ok()) return Failure(options, session.status());
  Outcome outcome = Run(options, session->get()).Go();
  if (outcome.exit_code == kTimedOut) LetOthersTimeOut(options);
  return outcome;
}

Outcome RunProgram(const std::vector<std::string>& arguments) {
  const auto line = ParseCommandLine(arguments, [](const char* name) { return std::getenv(name); });
  if (!line.ok()) return {kBadUsage, std::string(line.status().message())};
  if (line->answer.has_value()) {
    if (Print(*line->answer)) return {};
    return {kFailed, absl::StrCat("cannot write the answer: ", std::strerror(errno))};
  }
  if (line->options.local == 0) return RunRank(line->options);
  return RunLocally(line->options.local, [&](uint32_t rank) {
    Options options = line->options;
    options.member.rank = rank;
    return RunRank(options);
  });
}

}  // namespace
}  // namespace copse::perftest

int main(int argc, char** argv) {
  const copse::perftest::Outcome outcome = copse::perftest::RunProgram(std::vector<std::string>(argv + 1, argv + argc));
  if (!outcome.error.empty()) std::fprintf(stderr, "copse-perftest: %s\n", outcome.error.c_str());
  return outcome.exit_code;
}
