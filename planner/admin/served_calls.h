// SPDX-License-Identifier: Apache-2.0
//
// Serves RPCs of administrators on the planner's thread.
#ifndef COPSE_PLANNER_ADMIN_SERVED_CALLS_H_
#define COPSE_PLANNER_ADMIN_SERVED_CALLS_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/admin/audit_log.h"
#include "planner/admin/row_stream.h"
#include "planner/threads/task_queue.h"
#include "planner/threads/task_thread.h"
#include "rpc/authorizer.h"
#include "rpc/status.h"

namespace copse::planner {

class ServedCalls;

// A CallEnd ends an RPC, on the planner's thread. It may be called when the RPC has ended; it then does nothing.
class CallEnd {
 public:
  CallEnd(ServedCalls* calls, uint64_t number) : calls_(calls), number_(number) {}
  void operator()(const absl::Status& status) const;
  // Returns whether the RPC, and with it its reply, still exist.
  bool is_open() const;

 private:
  ServedCalls* calls_;
  uint64_t number_;
};

// A RowWork passes the source of a list's rows to its argument, once, or returns an error.
template <typename Reply>
using RowWork = std::function<absl::Status(const std::function<void(RowSource<Reply>)>&)>;

// ServedCalls authorizes each caller on gRPC's threads, which return immediately, and runs the work on the planner's
// thread, which alone accesses the data. Calls that change something are recorded when they end.
class ServedCalls {
 public:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Work returns an error, or calls its last argument once, when the reply is filled. Request and reply exist until
  // then.
  using Work = std::function<absl::Status(const rpc::Principal&, const CallEnd&)>;
  // Returns the work for a caller; called on gRPC's threads.
  template <typename Reply>
  using RowsFor = std::function<RowWork<Reply>(const rpc::Principal&)>;

  // `log_file`: as configured, for the records; empty: standard error.
  ServedCalls(TaskQueue* queue, const rpc::Authorizer* authorizer, const std::string& log_file)
      : queue_(queue), authorizer_(authorizer), audit_(log_file) {}

  // Ends pending calls, and all later ones, as UNAVAILABLE. The planner's thread calls it.
  void Stop();

  // Serves a call whose reply `work` fills before it returns.
  Reactor* Answer(Context* context, const char* method, std::function<absl::Status()> work);
  Reactor* Serve(Context* context, const char* method, std::function<absl::Status(const CallEnd&)> work);
  Reactor* ServeAs(Context* context, const char* method, Work work);
  // Serves a call that changes something. If the caller disconnects before it ends, `on_cancel` is called on the
  // planner's thread.
  Reactor* Change(Context* context, const char* method, const google::protobuf::Message& request, Work work,
                  std::function<void()> on_cancel = nullptr);

  // Serves a list in one reply.
  template <typename Reply>
  Reactor* ServeRows(Context* context, const char* method, Reply* reply, RowsFor<Reply> rows) {
    return ServeAs(context, method,
                   [this, reply, rows = std::move(rows)](const rpc::Principal& who, const CallEnd& done) {
                     return rows(who)([this, reply, done](RowSource<Reply> source) {
                       Fill(reply, std::make_shared<RowSource<Reply>>(std::move(source)), done);
                     });
                   });
  }

  // Serves a list as a stream.
  template <typename Reply>
  grpc::ServerWriteReactor<Reply>* ServeStream(Context* context, const char* method, const RowsFor<Reply>& rows) {
    const auto number = std::make_shared<uint64_t>(0);
    auto* const stream =
        new RowStream<Reply>(queue_, &sender_, [this, number](const grpc::Status& status) { End(*number, status); });
    const absl::StatusOr<rpc::Principal> caller = Authorize(context, method);
    if (!caller.ok()) {
      stream->Finish(rpc::ToGrpc(caller.status()));
      return stream;
    }
    queue_->Post([this, stream, number, work = rows(*caller)] {
      if (stopped_) return stream->End(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
      *number = Open(stream);
      const CallEnd done(this, *number);
      const absl::Status begun = work([stream, done](RowSource<Reply> source) {
        if (done.is_open()) stream->Begin(std::move(source));
      });
      if (!begun.ok()) done(begun);
    });
    return stream;
  }

  // Records a change that no call has made.
  void Record(rpc::AuditRecord record) { audit_.Add(std::move(record)); }
  const AuditLog& audit() const { return audit_; }

 private:
  friend class CallEnd;
  class UnaryCall;

  absl::StatusOr<rpc::Principal> Authorize(Context* context, const char* method) const;
  // `record`: of a call that changes something; null: it changes nothing.
  Reactor* Start(Context* context, const char* method, Work work, std::function<void()> on_cancel,
                 std::shared_ptr<rpc::AuditRecord> record);
  uint64_t Open(OpenCall* call);
  void End(uint64_t number, const grpc::Status& status);

  template <typename Reply>
  void Fill(Reply* reply, std::shared_ptr<RowSource<Reply>> source, const CallEnd& done) {
    if (!done.is_open()) return;
    if (!AddPiece(*source, reply)) return done(absl::OkStatus());
    queue_->Post([this, reply, source, done] { Fill(reply, source, done); });
  }

  TaskQueue* const queue_;
  const rpc::Authorizer* const authorizer_;
  AuditLog audit_;
  std::map<uint64_t, OpenCall*> open_;            // RPCs that have not ended
  std::map<uint64_t, rpc::AuditRecord> changes_;  // of those that change something
  uint64_t last_ = 0;                             // number of the last RPC
  bool stopped_ = false;
  TaskThread sender_;  // encodes and sends replies
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_SERVED_CALLS_H_
