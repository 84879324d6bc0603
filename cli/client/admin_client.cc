// SPDX-License-Identifier: Apache-2.0
#include "cli/client/admin_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "google/protobuf/message.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "rpc/credentials.h"
#include "rpc/identity.h"
#include "rpc/status.h"

namespace copse::ctl {
namespace {

// Limits one answer; a plan of a million nodes takes some 50 MB.
constexpr int kAnswerBytesMax = 256 << 20;
constexpr int kConnectMsMax = 1000;

// Returns null without files. Errors name options, or keys.
absl::StatusOr<std::shared_ptr<const rpc::Identity>> OpenIdentity(const AdminClientOptions& options) {
  const absl::StatusOr<config::TlsFiles> files = config::CompleteTlsFiles(options.tls, "");
  if (files.ok() && !files->given()) return nullptr;
  absl::StatusOr<std::shared_ptr<const rpc::Identity>> identity =
      files.ok() ? rpc::Identity::Open(*files, {}) : files.status();
  if (identity.ok() || options.by_keys) return identity;
  return absl::Status(
      identity.status().code(),
      absl::StrReplaceAll(
          identity.status().message(),
          {{"tls_cert", "--cert"}, {"tls_key", "--key"}, {"tls_ca", "--cacert"}, {"tls_crl_dir", "--crl-dir"}}));
}

// Returns why a server lacks a method: it is of the other kind, or older.
absl::Status Missing(const AdminClientOptions& options, bool is_planner, bool is_daemon) {
  const bool wants_daemon = options.server == "node";
  if (wants_daemon && is_planner && !is_daemon) {
    return absl::UnimplementedError(absl::StrCat(
        "this is a planner, and the question is for a daemon, at its admin_listen (endpoint=", options.endpoint,
        ", server=planner, wanted=daemon)"));
  }
  if (!wants_daemon && is_daemon && !is_planner) {
    return absl::UnimplementedError(
        absl::StrCat("this is a daemon, and the question is for a planner, at its listen (endpoint=", options.endpoint,
                     ", server=daemon, wanted=planner)"));
  }
  return absl::UnimplementedError(
      absl::StrCat("the server does not offer this: is it an older one? (endpoint=", options.endpoint, ")"));
}

}  // namespace

// A Connection calls methods of any service: stubs of services would do the same, and make all who include them compile
// for seconds longer.
class AdminClient::Connection {
 public:
  explicit Connection(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}

  // Calls a method with one request, waits, and merges what the server answers.
  grpc::Status Call(grpc::ClientContext* context, const char* path, const google::protobuf::Message& request,
                    google::protobuf::Message* reply) {
    using Traits = grpc::SerializationTraits<google::protobuf::Message>;
    grpc::ByteBuffer bytes;
    bool owned = false;
    if (const grpc::Status written = Traits::Serialize(request, &bytes, &owned); !written.ok()) return written;
    grpc::CompletionQueue queue;
    const auto call = stub_.PrepareCall(context, path, &queue);
    const auto done = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    call->StartCall(nullptr);
    if (done()) {
      call->WriteLast(bytes, {}, nullptr);
      done();  // False if the server has ended the call. It may have answered before: gRPC waits until that is read.
    }
    grpc::Status parsed;
    const std::unique_ptr<google::protobuf::Message> piece(reply->New());
    bool is_first = true, goes_on = true;
    while (goes_on) {
      grpc::ByteBuffer answer;
      call->Read(&answer, nullptr);
      goes_on = done();
      if (!goes_on) break;
      parsed = Traits::Deserialize(&answer, is_first ? reply : piece.get());
      goes_on = parsed.ok();
      if (!std::exchange(is_first, false)) reply->MergeFrom(*piece);
    }
    if (!parsed.ok()) context->TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    done();
    return parsed.ok() ? status : parsed;
  }

  // Returns whether the server has the service of this Ping.
  bool Offers(grpc::ClientContext* context, const v1::Method<v1::PingRequest, v1::PingReply>& ping) {
    v1::PingReply reply;
    const grpc::StatusCode code = Call(context, ping.path, v1::PingRequest(), &reply).error_code();
    // A server that refuses the caller has the service, too.
    return code == grpc::StatusCode::OK || code == grpc::StatusCode::PERMISSION_DENIED ||
           code == grpc::StatusCode::UNAUTHENTICATED;
  }

