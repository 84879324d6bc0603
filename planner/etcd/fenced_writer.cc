// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/fenced_writer.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "planner/etcd/leadership.h"
#include "planner/etcd/operations.h"

namespace copse::planner {
namespace {

// Returns the key of a Range within a transaction, or null if it does not exist.
const mvccpb::KeyValue* Found(const etcdserverpb::TxnResponse& response, int index) {
  if (index >= response.responses_size()) return nullptr;
  const etcdserverpb::RangeResponse& range = response.responses(index).response_range();
  return range.kvs_size() > 0 ? &range.kvs(0) : nullptr;
}

}  // namespace

FencedWriter::FencedWriter(EtcdClient* client, const std::string& prefix, int64_t fence)
    : client_(client), leader_key_(LeaderKey(prefix)), number_key_(prefix + "/commit"), fence_(fence) {}

void FencedWriter::Write(std::vector<etcdserverpb::RequestOp> operations,
                         std::function<void(const absl::Status&)> done) {
  Job job{.transactions = std::deque<etcdserverpb::TxnRequest>(1), .done = std::move(done)};
  size_t bytes = 0;
  for (etcdserverpb::RequestOp& operation : operations) {
    const size_t more = operation.ByteSizeLong();
    const int count = job.transactions.back().success_size();
    if (count > 0 && (count == static_cast<int>(kOperationsMax) || bytes + more > kValueBytesMax)) {
      job.transactions.emplace_back();
      bytes = 0;
    }
    *job.transactions.back().add_success() = std::move(operation);
    bytes += more;
  }
  {
    MutexLock lock(&mutex_);
    jobs_.push_back(std::move(job));
    if (std::exchange(sending_, true)) return;
  }
  SendNext();
}

void FencedWriter::SendNext() {
  etcdserverpb::TxnRequest request;
  {
    MutexLock lock(&mutex_);
    sending_ = !jobs_.empty();
    if (!sending_) return;
    request = NextTransaction();
  }
  client_->Txn(request, leader_key_, client_->options().timeout,
               [self = shared_from_this()](const auto& response) { self->OnAnswer(response); });
}

etcdserverpb::TxnRequest FencedWriter::NextTransaction() {
  etcdserverpb::TxnRequest request;
  if (has_begun_) {
    ++number_;
    request = jobs_.front().transactions.front();
    *request.add_compare() = IsLess(number_key_, NumberText());
  } else {
    *request.add_compare() = IsCreatedAt(number_key_, 0);
  }
  *request.add_compare() = IsCreatedAt(leader_key_, fence_);
  *request.add_success() = PutOp(number_key_, NumberText());
  *request.add_failure() = GetOp(leader_key_);
  *request.add_failure() = GetOp(number_key_);
  return request;
}

// A later leader's numbers are greater, since its fence is.
std::string FencedWriter::FenceText() const { return Padded(static_cast<uint64_t>(fence_)) + "/"; }
std::string FencedWriter::NumberText() const { return FenceText() + Padded(number_); }

void FencedWriter::OnAnswer(const absl::StatusOr<etcdserverpb::TxnResponse>& response) {
  absl::Status status;
  std::function<void(const absl::Status&)> done;
  {
    MutexLock lock(&mutex_);
    status = Outcome(response);
    Job& job = jobs_.front();
    // RESOURCE_EXHAUSTED says that nothing was changed.
    if (job.is_begun && absl::IsResourceExhausted(status)) status = absl::UnavailableError(status.message());
    job.is_begun |= has_begun_ && status.ok();
    if (has_begun_) job.transactions.pop_front();
    has_begun_ = has_begun_ || status.ok();
    if (!status.ok() || job.transactions.empty()) {
      done = std::move(job.done);
      jobs_.pop_front();
    }
  }
  if (done != nullptr) done(status);
  SendNext();
}

absl::Status FencedWriter::Outcome(const absl::StatusOr<etcdserverpb::TxnResponse>& response) {
  if (!response.ok()) return response.status();
  if (response->succeeded()) return absl::OkStatus();
  const mvccpb::KeyValue* const number = Found(*response, 1);
  // The client may have made the call twice, and not received the first answer.
  if (number != nullptr && number->value() == NumberText()) return absl::OkStatus();
  const mvccpb::KeyValue* const leader = Found(*response, 0);
  if (leader == nullptr || leader->create_revision() != fence_) {
    return absl::AbortedError(absl::StrCat("etcd: ", leader == nullptr ? "no planner leads" : "another planner leads",
                                           " (key=", leader_key_, ", fence=", fence_,
                                           leader == nullptr ? "" : ", leader=", leader ? leader->value() : "", ")"));
  }
  if (!has_begun_ && number != nullptr) {  // an earlier leader has made it, or an earlier writer of this one
    absl::string_view text = number->value();
    if (absl::ConsumePrefix(&text, FenceText()) && !absl::SimpleAtoi(text, &number_)) number_ = 0;
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("etcd: the number of commits has changed (key=", number_key_, ", value=",
                                          number == nullptr ? "" : number->value(), ", expected=", NumberText(), ")"));
}

}  // namespace copse::planner
