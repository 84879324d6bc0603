// SPDX-License-Identifier: Apache-2.0
//
// Connects the daemons' gRPC streams to the coordinator's sessions.
#ifndef COPSE_PLANNER_SESSIONS_DAEMON_SERVICE_H_
#define COPSE_PLANNER_SESSIONS_DAEMON_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "planner/coordinator/coordinator.h"
#include "planner/sessions/brief_registrations.h"
#include "planner/sessions/endless_calls.h"
#include "planner/threads/task_queue.h"
#include "planner/threads/task_thread.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/authorizer.h"

namespace copse::planner {

// StreamEvents receives the events of streams on the planner's thread.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // `from` is the peer's address, for display.
  virtual void OnConnected(coordinator::SessionId session, const std::string& from) = 0;
  // Returns whether a daemon of this announcement may register, whatever its teams are.
  virtual bool Admits(coordinator::SessionId session, const schedule::NodeAnnouncement& node) = 0;
  virtual void OnMessage(coordinator::SessionId session, const schedule::FromDaemon& message) = 0;
  virtual void OnDisconnected(coordinator::SessionId session) = 0;
};

// StreamCounts has messages since the planner's start, and bytes that are queued now: messages that gRPC has not sent.
// Bytes that several streams share, such as a team's content, count for each of them.
struct StreamCounts {
  uint64_t sessions = 0;
  uint64_t queued_bytes = 0;
  uint64_t queued_bytes_most = 0;  // of the session that has the most
  uint64_t received = 0, received_bytes = 0;
  uint64_t sent = 0, sent_bytes = 0;
};

struct DaemonServiceOptions {
  uint64_t number = 0;  // tells this leader from others (v1::Leader); 0: there is one planner
  // A stream ends when more than this is queued on it, of a daemon that does not take it. One message may be longer.
  uint64_t queued_bytes_max = 64 << 20;
};

// The DaemonService serves the daemons' streams. gRPC calls Attach on its threads; all other functions are called on
// the planner's thread. `*queue`, `*events` and `*authorizer` must outlive it, and it must outlive the gRPC server.
class DaemonService final
    : public v1::DaemonService::WithRawCallbackMethod_Attach<v1::DaemonService::WithRawCallbackMethod_AttachBriefly<
          v1::DaemonService::WithCallbackMethod_WatchLeader<v1::DaemonService::Service>>>,
      public coordinator::SessionSink,
      private BriefSink {
 public:
  DaemonService(TaskQueue* queue, StreamEvents* events, const rpc::Authorizer* authorizer,
                DaemonServiceOptions options = {})
      : queue_(queue), events_(events), authorizer_(authorizer), options_(options) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(grpc::CallbackServerContext* context) override;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AttachBriefly(
      grpc::CallbackServerContext* context) override;

  // Says that this planner leads, without its address, which the caller knows.
  grpc::ServerWriteReactor<v1::Leader>* WatchLeader(grpc::CallbackServerContext* context,
                                                    const v1::WatchLeaderRequest* request) override;

  void Send(coordinator::SessionId session, const schedule::ToDaemon& message) override;
  void SendPrepare(absl::Span<const coordinator::PrepareMember> members, schedule::Prepare prepare) override;
  void Close(coordinator::SessionId session, const std::string& why) override;
  // Ends all streams with `why`, and those that begin from now on; daemons reconnect later. `*events` is not called any
  // more.
  void CloseAll(const absl::Status& why);

  // Must be called after tasks of the queue have run, and at NextDeadline. `heard` is Coordinator::Tick's.
  void Tick(absl::Time heard) { brief_.Tick(heard); }
  absl::Time NextDeadline() const { return brief_.NextDeadline(); }

  StreamCounts Counts() const;
  // Returns when the certificate ends with which a node has registered; InfiniteFuture if it has shown none.
  absl::Time CertificateEnds(const std::string& node) const;
  // Returns the nodes that have registered with certificates that end before `time`, those that were removed too.
  std::vector<std::string> CertificatesThatEndBefore(absl::Time time) const;
  // Ends the streams whose certificates are not believed any more, if authorities or revocation lists have changed
  // since the last call. Does a bounded number at once, and posts the rest.
  void CheckPeers();

 private:
  class Stream;
  struct Recipient;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* NewStream(grpc::CallbackServerContext* context,
                                                                         const char* method, bool brief);
  bool Admits(coordinator::SessionId session, const schedule::NodeAnnouncement& node) override {
    return events_->Admits(session, node);
  }
  void AskForContent(coordinator::SessionId session, const std::string& sha256) override;
  void OnWhole(coordinator::SessionId session, absl::StatusOr<schedule::FromDaemon> registration,
               std::vector<schedule::FromDaemon> later) override;
  // Writes a Prepare to its members; on the sender.
  static void WritePrepare(const std::vector<Recipient>& recipients, schedule::Prepare prepare);
  void NoteUnknown(coordinator::SessionId session);
  void NoteCertificate(const std::string& node, absl::Time ends);
  void CheckPeersAfter(coordinator::SessionId last);

  TaskQueue* const queue_;
  StreamEvents* const events_;
  const rpc::Authorizer* const authorizer_;
  const DaemonServiceOptions options_;
  coordinator::SessionId next_ = 1;
  std::map<coordinator::SessionId, std::shared_ptr<Stream>> streams_;
  EndlessCalls leader_streams_;
  BriefRegistrations brief_{this};
  std::map<std::string, absl::Time> certificate_ends_;       // by node
  uint64_t checked_generation_ = 0;                          // Identity::generation() at CheckPeers
  absl::Status closed_;                                      // the reason for refusing streams; OK: they are accepted
  uint64_t unknown_ = 0;                                     // number of messages of an unknown kind
  std::atomic<uint64_t> sent_ = 0, sent_bytes_ = 0;          // counted by the sender
  std::atomic<uint64_t> received_ = 0, received_bytes_ = 0;  // counted by gRPC's threads
  TaskThread sender_;                                        // encodes messages, and begins writes and reads of streams
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_DAEMON_SERVICE_H_
