// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/run_verdict.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "client/mpi/session/sentence.h"

namespace copse::mpi {
namespace {

using Outcome = RunVerdict::Outcome;

// Times that differ by less than this share are alike: PathChoice takes Copse though it is as much slower, and the
// times of a few calls are no more exact.
constexpr double kAlike = 0.05;

// Returns when a communicator gets a team, and what gives it one sooner.
std::string TeamSooner(const Settings& settings, uint64_t worth_ns) {
  const std::string after = Sentence("a communicator gets a team after ", settings.calls_before_of_world,
                                     " calls of MPI_COMM_WORLD, ", settings.calls_before, " of another");
  if (!settings.weighs_teams) return after + "; try a smaller --calls-before";
  return Sentence(after, ", which have to take ", TimeText(worth_ns),
                  "; try copse-run --offload all, or --calls-before 4");
}

// Returns what to try if calls went to MPI for this reason.
std::string Remedy(Reason reason, const Settings& settings, uint64_t worth_ns) {
  switch (reason) {
    case Reason::kFirstCalls:
      return TeamSooner(settings, worth_ns);
    case Reason::kNoLibrary:
      return "copse-run stands before the launcher, and no script may remove LD_PRELOAD";
    case Reason::kNoDaemons:
      return "try copse-run --daemons, or copsectl node list";
    case Reason::kNoTeam:
      return "try copsectl doctor";
    case Reason::kOneRank:
      return "a communicator of one rank has nothing to offload";
    default:
      return "mpi.md, \"What is not offloaded\", tells more";
  }
}

std::string NothingOffloaded(const RunFigures& figures, const Settings& settings, uint64_t worth_ns) {
  std::array<uint64_t, static_cast<size_t>(Reason::kCount)> passed{};
  uint64_t calls = 0, took_ns = 0;
  for (const CollectiveFigures& row : figures.collectives) {
    for (size_t reason = 0; reason < passed.size(); ++reason) passed[reason] += row.passed[reason];
    calls += row.all_passed();
    took_ns += row.passed_ns;
  }
  const auto* const most = std::max_element(passed.begin(), passed.end());
  const auto reason = static_cast<Reason>(most - passed.begin());
  return Sentence("nothing was offloaded: MPI made all calls, in ", TimeText(took_ns), " (calls=", calls, ", ",
                  NameOf(reason), "=", *most, "): ", Remedy(reason, settings, worth_ns));
}

std::string NotMeasured(const RunVerdict& verdict, const Settings& settings) {
  return Sentence("Copse made ", verdict.offloaded, " of ", verdict.calls, " calls, in ",
                  TimeText(verdict.offloaded_ns), "; what MPI would have taken was not measured (calls=", verdict.calls,
                  ", offloaded=", verdict.offloaded, ", compared=0): ",
                  settings.chooses_path ? "these always go to Copse, or were too few; compare run times"
                                        : "--offload all sends all to Copse; without it both ways are timed");
}

// Returns what the run has saved of MPI's time; < 0: it took longer.
double SavedNs(const RunVerdict& verdict) {
  return static_cast<double>(verdict.by_copse.mpi_ns) - static_cast<double>(verdict.by_copse.copse_ns);
}
double SavedShare(const RunVerdict& verdict) {
  const double by_mpi_alone = static_cast<double>(verdict.by_copse.mpi_ns) + static_cast<double>(verdict.by_mpi.mpi_ns);
  return by_mpi_alone > 0 ? SavedNs(verdict) / by_mpi_alone : 0;
}

std::string Headline(const RunVerdict& verdict) {
  if (verdict.outcome == Outcome::kFaster) return "Copse saved about " + TimeText(SavedNs(verdict));
  if (verdict.outcome == Outcome::kSlower) return "Copse cost about " + TimeText(-SavedNs(verdict));
  return "Copse made no difference";
}

std::string Compared(const RunVerdict& verdict, uint64_t timed) {
  const ComparedCalls &by_copse = verdict.by_copse, &by_mpi = verdict.by_mpi;
  std::string text = Sentence(Headline(verdict), ": its ", verdict.offloaded, " calls took this rank ",
                              TimeText(verdict.offloaded_ns), "; of those timed both ways, ");
  if (by_copse.calls > 0) {
    text += Sentence(by_copse.calls, " took the slowest rank ", TimeText(by_copse.copse_ns), " instead of MPI's ",
                     TimeText(by_copse.mpi_ns));
  }
  if (by_copse.calls > 0 && by_mpi.calls > 0) text += ", and ";
  if (by_mpi.calls > 0) {
    text += Sentence(by_mpi.calls, " went by MPI in ", TimeText(by_mpi.mpi_ns), " instead of Copse's ",
                     TimeText(by_mpi.copse_ns));
  }
  return Sentence(text, " (calls=", verdict.calls, ", offloaded=", verdict.offloaded,
                  ", compared=", by_copse.calls + by_mpi.calls, ", ", NameOf(Reason::kTrial), "=", timed,
                  ", saved=", std::lround(100 * SavedShare(verdict)), "%)");
}

// Returns what to try after calls were compared; "" if nothing suggests itself.
std::string Advice(const RunVerdict& verdict, const Settings& settings, uint64_t first_calls) {
  if (2 * first_calls > verdict.calls) {
    return Sentence("; most calls came before there was a team (first calls=", first_calls, "): try ",
                    settings.weighs_teams ? "--calls-before 4" : "a smaller --calls-before");
  }
  const bool prefers_mpi = verdict.by_mpi.calls > verdict.by_copse.calls;
  if (verdict.outcome == Outcome::kSlower) {
    return prefers_mpi ? "; measuring costs so much in short runs only; try without copse-run"
                       : "; try without copse-run";
  }
  return verdict.outcome == Outcome::kAlike && prefers_mpi ? "; MPI alone suits most of these calls" : "";
}

Outcome OutcomeOf(const RunVerdict& verdict) {
  if (verdict.calls == 0) return Outcome::kNoCalls;
  if (verdict.offloaded == 0) return Outcome::kNotOffloaded;
  if (verdict.by_copse.calls + verdict.by_mpi.calls == 0) return Outcome::kNotMeasured;
  const double saved = SavedShare(verdict);
  if (std::abs(saved) <= kAlike) return Outcome::kAlike;
  return saved > 0 ? Outcome::kFaster : Outcome::kSlower;
}

}  // namespace

RunVerdict VerdictOf(const RunFigures& figures, const Settings& settings, uint64_t worth_ns) {
  RunVerdict verdict;
  uint64_t first_calls = 0, timed = 0;
  for (const CollectiveFigures& row : figures.collectives) {
    verdict.calls += row.offloaded + row.all_passed();
    verdict.offloaded += row.offloaded;
    verdict.offloaded_ns += row.offloaded_ns;
    verdict.by_copse.Add(row.by_copse);
    verdict.by_mpi.Add(row.by_mpi);
    first_calls += row.passed[static_cast<size_t>(Reason::kFirstCalls)];
    timed += row.passed[static_cast<size_t>(Reason::kTrial)];
  }
  verdict.outcome = OutcomeOf(verdict);
  switch (verdict.outcome) {
    case Outcome::kNoCalls:
      verdict.text = "there was nothing to offload (calls=0)";
      break;
    case Outcome::kNotOffloaded:
      verdict.text = NothingOffloaded(figures, settings, worth_ns);
      break;
    case Outcome::kNotMeasured:
      verdict.text = NotMeasured(verdict, settings);
      break;
    default:
      verdict.text = Compared(verdict, timed) + Advice(verdict, settings, first_calls);
  }
  return verdict;
}

const char* NameOf(Outcome outcome) {
  static constexpr const char* kNames[] = {"no-calls", "not-offloaded", "not-measured", "faster", "alike", "slower"};
  static_assert(std::size(kNames) == static_cast<size_t>(Outcome::kSlower) + 1);
  return kNames[static_cast<size_t>(outcome)];
}

}  // namespace copse::mpi
