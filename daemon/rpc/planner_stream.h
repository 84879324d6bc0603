// SPDX-License-Identifier: Apache-2.0
//
// Keeps the daemon's stream to the planner (DaemonService), and reconnects it without end.
#ifndef COPSE_DAEMON_RPC_PLANNER_STREAM_H_
#define COPSE_DAEMON_RPC_PLANNER_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/cluster_term.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/worker.h"
#include "daemon/rpc/leader_watch.h"
#include "daemon/rpc/planner_access.h"
#include "daemon/rpc/planner_list.h"
#include "daemon/rpc/reconnect_pause.h"
#include "protocol/control.h"

namespace copse::daemon {

struct PlannerStreamOptions {
  std::vector<std::string> addresses;  // HOST:PORT each; one of these planners leads
  PlannerAccess access;
  ReconnectPauseOptions pause;
  absl::Duration warn_every = absl::Minutes(5);  // period of warnings of the same trouble
};

// PlannerEvents receives the stream's events, on the loop's thread.
class PlannerEvents {
 public:
  virtual ~PlannerEvents() = default;
  // It is called when a new stream was started: messages are sent on it from now on. It is not known yet whether the
  // planner can be reached; if not, OnPlannerDown follows.
  virtual void OnPlannerUp() = 0;
  virtual void OnPlannerDown() = 0;
  // It is called for all messages but Prepare.
  virtual void OnPlannerMessage(const schedule::ToDaemon& message) = 0;
  virtual void OnPrepare(const CheckedPrepare& prepare) = 0;
};

// A PlannerStream keeps one stream at a time; one that ends is replaced after a pause (planner_list.h). Of several
// planners it uses the one that leads, and refuses one whose term is lower than a term that it has heard in the same
// cluster. All calls come from the loop's thread; gRPC's threads and the worker only post to the mailbox.
//
// The worker decodes and checks what the planner sends, and encodes the teams of Register, which takes long for large
// teams. Messages of a stream keep their order, and so do those that are sent; but queries (StatusQuery, TraceQuery,
// MeasureQuery, Ping), which depend on no other message, do not wait for the worker.
class PlannerStream final : public PlannerLink {
 public:
  // All pointees must outlive the object. `self` is this daemon's incarnation, which also randomizes the pauses.
  // INVALID_ARGUMENT if the address is invalid, or beyond loopback without an identity or `insecure`.
  static absl::StatusOr<std::unique_ptr<PlannerStream>> Create(const Clock* clock, Mailbox* mailbox, Worker* worker,
                                                               PlannerEvents* events, PlannerStreamOptions options,
                                                               Incarnation self);
  // Ends the stream at once; messages that were not written yet are lost.
  ~PlannerStream() override;

  // Starts a stream if there is none and the pause is over, and calls OnPlannerUp.
  void Tick(absl::Time now);
  absl::Time NextDeadline() const;

  // Implements PlannerLink. Drops the message while there is no stream.
  void Send(const schedule::FromDaemon& message) override;

  // Returns the planner that is in use, or tried next.
  const std::string& planner() const { return planners_.current(); }
  // Ends streams to planners whose certificates are not believed any more: it is called when the identity's files have
  // been read again.
  void CheckPlanners();

  // Returns whether the stream is for planners of 0.2.0.
  bool is_earlier() const { return !brief_; }
  // Returns whether the planner has sent a message on this stream.
  bool connected() const { return connected_; }
  // Returns the reason why the last stream ended; empty while connected.
  const std::string& trouble() const { return trouble_; }
  // Returns whether no message waits to be written; true without a stream.
  bool Flushed() const;
  // Returns the longest time from the arrival of a Prepare, or of the content that it names, until OnPrepare returned.
  absl::Duration prepare_max() const { return prepare_max_; }

 private:
  class Decoder;
  class Stream;

  PlannerStream(const Clock* clock, Mailbox* mailbox, Worker* worker, PlannerEvents* events,
                PlannerStreamOptions options, Incarnation self);

  void OnMessage(const schedule::ToDaemon& message);
  void OnPrepare(const CheckedPrepare& prepare, absl::Time arrived);
  void OnUnreadable(const absl::Status& why);
  // A message has arrived.
  void OnHeard();
  // Both sides must know of the same contents: after a mistake they begin anew, with another stream.
  void EndStream();
  // `leader`: the planner that leads, if the one that ended the stream has named it.
  void OnEnd(const absl::Status& status, const std::string& leader);
  void OnLeader(const std::string& leader);
  void Leave(const absl::Status& why);  // ends the stream from this side
  bool IsRefusal(const absl::Status& status) const;

  const Clock* const clock_;
  Mailbox* const mailbox_;
  Worker* const worker_;
  PlannerEvents* const events_;
  const PlannerStreamOptions options_;
  const Incarnation self_;
  PlannerList planners_;
  LeaderWatch watch_;
  std::unique_ptr<Stream> stream_;
  absl::Time next_try_;
  absl::Time next_warning_;
  absl::Time accepted_ = absl::InfiniteFuture();  // time when the planner accepted the daemon, on this stream
  ClusterTerm known_;
  bool connected_ = false;
  bool brief_ = true;     // the next stream is AttachBriefly; false: Attach, which earlier planners have
  bool refused_ = false;  // the planner has refused the daemon on this stream
  uint64_t checked_ = 0;  // Identity::generation, by which the planners were checked last
  std::string trouble_;
  absl::Duration prepare_max_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_PLANNER_STREAM_H_
