// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/key_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/status.h"

namespace copse::planner {

KeyWatch::KeyWatch(EtcdClient* client, const std::string& key, int64_t revision,
                   std::function<void(const absl::Status&)> notify)
    : notify_(std::move(notify)) {
  request_.mutable_create_request()->set_key(key);
  request_.mutable_create_request()->set_start_revision(revision);
  endpoint_ = client->OpenWatch(&context_, this);
  StartWrite(&request_);
  StartRead(&response_);
  StartCall();
}

KeyWatch::~KeyWatch() {
  context_.TryCancel();
  MutexLock lock(&mutex_);
  while (!done_) done_changed_.Wait(&mutex_);
}

void KeyWatch::OnReadDone(bool ok) {
  if (!ok) return;
  if (response_.canceled()) {
    const bool compacted = response_.compact_revision() > 0;
    canceled_ = absl::Status(
        compacted ? absl::StatusCode::kOutOfRange : absl::StatusCode::kUnavailable,
        compacted ? absl::StrCat("compacted (oldest=", response_.compact_revision(), ")") : response_.cancel_reason());
    return context_.TryCancel();  // etcd would keep the stream for further watches
  }
  if (response_.events_size() > 0) notify_(absl::OkStatus());
  StartRead(&response_);
}

void KeyWatch::OnDone(const grpc::Status& status) {
  absl::Status why = canceled_.ok() ? rpc::FromGrpc(status) : canceled_;
  if (why.ok()) why = absl::UnavailableError("it ended the stream");
  notify_(absl::Status(why.code(), absl::StrCat("etcd: Watch ended (endpoint=", endpoint_,
                                                ", key=", request_.create_request().key(), "): ", why.message())));
  MutexLock lock(&mutex_);
  done_ = true;
  done_changed_.NotifyAll();
}

}  // namespace copse::planner