 private:
  grpc::GenericStub stub_;
};

AdminClient::AdminClient(const AdminClientOptions& options, std::string token, std::vector<std::string> endpoints,
                         std::shared_ptr<const rpc::Identity> identity)
    : options_(options),
      token_(std::move(token)),
      identity_(std::move(identity)),
      deadline_(absl::Now() + options.timeout),
      others_(endpoints.begin() + 1, endpoints.end()),
      untried_(others_) {}

AdminClient::~AdminClient() = default;

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(const AdminClientOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> endpoints, rpc::ParseAddresses(options.endpoint));
  ASSIGN_OR_RETURN(const std::vector<std::string> tokens, rpc::ReadTokenFile(options.token_file));
  ASSIGN_OR_RETURN(std::shared_ptr<const rpc::Identity> identity, OpenIdentity(options));
  std::unique_ptr<AdminClient> client(
      new AdminClient(options, tokens.empty() ? "" : tokens.front(), endpoints, std::move(identity)));
  // The last one connected to is the one in use; all addresses are checked.
  for (auto endpoint = endpoints.rbegin(); endpoint != endpoints.rend(); ++endpoint) {
    RETURN_IF_ERROR(client->Connect(*endpoint));
  }
  return client;
}

absl::Status AdminClient::Connect(const std::string& endpoint) {
  const rpc::CredentialsFactory factory(
      {.insecure = options_.insecure,
       .identity = identity_,
       .servers = {options_.server},
       .identity_by = options_.by_keys ? "tls_cert, tls_key and tls_ca" : "--cert, --key and --cacert",
       .insecure_by = options_.by_keys ? "insecure: true" : "--insecure"});
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials, factory.Channel(endpoint));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // no proxy within the cluster's network
  arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
  // The host of one of several planners may have vanished: time remains for the others.
  if (!others_.empty()) arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMsMax);
  connection_ = std::make_unique<Connection>(grpc::CreateCustomChannel(endpoint, credentials, arguments));
  return absl::OkStatus();
}

absl::Status AdminClient::CallPath(const char* path, const char* otherwise, const google::protobuf::Message& request,
                                   google::protobuf::Message* reply) {
  while (true) {
    grpc::ClientContext context;
    SetUp(&context);
    const grpc::Status status = connection_->Call(&context, path, request, reply);
    if (status.ok()) {
      untried_ = others_;
      return absl::OkStatus();
    }
    reply->Clear();
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && otherwise != nullptr) {
      path = std::exchange(otherwise, nullptr);
      continue;
    }
    if (!FindAnother(context, status)) return Explain(status);
  }
}

bool AdminClient::FindAnother(const grpc::ClientContext& context, const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return false;
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto leader = metadata.find(rpc::kLeaderMetadataKey);
  if (leader != metadata.end() && !std::exchange(follows_, true)) {
    return Connect(std::string(leader->second.data(), leader->second.size())).ok();
  }
  follows_ = false;
  if (untried_.empty()) return false;
  const std::string next = untried_.front();
  untried_.erase(untried_.begin());
  return Connect(next).ok();
}

void AdminClient::SetUp(grpc::ClientContext* context) const {
  context->set_deadline(absl::ToChronoTime(deadline_));
  if (!token_.empty()) context->AddMetadata(rpc::kTokenMetadataKey, token_);
}

absl::Status AdminClient::Explain(const grpc::Status& from) const {
  const absl::Status status = rpc::FromGrpc(from);
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(
        absl::StrCat("cannot reach the server: ", rpc::WhyUnreachable(status, identity_ != nullptr),
                     " (endpoint=", options_.endpoint, ")"));
  }
  if (absl::IsDeadlineExceeded(status) && absl::Now() >= deadline_) {
    return absl::DeadlineExceededError(absl::StrCat("no answer in time (endpoint=", options_.endpoint,
                                                    ", limit=", FormatShortDuration(options_.timeout), ")"));
  }
  if (!absl::IsUnimplemented(status)) return status;
  grpc::ClientContext of_planner, of_daemon;
  SetUp(&of_planner);
  SetUp(&of_daemon);
  const bool is_planner = connection_->Offers(&of_planner, PlannerAdmin::Ping);
  const bool is_daemon = connection_->Offers(&of_daemon, DaemonAdmin::Ping);
  return Missing(options_, is_planner, is_daemon);
}

}  // namespace copse::ctl
