// SPDX-License-Identifier: Apache-2.0
//
// What Copse keeps with a communicator: how many collective calls it has seen, and its team.
#ifndef COPSE_CLIENT_MPI_SESSION_COMMUNICATOR_H_
#define COPSE_CLIENT_MPI_SESSION_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/collective_calls.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/path_choice.h"
#include "client/mpi/session/session.h"
#include "client/mpi/session/statistics.h"
#include "client/mpi/session/team_formation.h"
#include "client/tnbc/team_calls.h"
#include "client/tnbc/trace/trace_file.h"

namespace copse::mpi {

// A Communicator is an attribute of the program's communicator, made at its first collective call; MPI deletes it with
// the communicator; then it lasts until the calls that go on are over. Calls follow Enter (Fail)?
// for each collective call of the communicator, in the program's order, which is the same on all ranks.
class Communicator {
 public:
  // Returns the object of `comm`, which is not MPI_COMM_NULL. Returns null if MPI refuses attributes.
  static Communicator* Of(MPI_Comm comm);

  // Counts a call, the same one on all ranks. When it has seen as many as make a team worth its while, all ranks form
  // it, together, at the next call that may wait for others; if that fails, they try again later. Returns kNone if the
  // call goes to the team, else why it goes to MPI.
  Reason Enter(Session* session, bool may_wait);

  // Returns whether a call's time decides on something, by what Enter has returned.
  bool WantsTimeOf(const Session& session, Reason reason) const {
    if (reason == Reason::kNone) return session.settings.chooses_path;
    return reason == Reason::kFirstCalls && session.settings.weighs_teams;
  }
  // How long a call took that Enter sent to MPI for its communicator's first calls.
  void CountFirst(uint64_t nanoseconds) { first_ns_ += nanoseconds; }
  // What forming teams has taken since this was asked last, ns.
  uint64_t TakeFormingTime() { return std::exchange(forming_ns_, 0); }

  // Returns whether a reduction whose result depends on the order may go to the team. When teams are weighed, time
  // tells when there is one, but such a result must not: it is the same in every run.
  bool MaySend(const Offload& offload) const;

  // Returns whether an error ends the job, so that no rank waits by MPI for a rank that got one and has gone elsewhere.
  bool EndsOnErrors() const;

  // Returns whether errors ended the job on all ranks when they last compared. If not, no call goes by MPI that the
  // team can make.
  bool all_end_on_errors() const { return all_end_on_errors_; }
  // A rank handles errors itself by now. Called on all ranks before the same call.
  void SetHandlesErrors() { all_end_on_errors_ = false; }

  // The choice for blocking calls of this kind; null if such calls always go to the team.
  PathChoice* ChoiceOf(const Session& session, const Offload& offload);

  // A team for one persistent call, which all ranks form together. Returns null if there is none, on all ranks.
  copse_team_t* FormPersistentTeam(Session* session);

  // A second team of the same ranks, for fragments of calls, which a thread of its own posts. Formed by all
  // together, once; false if that has failed, on all ranks.
  bool FormStream(Session* session);
  copse_team_t* stream() const { return stream_; }

  // How calls are fragmented; `node`: a hash of this rank's node, equal for ranks of one node.
  tnbc::TeamCalls* DividedCalls(uint64_t node);
  // What asynchronous calls of this kind cost; after DividedCalls.
  tnbc::CallKind* AsyncKindOf(const Offload& offload);
  // The same, as traces and profiles have it.
  tnbc::TraceKind DescribeKind(const Offload& offload);

  // Remembers that a call has failed after it had returned. Thread-safe; allocates nothing.
  void NoteLateFailure(copse_status_t status) { late_failure_.store(status, std::memory_order_relaxed); }
  // Returns such a failure once.
  copse_status_t TakeLateFailure() {
    if (late_failure_.load(std::memory_order_relaxed) == COPSE_OK) return COPSE_OK;
    return static_cast<copse_status_t>(late_failure_.exchange(COPSE_OK, std::memory_order_relaxed));
  }

  // A call has failed on this rank alone, before it began: the others' next call is not this rank's next one, so all of
  // its calls fail from here on. Thread-safe.
  void SetOutOfStep() { is_out_of_step_.store(true, std::memory_order_relaxed); }
  bool is_out_of_step() const { return is_out_of_step_.load(std::memory_order_relaxed); }

  // A call that goes on after the program's call retains the object. Thread-safe.
  void Retain() { uses_.fetch_add(1, std::memory_order_relaxed); }
  void Release();

  // Reports a failure of the team's to the program: the text on standard error, the first time, and a code through
  // the communicator's error handler, or MPI_COMM_WORLD's if it was freed. Returns what the call returns, if the
  // handler lets it.
  int Fail(const char* function, copse_status_t status, const char* text);

  // Reports what the program may not do, as MPI would.
  int Refuse(const char* function, int error, const char* why);

  copse_team_t* team() const { return team_; }
  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  Membership membership() const { return {rank_, size_}; }

 private:
  friend void StartCommunicators();

  explicit Communicator(MPI_Comm comm);
  ~Communicator() = default;
  bool IsWorthTeam(Session* session) const;
  void FormTeam(Session* session);
  // A team of its ranks; `team` is null if there is none.
  FormedTeam Form(Session* session, const char* name, bool flag = false);
  int CallErrorHandler(int error);
  bool IsOfThisJob() const;
  std::vector<int> WorldRanks() const;

  const MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  Reason by_mpi_ = Reason::kNone;  // why it never gets a team
  uint64_t calls_ = 0;
  uint64_t look_at_ = 0;  // calls, at which a team may be worth its while
  uint64_t first_ns_ = 0;
  uint64_t forming_ns_ = 0;
  bool has_no_team_ = false;      // though it was to have one
  bool order_may_change_ = true;  // of operands; until as many calls as in every run
  bool all_end_on_errors_ = false;
  std::map<uint64_t, PathChoice> choices_;  // by kind of call
  uint64_t members_hash_ = 0;               // 0: not yet asked for
  copse_team_t* team_ = nullptr;
  copse_team_t* stream_ = nullptr;
  bool has_no_stream_ = false;  // none could be formed
  std::optional<tnbc::TeamCalls> divided_calls_;
  std::atomic<int> late_failure_{COPSE_OK};
  std::atomic<bool> is_out_of_step_{false};
  bool has_failed_ = false;
  std::map<int, int> error_codes_;  // by class
  bool freed_ = false;
  std::atomic<int> uses_{1};

  static int OnDelete(MPI_Comm comm, int keyval, void* attribute, void* extra);
};

// After StartSession, if it has a context.
void StartCommunicators();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_COMMUNICATOR_H_
