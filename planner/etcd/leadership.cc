// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/leadership.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/etcd/key_watch.h"

namespace copse::planner {
namespace {

constexpr absl::Duration kResignTimeout = absl::Seconds(1);
// After a loss etcd may still elect its own leader, which takes up to twice its election timeout (1 s), and again where
// votes are split.
constexpr absl::Duration kReleaseTimeout = absl::Seconds(3);
// Pause after an error, before the next try.
constexpr absl::Duration kPause = absl::Milliseconds(200);

// The leadership ends this long before its lease: clocks differ, and is_valid() is older than what it allows.
absl::Duration Margin(absl::Duration lease) { return std::max(absl::Milliseconds(300), lease / 10); }

}  // namespace

struct Leadership::Signal {
  Mutex mutex;
  CondVar changed;
  bool stop ABSL_GUARDED_BY(mutex) = false;
};

Leadership::Leadership(EtcdClient* client, LeadershipOptions options, LeadershipEvents* events)
    : client_(client),
      options_(std::move(options)),
      events_(events),
      key_(LeaderKey(options_.prefix)),
      signal_(std::make_shared<Signal>()),
      thread_([this] { Run(); }) {}

Leadership::~Leadership() { Stop(); }

void Leadership::Resign() {
  Stop();
  if (term_.lease == 0) return;
  const absl::Duration timeout = lost_ ? kReleaseTimeout : kResignTimeout;
  const auto revoked =
      Await<etcdserverpb::LeaseRevokeResponse>([&](auto done) { client_->RevokeLease(term_.lease, timeout, done); });
  if (!revoked.ok() && !absl::IsNotFound(revoked.status()))
    COPSE_LOG(kWarning, "leadership: not handed over: ", revoked.status().message());
  term_ = {};
}

bool Leadership::is_valid() const { return Remaining() > absl::ZeroDuration(); }

absl::Duration Leadership::Remaining() const {
  MutexLock lock(&mutex_);
  return valid_until_ - clock_.Now();
}

void Leadership::Stop() {
  {
    MutexLock lock(&signal_->mutex);
    signal_->stop = true;
    signal_->changed.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(&mutex_);
  valid_until_ = absl::InfinitePast();
}

// Returns false if the object ends.
bool Leadership::Pause(absl::Duration pause) {
  const absl::Time end = clock_.Now() + pause;
  MutexLock lock(&signal_->mutex);
  while (!signal_->stop && clock_.Now() < end) signal_->changed.WaitFor(&signal_->mutex, end - clock_.Now());
  return !signal_->stop;
}

// Makes a call and waits for its end, or for that of the object.
template <typename Response, typename Start>
absl::StatusOr<Response> Leadership::Call(const Start& start) {
  const auto result = std::make_shared<absl::StatusOr<Response>>(absl::CancelledError("the campaign ends"));
  const auto ended = std::make_shared<bool>(false);  // both are guarded by signal_->mutex
  start([signal = signal_, result, ended](absl::StatusOr<Response> response) {
    MutexLock lock(&signal->mutex);
    *result = std::move(response);
    *ended = true;
    signal->changed.NotifyAll();
  });
  MutexLock lock(&signal_->mutex);
  while (!*ended && !signal_->stop) signal_->changed.Wait(&signal_->mutex);
  return *result;
}

void Leadership::Run() {
  absl::Duration pause = absl::ZeroDuration();
  while (Pause(pause)) {
    const absl::Status status = Campaign();
    if (term_.fence != 0) {
      events_->OnWon(term_.fence);
      const absl::Status why = Lead();
      if (!Pause(absl::ZeroDuration())) return;
      lost_ = true;
      return events_->OnLost(why);
    }
    pause = status.ok() ? absl::ZeroDuration() : kPause;
    if (status.ok() || status.message() == trouble_) continue;
    trouble_ = std::string(status.message());
    COPSE_LOG(kWarning, "leadership: ", trouble_, "; trying again");
  }
}

// Returns when it has won, or it is time to look again.
absl::Status Leadership::Campaign() {
  etcdserverpb::RangeRequest request;
  request.set_key(key_);
  ASSIGN_OR_RETURN(const auto present, Call<etcdserverpb::RangeResponse>([&](auto done) {
                     client_->Range(request, client_->options().timeout, done);
                   }));
  if (present.kvs_size() > 0) {
    if (led_by_ != present.kvs(0).create_revision()) {
      led_by_ = present.kvs(0).create_revision();
      events_->OnLeader(present.kvs(0).value(), led_by_);
    }
    return AwaitChange(present.header().revision() + 1);
  }
  const absl::Status created = CreateKey();
  if (term_.fence == 0 && term_.lease != 0) {
    client_->RevokeLease(std::exchange(term_.lease, 0), client_->options().timeout, [](const auto&) {});
  }
  return created;
}

// Creates the key if nobody has, and then sets term_.fence.
absl::Status Leadership::CreateKey() {
  const absl::Time begin = clock_.Now();
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(options_.lease, absl::Seconds(1)));
  ASSIGN_OR_RETURN(const auto granted, Call<etcdserverpb::LeaseGrantResponse>([&](auto done) {
                     client_->GrantLease(seconds, client_->options().timeout, done);
                   }));
  term_ = {.lease = granted.id(), .renewed = begin};
  etcdserverpb::TxnRequest request;
  auto* const missing = request.add_compare();
  missing->set_key(key_);
  missing->set_target(etcdserverpb::Compare::CREATE);
  missing->set_create_revision(0);
  auto* const put = request.add_success()->mutable_request_put();
  put->set_key(key_);
  put->set_value(options_.address);
  put->set_lease(granted.id());
  request.add_failure()->mutable_request_range()->set_key(key_);
  ASSIGN_OR_RETURN(const auto response, Call<etcdserverpb::TxnResponse>([&](auto done) {
                     client_->Txn(request, key_, client_->options().timeout, done);
                   }));
  int64_t fence = response.succeeded() ? response.header().revision() : 0;
  if (!response.succeeded() && response.responses_size() > 0 && response.responses(0).response_range().kvs_size() > 0) {
    // The client may have made the call twice, and not received the first answer.
    const mvccpb::KeyValue& key = response.responses(0).response_range().kvs(0);
    if (key.lease() == granted.id()) fence = key.create_revision();
  }
  const absl::Time valid_until = begin + options_.lease - Margin(options_.lease);
  if (fence == 0 || valid_until <= clock_.Now()) return absl::OkStatus();
  term_.fence = fence;
  MutexLock lock(&mutex_);
  valid_until_ = valid_until;
  return absl::OkStatus();
}

// Waits until the key has changed since `revision`; returns earlier at times, since a watch can stay silent.
absl::Status Leadership::AwaitChange(int64_t revision) {
  struct KeyChange {
    bool happened = false;
    absl::Status status;
  };
  const auto change = std::make_shared<KeyChange>();  // guarded by signal_->mutex
  const KeyWatch watch(client_, key_, revision, [signal = signal_, change](const absl::Status& status) {
    MutexLock lock(&signal->mutex);
    if (!change->happened) *change = {true, status};
    signal->changed.NotifyAll();
  });
  const absl::Time end = clock_.Now() + options_.lease / 2;
  MutexLock lock(&signal_->mutex);
  while (!change->happened && !signal_->stop && clock_.Now() < end) {
    signal_->changed.WaitFor(&signal_->mutex, end - clock_.Now());
  }
  return change->status;
}

// Renews the lease until it is lost, and returns why.
absl::Status Leadership::Lead() {
  const absl::Duration period = options_.lease / 4;
  absl::Time next = term_.renewed + period;
  absl::Status trouble;
  while (Pause(next - clock_.Now())) {
    const absl::Time sent = clock_.Now();
    // Not all that remains for one call: each member gets a part of it, and one that has just lost etcd's leader is
    // silent for seconds, while others can answer.
    const absl::Duration timeout = std::clamp(Remaining(), absl::ZeroDuration(), options_.lease / 2);
    const auto renewed = Call<etcdserverpb::LeaseKeepAliveResponse>(
        [&](auto done) { client_->KeepLeaseAlive(term_.lease, timeout, done); });
    if (renewed.ok() && renewed->ttl() <= 0) return absl::NotFoundError("its lease has ended");
    if (!renewed.ok()) trouble = renewed.status();
    if (!is_valid() || (renewed.ok() && !Extend(sent))) {
      return absl::DeadlineExceededError(
          absl::StrCat("its lease was not renewed in time (lease_ms=", absl::ToInt64Milliseconds(options_.lease), ")",
                       trouble.ok() ? "" : ": ", trouble.message()));
    }
    if (renewed.ok()) RETURN_IF_ERROR(CheckKey());
    next = renewed.ok() ? sent + period : clock_.Now() + std::min(kPause, period);
  }
  return absl::CancelledError("it has resigned");
}

// Returns false if the leadership has ended meanwhile.
bool Leadership::Extend(absl::Time renewed) {
  MutexLock lock(&mutex_);
  if (clock_.Now() >= valid_until_) return false;
  term_.renewed = renewed;
  valid_until_ = std::max(valid_until_, renewed + options_.lease - Margin(options_.lease));
  return true;
}

// Returns ABORTED if the key is not ours any more though the lease is: somebody has deleted it by hand.
absl::Status Leadership::CheckKey() {
  etcdserverpb::RangeRequest request;
  request.set_key(key_);
  // A read that all members agree on can take as long as the election of etcd's leader, and no renewal is sent
  // meanwhile. What one member knows will do: it learns of the deletion, if late.
  request.set_serializable(true);
  const auto response =
      Call<etcdserverpb::RangeResponse>([&](auto done) { client_->Range(request, options_.lease / 4, done); });
  if (!response.ok()) return absl::OkStatus();                               // the next renewal will show it
  if (response->header().revision() < term_.fence) return absl::OkStatus();  // it has not heard of the key yet
  if (response->kvs_size() > 0 && response->kvs(0).create_revision() == term_.fence) return absl::OkStatus();
  MutexLock lock(&mutex_);
  valid_until_ = absl::InfinitePast();
  return absl::AbortedError(absl::StrCat("its key was deleted (key=", key_, ")"));
}

}  // namespace copse::planner
