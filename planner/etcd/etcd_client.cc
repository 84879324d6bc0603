// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/etcd_client.h"

#include <grpcpp/alarm.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "rpc/credentials.h"
#include "rpc/status.h"

namespace copse::planner {
namespace {

// An etcd that restarts is found again within this time. gRPC's own pause would grow to minutes.
constexpr int kReconnectMsMax = 500;
// Keepalives detect a member whose host has vanished. By default etcd refuses more than one in 5 s.
constexpr absl::Duration kKeepalive = absl::Seconds(10);
constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(5);
// Pause before the endpoints are tried again when none of them has answered.
constexpr absl::Duration kRoundPause = absl::Milliseconds(50);

grpc::ChannelArguments ChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMsMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(absl::ToInt64Milliseconds(kKeepalive)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(absl::ToInt64Milliseconds(kKeepaliveTimeout)));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(-1);  // a page of large values
  return arguments;
}

// A KeepAliveAttempt sends one keepalive on a stream of its own, which ends with the answer. It deletes itself.
class KeepAliveAttempt final
    : public grpc::ClientBidiReactor<etcdserverpb::LeaseKeepAliveRequest, etcdserverpb::LeaseKeepAliveResponse> {
 public:
  KeepAliveAttempt(int64_t lease, etcdserverpb::LeaseKeepAliveResponse* response,
                   std::function<void(grpc::Status)> done)
      : response_(response), done_(std::move(done)) {
    request_.set_id(lease);
  }

  void Start(etcdserverpb::Lease::Stub* stub, grpc::ClientContext* context) {
    stub->async()->LeaseKeepAlive(context, this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(response_);
    StartCall();
  }

  void OnReadDone(bool ok) override { answered_ = ok; }

  void OnDone(const grpc::Status& status) override {
    const auto done = std::move(done_);
    const bool lacking = status.ok() && !answered_;
    const grpc::Status outcome =
        lacking ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "it ended the stream without an answer") : status;
    delete this;
    done(outcome);
  }

 private:
  etcdserverpb::LeaseKeepAliveRequest request_;
  etcdserverpb::LeaseKeepAliveResponse* const response_;
  std::function<void(grpc::Status)> done_;
  bool answered_ = false;
};

bool TriesAnother(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> EtcdCredentials(const config::TlsFiles& files, absl::Duration refresh) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.authorities, static_cast<unsigned>(absl::ToInt64Seconds(refresh))));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(std::make_shared<grpc::experimental::HostNameCertificateVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

struct EtcdClient::EtcdMember {
  EtcdMember(std::string address, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : endpoint(std::move(address)) {
    const auto channel = grpc::CreateCustomChannel(endpoint, credentials, ChannelArguments());
    kv = etcdserverpb::KV::NewStub(channel);
    lease = etcdserverpb::Lease::NewStub(channel);
    watch = etcdserverpb::Watch::NewStub(channel);
    auth = etcdserverpb::Auth::NewStub(channel);
  }

  const std::string endpoint;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
};

// A Call makes attempts, one after the other, until one has an answer that is not "try another", or time is up. Then it
// deletes itself. Its context, which refers to a channel, does not outlive the client: destroying the last channel ends
// gRPC's threads, so it must not happen on one of them.
class EtcdClient::Call {
 public:
  Call(EtcdClient* client, Subject subject, absl::Duration timeout, Attempt attempt,
       std::function<void(absl::Status)> done)
      : client_(client),
        subject_(std::move(subject)),
        timeout_(timeout),
        deadline_(MonotonicClock().Now() + timeout),
        attempt_(std::move(attempt)),
        done_(std::move(done)),
        answers_(client->members_.size()) {}

  void Try() {
    if (!PrepareContext()) return Finish(absl::CancelledError("etcd: the client ends"));
    ++attempts_;
    const EtcdMember& member = *client_->members_[member_];
    if (!client_->options_.user.empty() && token_.empty()) return Authenticate(member);
    attempt_(member, context_.get(), [this](const grpc::Status& status) { OnAnswer(status); });
  }

 private:
  absl::Duration Remaining() const { return deadline_ - MonotonicClock().Now(); }

  // Returns false if the client ends.
  bool PrepareContext() {
    const absl::Duration timeout = std::min(Remaining(), timeout_ / static_cast<int64_t>(answers_.size()));
    MutexLock lock(&client_->mutex_);
    if (client_->stopping_) return false;
    member_ = client_->present_;
    token_ = client_->token_;
    context_ = std::make_shared<grpc::ClientContext>();
    context_->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    client_->Decorate(context_.get());
    client_->calls_[this] = context_;
    return true;
  }

  // Gets a token, and then tries again with it.
  void Authenticate(const EtcdMember& member) {
    authentication_.set_name(client_->options_.user);
    authentication_.set_password(client_->options_.password);
    member.auth->async()->Authenticate(context_.get(), &authentication_, &authenticated_, [this](grpc::Status status) {
      if (!status.ok()) return OnAnswer(status);
      {
        MutexLock lock(&client_->mutex_);
        client_->token_ = authenticated_.token();
      }
      Try();
    });
  }

  void OnAnswer(const grpc::Status& status) {
    if (status.ok()) return Finish(absl::OkStatus());
    // Members forget tokens when they restart, and after some minutes.
    if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && !token_.empty() && !renewed_) {
      renewed_ = true;
      ForgetToken();
      return Try();
    }
    if (!TriesAnother(status.error_code())) return Finish(Refused(status));
    answers_[member_] = status.error_message();
    client_->AvoidMember(member_);
    if (Remaining() <= kRoundPause) return Finish(Unanswered());
    if (attempts_ % answers_.size() != 0) return Try();
    pause_.emplace();
    pause_->Set(absl::ToChronoTime(absl::Now() + kRoundPause), [this](bool) { Try(); });
  }

  void ForgetToken() {
    MutexLock lock(&client_->mutex_);
    if (client_->token_ == token_) client_->token_.clear();
  }

  absl::Status Refused(const grpc::Status& status) const {
    const EtcdClientOptions& options = client_->options_;
    return absl::Status(
        rpc::FromGrpc(status).code(),
        absl::StrCat("etcd: ", subject_.method, " failed (endpoint=", client_->members_[member_]->endpoint,
                     subject_.key.empty() ? "" : ", key=", subject_.key,
                     options.user.empty() ? "" : ", user=", options.user, "): ", status.error_message()));
  }

  absl::Status Unanswered() const {
    std::string answers;
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!answers_[i].empty()) absl::StrAppend(&answers, "; ", client_->members_[i]->endpoint, ": ", answers_[i]);
    }
    return absl::UnavailableError(absl::StrCat(
        "etcd: ", subject_.method, ": no answer (endpoints=", absl::StrJoin(client_->options_.endpoints, ","),
        subject_.key.empty() ? "" : ", key=", subject_.key, ", timeout_ms=", absl::ToInt64Milliseconds(timeout_), ")",
        answers));
  }

  void Finish(const absl::Status& status) {
    done_(status);
    {
      MutexLock lock(&client_->mutex_);
      client_->calls_.erase(this);
      context_.reset();
      client_->calls_changed_.NotifyAll();  // from here the client may be gone
    }
    delete this;
  }

  EtcdClient* const client_;
  const Subject subject_;
  const absl::Duration timeout_;
  const absl::Time deadline_;
  const Attempt attempt_;
  const std::function<void(absl::Status)> done_;
  std::vector<std::string> answers_;  // what was wrong with each member at last
  size_t member_ = 0;                 // of the present attempt
  size_t attempts_ = 0;
  std::shared_ptr<grpc::ClientContext> context_;  // shared with the client's destructor, which cancels it
  std::string token_;                             // of the present attempt
  bool renewed_ = false;
  std::optional<grpc::Alarm> pause_;
  etcdserverpb::AuthenticateRequest authentication_;
  etcdserverpb::AuthenticateResponse authenticated_;
};

