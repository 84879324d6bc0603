// SPDX-License-Identifier: Apache-2.0
//
// Chooses the faster path for calls, by Copse or by MPI, from measured times. A model could not: the times depend on
// how the MPI communicates within a node, and on the load of the daemon's core.
#ifndef COPSE_CLIENT_MPI_SESSION_PATH_CHOICE_H_
#define COPSE_CLIENT_MPI_SESSION_PATH_CHOICE_H_

#include <array>
#include <cstdint>

namespace copse::mpi {

enum class Path : uint8_t { kCopse, kMpi };

// A PathTime is the time that a rank has spent in calls by one path, and their number.
struct PathTime {
  uint64_t ns = 0;
  uint64_t calls = 0;
};
struct PathTimes {
  PathTime copse, mpi;
  PathTime& of(Path path) { return path == Path::kCopse ? copse : mpi; }
};
// PathMeans are the mean durations of a call of the slowest rank, ns. 0: not known.
struct PathMeans {
  double copse = 0, mpi = 0;
};

// A PathChoice chooses the path of the calls of one kind (a collective and a class of lengths) on one communicator,
// after STAR-MPI (Faraj, Yuan and Lowenthal, ICS 2006: measure and select, then monitor and adapt). It measures a few
// calls by each path, more if these do not decide; then all calls take the faster path. At growing intervals the ranks
// compare its times with the earlier ones. If it has become much slower, or after a longer time, they measure a few
// calls by both paths again, so rarely that this costs at most 1 % of the time.
//
// Each rank has one, and all make the same decisions: Count is called for the same calls on all ranks, and when it
// returns true, Decide is called on all with the times of the slowest rank. The slowest counts, since the others wait
// for it: a root, for example. Not thread-safe.
class PathChoice {
 public:
  PathChoice();

  // Returns the path of the next call.
  Path path() const { return path_; }
  // Returns whether the path was chosen as the faster one; false while both paths are measured.
  bool is_settled() const { return stage_ == Stage::kSettled; }
  // Returns the means of the latest calls that were measured by both paths, one path after the other. Later times of
  // the chosen path, which include waiting for late ranks, do not change them.
  const PathMeans& compared() const { return compared_; }

  // Adds the duration of a call. Returns true if all ranks have to call Decide before the next one.
  [[nodiscard]] bool Count(uint64_t nanoseconds);
  // Returns this rank's times since the last decision, without the calls that do not count.
  const PathTimes& times() const { return times_; }
  // Continues with the times of the slowest rank, which are equal on all ranks. If `copse_only`, all later calls take
  // Copse, without further measurements.
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
  bool is_last_part_ = false;  // the stage measures its second path
  // The first call after a change of path finds cold caches and sleeping processes, and is not counted.
  bool is_first_call_ = true;
  bool is_final_ = false;
  uint64_t part_calls_ = 0;  // calls by each path in this stage, without the first
  uint64_t left_ = 0;        // calls until this part, or the wait for the next decision, ends
  // slowest_ has the durations of the part's slowest calls, ns, longest first. They do not count, as other things may
  // have delayed them (a late rank, the fetching of a plan).
  std::array<uint64_t, 2> slowest_{};
  // These count the calls until the next comparison with earlier times, and until the next recheck, in kSettled.
  uint64_t until_look_ = 0;
  uint64_t until_recheck_ = 0;
  double copse_mean_ = 0, mpi_mean_ = 0;  // latest mean of the slowest rank, ns
  PathMeans compared_;
  PathTimes times_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_PATH_CHOICE_H_
