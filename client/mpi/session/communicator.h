// SPDX-License-Identifier: Apache-2.0
//
// Keeps the state of a communicator: how many collective calls it has made, and its team.
#ifndef COPSE_CLIENT_MPI_SESSION_COMMUNICATOR_H_
#define COPSE_CLIENT_MPI_SESSION_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/collective_calls.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/call_failures.h"
#include "client/mpi/session/parent_teams.h"
#include "client/mpi/session/path_choice.h"
#include "client/mpi/session/session.h"
#include "client/mpi/session/statistics.h"
#include "client/mpi/session/team_decision.h"
#include "client/mpi/session/team_formation.h"
#include "client/tnbc/team_calls.h"
#include "client/tnbc/trace/trace_file.h"

namespace copse::mpi {

// A Communicator is an attribute of the program's communicator, made at its first collective call. MPI deletes the
// attribute with the communicator, and the object is destroyed when the calls that retain it have ended, too. Calls
// follow Enter (Fail)? for each collective call, in the program's order, which is the same on all ranks.
// Thread-compatible, as MPI forbids concurrent collectives on a communicator, except for functions marked thread-safe.
class Communicator {
 public:
  // Returns the object of `comm`, which is not MPI_COMM_NULL. Returns null if MPI refuses attributes.
  static Communicator* Of(MPI_Comm comm);

  // Counts a collective call. When a team has become worth its cost, all ranks form it together at the next call with
  // `may_wait` (it may wait for others), which is equal on all ranks; if that fails, they try again later. Returns
  // kNone if the call goes to the team, else the reason why it goes to MPI.
  Reason Enter(Session* session, bool may_wait);

  // Returns whether the duration of a call for which Enter has returned `reason` is used in a decision.
  bool WantsTimeOf(const Session& session, Reason reason) const {
    if (reason == Reason::kNone) return session.settings.chooses_path;
    return reason == Reason::kFirstCalls && session.settings.weighs_teams;
  }
  // Adds the duration of a call for which Enter has returned kFirstCalls.
  void CountFirst(uint64_t nanoseconds) { decision_.AddCost(nanoseconds); }
  // Returns the time that forming teams has taken since the last call of this function, ns.
  uint64_t TakeFormingTime() { return std::exchange(forming_ns_, 0); }

  // Returns whether the team may make a reduction whose result depends on the order of operands. While measured times
  // decide when there is a team, it may not, since the result has to be the same in every run.
  bool MaySend(const Offload& offload) const;

  // Returns whether errors on this communicator end the job (MPI_ERRORS_ARE_FATAL). If so, no rank can wait in MPI for
  // a rank that has continued elsewhere after an error.
  bool EndsOnErrors() const;

  // Records that EndsOnErrors has become false on a rank. It is called on all ranks before the same call.
  void SetHandlesErrors() { all_end_on_errors_ = false; }

  // Returns the choice of a path for blocking calls of this kind; null if such calls always go to the team.
  PathChoice* ChoiceOf(const Session& session, const Offload& offload);

  // Forms a team for one persistent call, together with all ranks. Returns null on all ranks if that fails.
  copse_team_t* FormPersistentTeam(Session* session);

  // Forms a second team of the same ranks, together with all of them, unless there is one. The completion thread posts
  // fragments of calls on it. Returns false on all ranks if the only attempt has failed.
  bool FormStream(Session* session);
  copse_team_t* stream() const { return stream_.value_or(nullptr); }

  // Returns the state of fragmented calls, which the first call makes. `node` is a hash of this rank's node.
  tnbc::TeamCalls* DividedCalls(uint64_t node);
  // Returns the measured costs of asynchronous calls of this kind. DividedCalls has to be called before.
  tnbc::CallKind* AsyncKindOf(const Offload& offload);
  // Returns the description of this kind of call for traces and profiles.
  tnbc::TraceKind DescribeKind(const Offload& offload);

  CallFailures& failures() { return failures_; }

  // A call that continues after its MPI call has returned retains this object. Release destroys it with the last use.
  // Thread-safe.
  void Retain() { uses_.fetch_add(1, std::memory_order_relaxed); }
  void Release();

  // Reports a failure of the team: prints the text for the communicator's first failure, and calls the communicator's
  // error handler, or that of MPI_COMM_WORLD if the communicator was freed. Returns the error code for the program, if
  // the handler returns.
  int Fail(const char* function, copse_status_t status, const char* text);

  // Reports an invalid call of the program: prints a line and calls the error handler with `error`, which it returns.
  int Refuse(const char* function, int error, const char* why);

  copse_team_t* team() const { return team_.team.get(); }
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
  // Forms a team of the communicator's ranks; see FormTeamTogether.
  FormedTeam Form(Session* session, const char* name, ParentTeam parent, bool flag = false);
  int CallErrorHandler(int error);
  std::vector<int> WorldRanks() const;

  const MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  Reason by_mpi_ = Reason::kNone;  // reason why the communicator never gets a team; kNone: it may get one
  TeamDecision decision_;
  uint64_t forming_ns_ = 0;
  // EndsOnErrors was true on all ranks when they last compared it. If not, all calls that the team can make go to it,
  // and none to MPI.
  bool all_end_on_errors_ = false;
  std::map<uint64_t, PathChoice> choices_;  // by kind of call
  uint64_t members_hash_ = 0;               // 0: not computed yet
  ParentTeam team_;
  bool has_no_parent_ = false;           // deriving a team has failed; the next attempt has no parent
  std::optional<copse_team_t*> stream_;  // unset: not formed yet; null: forming it has failed
  std::optional<tnbc::TeamCalls> divided_calls_;
  CallFailures failures_;
  std::mutex error_codes_mutex_;    // guards error_codes_: threads may report failures at once
  std::map<int, int> error_codes_;  // by class
  bool freed_ = false;
  std::atomic<int> uses_{1};

  static int OnDelete(MPI_Comm comm, int keyval, void* attribute, void* extra);
};

// Creates the attribute's key. It is called once, after StartSession, if the session has a context.
void StartCommunicators();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_COMMUNICATOR_H_
