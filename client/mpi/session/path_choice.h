// SPDX-License-Identifier: Apache-2.0
//
// By Copse or by MPI: the path that takes less time here and now. It is measured, since no model knows: a collective
// within a node may be one of memory that both ranks poll, or a daemon may be alone on an idle core.
#ifndef COPSE_CLIENT_MPI_SESSION_PATH_CHOICE_H_
#define COPSE_CLIENT_MPI_SESSION_PATH_CHOICE_H_

#include <array>
#include <cstdint>

namespace copse::mpi {

enum class Path : uint8_t { kCopse, kMpi };

// Time in calls by one path, and how many: of one rank, or of the one that took the longest.
struct PathTime {
  uint64_t ns = 0;
  uint64_t calls = 0;
};
struct PathTimes {
  PathTime copse, mpi;
  PathTime& of(Path path) { return path == Path::kCopse ? copse : mpi; }
};

// A PathChoice sends the calls of one kind (a collective, a class of lengths) on one communicator by the faster path,
// after STAR-MPI (Faraj, Yuan and Lowenthal, ICS 2006: measure and select, then monitor and adapt). It tries both, a
// few calls each, more if these do not decide; then all calls take the faster one. Sooner and later all look whether it
// is still as fast, and, if not or now and then, try a few calls of both, so few that they cost a hundredth at most.
//
// Each rank has its own, and all are equal but for the times: Count is called for the same calls everywhere, and where
// it returns true, Decide with the largest of all ranks' times: where some wait for one (a root), that one's calls are
// what the program's next step waits for.
class PathChoice {
 public:
  PathChoice();

  // The path of the next call.
  Path path() const { return path_; }
  // Returns whether it is to be measured beside the other path, or takes this one because it is faster.
  bool is_settled() const { return stage_ == Stage::kSettled; }

  // A call has taken so long. Returns true if all ranks are to decide before the next.
  [[nodiscard]] bool Count(uint64_t nanoseconds);
  // Since the last decision.
  const PathTimes& times() const { return times_; }
  // `copse_only`: for good.
  void Decide(const PathTimes& longest, bool copse_only);

 private:
  enum class Stage : uint8_t { kGlance, kShortTrial, kTrial, kSettled, kRecheck };

  void Measure(Stage stage, Path first, uint64_t calls);
  void DropSlowest();
  uint64_t TrialCalls(double most) const;
  void Settle(bool confirmed);
  void GoOn();
  Path Faster() const;
  double& mean(Path path) { return path == Path::kCopse ? copse_mean_ : mpi_mean_; }

  Stage stage_ = Stage::kGlance;
  Path path_ = Path::kCopse;
  bool is_last_part_ = false;  // of the stage
  // The first call after a change of path finds cold caches and sleeping processes, and is not counted.
  bool is_first_call_ = true;
  bool is_final_ = false;
  uint64_t part_calls_ = 0;  // without the first
  uint64_t left_ = 0;        // of them
  // The slowest calls of the part, ns. A call that was slow for a reason of its own (a rank was late, a plan was
  // fetched) does not count.
  std::array<uint64_t, 2> slowest_{};
  // After a choice has settled: calls to the next look at its time, and to the next recheck.
  uint64_t until_look_ = 0;
  uint64_t until_recheck_ = 0;
  double copse_mean_ = 0, mpi_mean_ = 0;  // ns, when last measured
  PathTimes times_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_PATH_CHOICE_H_
