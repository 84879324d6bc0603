// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/served_calls.h"

#include "absl/time/clock.h"

namespace copse::planner {

void CallEnd::operator()(const absl::Status& status) const { calls_->End(number_, rpc::ToGrpc(status)); }

bool CallEnd::is_open() const { return calls_->open_.contains(number_); }

// A UnaryCall is one RPC with one reply. Its reactions run on gRPC's threads; the planner's thread deletes it after all
// tasks that were posted for it.
class ServedCalls::UnaryCall final : public Reactor, public OpenCall {
 public:
  UnaryCall(ServedCalls* calls, std::function<void()> on_cancel) : calls_(calls), on_cancel_(std::move(on_cancel)) {}

  // A long reply takes long to encode, which Finish does.
  void End(const grpc::Status& status) override {
    calls_->sender_.Post([this, status] { Finish(status); });
  }
  void OnCancel() override {
    if (on_cancel_ == nullptr) return;
    calls_->queue_->Post([this] {
      if (calls_->open_.contains(number)) on_cancel_();
    });
  }
  void OnDone() override {
    calls_->queue_->Post([self = std::shared_ptr<UnaryCall>(this)] {});
  }

  uint64_t number = 0;  // in open_

 private:
  ServedCalls* const calls_;
  const std::function<void()> on_cancel_;
};

void ServedCalls::Stop() {
  stopped_ = true;
  while (!open_.empty()) End(open_.begin()->first, rpc::ToGrpc(absl::UnavailableError("the planner stops")));
}

ServedCalls::Reactor* ServedCalls::Answer(Context* context, const char* method, std::function<absl::Status()> work) {
  return Serve(context, method, [work = std::move(work)](const CallEnd& done) {
    done(work());
    return absl::OkStatus();
  });
}

ServedCalls::Reactor* ServedCalls::Serve(Context* context, const char* method,
                                         std::function<absl::Status(const CallEnd&)> work) {
  return ServeAs(context, method,
                 [work = std::move(work)](const rpc::Principal&, const CallEnd& done) { return work(done); });
}

ServedCalls::Reactor* ServedCalls::ServeAs(Context* context, const char* method, Work work) {
  return Start(context, method, std::move(work), nullptr, nullptr);
}

ServedCalls::Reactor* ServedCalls::Change(Context* context, const char* method,
                                          const google::protobuf::Message& request, Work work,
                                          std::function<void()> on_cancel) {
  return Start(context, method, std::move(work), std::move(on_cancel),
               std::make_shared<rpc::AuditRecord>(
                   rpc::AuditRecord{.time = absl::Now(), .method = method, .request = rpc::DescribeRequest(request)}));
}

ServedCalls::Reactor* ServedCalls::Start(Context* context, const char* method, Work work,
                                         std::function<void()> on_cancel, std::shared_ptr<rpc::AuditRecord> record) {
  auto* const call = new UnaryCall(this, std::move(on_cancel));
  absl::StatusOr<rpc::Principal> caller = Authorize(context, method);
  if (!caller.ok()) {
    call->Finish(rpc::ToGrpc(caller.status()));
    return call;
  }
  queue_->Post([this, call, work = std::move(work), who = *std::move(caller), record = std::move(record)] {
    if (stopped_) return call->Finish(rpc::ToGrpc(absl::UnavailableError("the planner stops")));
    call->number = Open(call);
    if (record != nullptr) {
      record->who = who.who;
      record->from = who.peer;
      changes_.emplace(call->number, std::move(*record));
    }
    const CallEnd done(this, call->number);
    if (const absl::Status begun = work(who, done); !begun.ok()) done(begun);
  });
  return call;
}

absl::StatusOr<rpc::Principal> ServedCalls::Authorize(Context* context, const char* method) const {
  return authorizer_->Authorize(*context, "/copse.v1.AdminService/" + std::string(method));
}

uint64_t ServedCalls::Open(OpenCall* call) {
  open_.emplace(++last_, call);
  return last_;
}

void ServedCalls::End(uint64_t number, const grpc::Status& status) {
  const auto call = open_.extract(number);
  if (!call.empty()) call.mapped()->End(status);
  auto change = changes_.extract(number);
  if (change.empty()) return;
  change.mapped().result = rpc::FromGrpc(status);
  change.mapped().duration = absl::Now() - change.mapped().time;
  audit_.Add(std::move(change.mapped()));
}

}  // namespace copse::planner
