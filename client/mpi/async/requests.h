// SPDX-License-Identifier: Apache-2.0
//
// Collectives that go on after the program's call has returned, as requests of the program's MPI.
#ifndef COPSE_CLIENT_MPI_ASYNC_REQUESTS_H_
#define COPSE_CLIENT_MPI_ASYNC_REQUESTS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "client/copse.h"
#include "client/mpi/api/back_end.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/communicator.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {

// A non-blocking call, or a persistent one, which may be started many times.
class CollectiveRequest {
 public:
  CollectiveRequest(Session* session, Entry entry, Communicator* communicator);
  ~CollectiveRequest();
  CollectiveRequest(const CollectiveRequest&) = delete;
  CollectiveRequest& operator=(const CollectiveRequest&) = delete;

  const Entry entry;
  Communicator* const communicator;
  Offload offload;
  // The team whose calls' order it is in. A persistent call has one of its own, since ranks may start such calls in any
  // order.
  copse_team_t* team = nullptr;
  bool persistent = false;

 private:
  friend class Requests;
  enum class State : uint8_t {
    kIdle,    // persistent, not started
    kQueued,  // to be posted when there is room
    kPosted,
    kEnded,   // in the daemon; the program's buffer and request are not up to date yet
    kFailed,  // the program's request is complete; the program has not completed it yet
  };

  State state_ = State::kIdle;
  copse_status_t status_ = COPSE_OK;
  double since_ = 0;  // seconds
  int tag_ = 0;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

// All PendingCalls of a process. To the program each is a receive from this process itself, on a communicator of ours,
// which a message completes when Copse's call has ended; so all that MPI does with requests works on it, among others.
// What the MPI cannot do is to have calls end: functions that complete requests poll here first. Thread-safe.
class Requests {
 public:
  explicit Requests(Session* session) : session_(session) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // Returns whether there is any that functions that complete requests have to know of.
  bool HasAny() const { return waitable_.load(std::memory_order_relaxed) != 0; }

  // Posts a call whose offload is initialised and makes the program's request. Never waits: what finds no room is
  // posted later, by another thread if need be. Returns MPI's code.
  int Start(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  // The same in two steps, of a persistent call; the second after MPI_Start has succeeded on the request. Others' are
  // left alone.
  int MakePersistent(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  void Restart(MPI_Request request);

  // Ends calls whose results are there. Called within MPI calls only.
  void Poll();
  // Returns whether calls of the team wait for room: another one has to wait behind them.
  bool HasQueued(copse_team_t* team);

  // Returns the call of a request; null if it is MPI's own, or over.
  std::shared_ptr<CollectiveRequest> Find(MPI_Request request);
  // Returns whether the program's request waits for Copse.
  bool IsActive(const CollectiveRequest& call);
  // Sleeps until the call has ended, for `seconds` at most.
  void Await(const std::shared_ptr<CollectiveRequest>& call, double seconds);
  // Returns the call of a request that was just completed, and its status, if it has failed; once.
  std::shared_ptr<CollectiveRequest> TakeFailure(MPI_Request request, copse_status_t* status);
  // Forgets a request that is freed.
  void Forget(MPI_Request request);

  // Gives up all calls, before MPI_Finalize.
  void Stop();

 private:
  using Calls = std::list<std::shared_ptr<CollectiveRequest>>;

  int NewTag();
  // Makes the program's request by a function of MPI's that receives.
  template <typename Receive>
  int Make(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request, Receive receive);
  void Post(CollectiveRequest* call);
  void Activate(const std::shared_ptr<CollectiveRequest>& call);
  void Advance();
  void End(const std::shared_ptr<CollectiveRequest>& call);
  void StartPoster();
  void PostQueued();

  Session* const session_;
  std::atomic<uint64_t> waitable_{0};  // active and failed ones

  std::mutex mutex_;  // guards what follows, and states of calls
  Calls active_;      // in the order of their starts
  std::unordered_map<uintptr_t, std::shared_ptr<CollectiveRequest>> by_handle_;
  std::unordered_set<int> tags_;
  int last_tag_ = 0;
  uint64_t queued_ = 0;
  bool stopping_ = false;
  std::condition_variable wake_poster_;
  std::thread poster_;
};

// Returns null where there is no Copse.
Requests* TheRequests();
// After StartSession, if it has a context. The session's progress polls them from then on.
void StartRequests(Session* session);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_REQUESTS_H_