absl::StatusOr<std::unique_ptr<EtcdClient>> EtcdClient::Create(EtcdClientOptions options) {
  if (options.endpoints.empty()) return absl::InvalidArgumentError("etcd: no endpoint");
  for (const std::string& endpoint : options.endpoints) RETURN_IF_ERROR(rpc::CheckAddress(endpoint));
  return std::unique_ptr<EtcdClient>(new EtcdClient(std::move(options)));
}

EtcdClient::EtcdClient(EtcdClientOptions options) : options_(std::move(options)) {
  for (const std::string& endpoint : options_.endpoints) {
    members_.push_back(std::make_unique<EtcdMember>(endpoint, options_.credentials));
  }
}

EtcdClient::~EtcdClient() {
  std::vector<std::shared_ptr<grpc::ClientContext>> contexts;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    for (const auto& [call, context] : calls_) contexts.push_back(context);
  }
  for (const auto& context : contexts) context->TryCancel();
  MutexLock lock(&mutex_);
  while (!calls_.empty()) calls_changed_.Wait(&mutex_);
}

void EtcdClient::Decorate(grpc::ClientContext* context) const {
  // A member without a leader refuses the call at once, and another is tried.
  context->AddMetadata("hasleader", "true");
  if (!token_.empty()) context->AddMetadata("token", token_);
}

