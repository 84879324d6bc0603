// SPDX-License-Identifier: Apache-2.0
//
// Implements non-blocking and persistent collectives as requests of the program's MPI.
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

#include "client/copse.h"
#include "client/mpi/api/back_end.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/async/tag_pool.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/communicator.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {

// A CollectiveRequest is a non-blocking call, or a persistent one, which may be started many times. It retains its
// communicator. The lock of Requests guards its state.
class CollectiveRequest {
 public:
  CollectiveRequest(Session* session, Entry entry, Communicator* communicator);
  ~CollectiveRequest();
  CollectiveRequest(const CollectiveRequest&) = delete;
  CollectiveRequest& operator=(const CollectiveRequest&) = delete;

  const Entry entry;
  Communicator* const communicator;
  Offload offload;
  // The call is posted on this team. A persistent call owns a separate team, since ranks may start such calls in
  // different orders.
  copse_team_t* team = nullptr;
  bool persistent = false;

 private:
  friend class Requests;
  enum class State : uint8_t {
    kIdle,    // not started, or complete
    kQueued,  // waits for room to be posted
    kPosted,
    kEnded,   // the call has ended or could not be posted; the program's buffer and request are not updated yet
    kFailed,  // the program's request is complete, and the failure is not reported yet
  };

  State state_ = State::kIdle;
  copse_status_t status_ = COPSE_OK;
  double since_ = 0;  // start, in seconds of NowSeconds
  int tag_ = 0;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

// Requests holds all CollectiveRequests of a process. The program's handle of each is a receive from this process
// itself on Progress::own(). When the call has ended, this class sends the message that completes the receive. So all
// functions of MPI work on such requests together with others; those that complete requests call Poll first.
// Thread-safe.
class Requests {
 public:
  explicit Requests(Session* session);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // Returns whether any call is active or has a failure to report. If not, functions that complete requests need
  // nothing else of this class.
  bool HasAny() const { return waitable_.load(std::memory_order_relaxed) != 0; }

  // Posts a call whose offload is initialized, and makes the program's request. It does not wait for room, but may wait
  // for pending memory: a call without room is posted later, by the poster thread or Poll. Returns MPI's code.
  int Start(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  // MakePersistent makes the program's request of a persistent call. Restart posts it after MPI_Start has succeeded;
  // it ignores requests of MPI.
  int MakePersistent(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  void Restart(MPI_Request request);

  // Posts queued calls, and completes the program's requests of calls that have ended. It is called within MPI calls
  // only.
  void Poll();
  // Returns whether calls of the team wait for room. A new call of the team must not be posted before them.
  bool HasQueued(copse_team_t* team);

  // Returns the call of a request; null if the request is MPI's, or that of a non-blocking call that is over.
  std::shared_ptr<CollectiveRequest> Find(MPI_Request request);
  // Returns whether the call was started and has not been completed.
  bool IsActive(const CollectiveRequest& call);
  // Blocks until the call has ended, at most `seconds`, or a short time if it is not posted yet.
  void Await(const std::shared_ptr<CollectiveRequest>& call, double seconds);
  // Returns the call of a request that the program has just completed if the call has failed, and sets *status; else
  // null. Returns each failure once.
  std::shared_ptr<CollectiveRequest> TakeFailure(MPI_Request request, copse_status_t* status);
  // Drops the call of a request that the program frees.
  void Forget(MPI_Request request);

  // Gives up all active calls and ends the poster thread. It is called before MPI_Finalize.
  void Stop();

 private:
  using Calls = std::list<std::shared_ptr<CollectiveRequest>>;

  // Makes the program's request by `receive`, which is MPI's Irecv or Recv_init. Returns MPI's code.
  template <typename Receive>
  int Make(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request, Receive receive);
  void Post(CollectiveRequest* call);
  void Activate(const std::shared_ptr<CollectiveRequest>& call);
  void Advance();
  void End(const std::shared_ptr<CollectiveRequest>& call);
  void StartPoster();
  void PostQueued();

  Session* const session_;
  std::atomic<uint64_t> waitable_{0};  // number of active calls and of failures to report

  std::mutex mutex_;  // guards all members below, and the states of calls
  Calls active_;      // in the order of their starts
  std::unordered_map<uintptr_t, std::shared_ptr<CollectiveRequest>> by_handle_;
  TagPool tags_;
  uint64_t queued_ = 0;
  bool stopping_ = false;
  std::condition_variable wake_poster_;
  std::thread poster_;
};

// Returns null without a session or before StartRequests.
Requests* TheRequests();
// It is called once after StartSession, if the session has a context. The session's Progress polls the requests from
// then on.
void StartRequests(Session* session);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_REQUESTS_H_