void EtcdClient::AvoidMember(size_t member) {
  MutexLock lock(&mutex_);
  if (present_ == member) present_ = (member + 1) % members_.size();
}

template <typename Response, typename Start>
void EtcdClient::Make(Subject subject, size_t bytes, absl::Duration timeout, Start start, Done<Response> done) {
  if (bytes > kEtcdRequestBytesMax) {
    return done(absl::InvalidArgumentError(absl::StrCat("etcd: ", subject.method,
                                                        ": the request is too long (key=", subject.key,
                                                        ", bytes=", bytes, ", limit=", kEtcdRequestBytesMax, ")")));
  }
  const auto response = std::make_shared<Response>();  // shared by the attempts and the end
  Attempt attempt = [start, response](const EtcdMember& member, grpc::ClientContext* context,
                                      std::function<void(grpc::Status)> answered) {
    start(member, context, response.get(), std::move(answered));
  };
  auto* const call =
      new Call(this, std::move(subject), timeout, std::move(attempt), [response, done](const absl::Status& status) {
        if (!status.ok()) return done(status);
        done(std::move(*response));
      });
  call->Try();
}

void EtcdClient::Range(const etcdserverpb::RangeRequest& request, absl::Duration timeout,
                       Done<etcdserverpb::RangeResponse> done) {
  Make<etcdserverpb::RangeResponse>(
      {"Range", request.key()}, request.ByteSizeLong(), timeout,
      [request](const EtcdMember& member, grpc::ClientContext* context, auto* response, auto answered) {
        member.kv->async()->Range(context, &request, response, std::move(answered));
      },
      std::move(done));
}

void EtcdClient::Txn(const etcdserverpb::TxnRequest& request, const std::string& key, absl::Duration timeout,
                     Done<etcdserverpb::TxnResponse> done) {
  Make<etcdserverpb::TxnResponse>(
      {"Txn", key}, request.ByteSizeLong(), timeout,
      [request](const EtcdMember& member, grpc::ClientContext* context, auto* response, auto answered) {
        member.kv->async()->Txn(context, &request, response, std::move(answered));
      },
      std::move(done));
}

void EtcdClient::GrantLease(int64_t seconds, absl::Duration timeout, Done<etcdserverpb::LeaseGrantResponse> done) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(seconds);
  Make<etcdserverpb::LeaseGrantResponse>(
      {"LeaseGrant", ""}, 0, timeout,
      [request](const EtcdMember& member, grpc::ClientContext* context, auto* response, auto answered) {
        member.lease->async()->LeaseGrant(context, &request, response, std::move(answered));
      },
      std::move(done));
}

void EtcdClient::RevokeLease(int64_t lease, absl::Duration timeout, Done<etcdserverpb::LeaseRevokeResponse> done) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  Make<etcdserverpb::LeaseRevokeResponse>(
      {"LeaseRevoke", ""}, 0, timeout,
      [request](const EtcdMember& member, grpc::ClientContext* context, auto* response, auto answered) {
        member.lease->async()->LeaseRevoke(context, &request, response, std::move(answered));
      },
      std::move(done));
}

void EtcdClient::KeepLeaseAlive(int64_t lease, absl::Duration timeout,
                                Done<etcdserverpb::LeaseKeepAliveResponse> done) {
  Make<etcdserverpb::LeaseKeepAliveResponse>(
      {"LeaseKeepAlive", ""}, 0, timeout,
      [lease](const EtcdMember& member, grpc::ClientContext* context, auto* response, auto answered) {
        (new KeepAliveAttempt(lease, response, std::move(answered)))->Start(member.lease.get(), context);
      },
      std::move(done));
}

std::string EtcdClient::OpenWatch(grpc::ClientContext* context, WatchReactor* reactor) {
  MutexLock lock(&mutex_);
  Decorate(context);
  const EtcdMember& member = *members_[present_];
  member.watch->async()->Watch(context, reactor);
  return member.endpoint;
}

}  // namespace copse::planner
