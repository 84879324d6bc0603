// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/admin_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "rpc/credentials.h"
#include "rpc/status.h"

namespace copse::ctl {
namespace {

// Limits one answer; a plan of a million nodes takes some 50 MB.
constexpr int kAnswerBytesMax = 256 << 20;
constexpr int kConnectMsMax = 1000;

// Shortens gRPC's message, "failed to connect to all addresses; last error: UNKNOWN: Failed to connect to remote host:
// Connection refused", to the reason after its last prefix.
std::string WhyUnreachable(const std::string& message) {
  const size_t at = message.rfind("Failed to connect to remote host: ");
  if (at != std::string::npos) return message.substr(message.find(": ", at) + 2);
  return message.empty() ? "no connection" : message;
}

}  // namespace

AdminClient::AdminClient(const AdminClientOptions& options, std::string token, std::vector<std::string> endpoints)
    : options_(options),
      token_(std::move(token)),
      deadline_(absl::Now() + options.timeout),
      others_(endpoints.begin() + 1, endpoints.end()),
      untried_(others_) {}

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(const AdminClientOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> endpoints, rpc::ParseAddresses(options.endpoint));
  ASSIGN_OR_RETURN(const std::vector<std::string> tokens, rpc::ReadTokenFile(options.token_file));
  std::unique_ptr<AdminClient> client(new AdminClient(options, tokens.empty() ? "" : tokens.front(), endpoints));
  // The last one connected to is the one in use; all addresses are checked.
  for (auto endpoint = endpoints.rbegin(); endpoint != endpoints.rend(); ++endpoint) {
    RETURN_IF_ERROR(client->Connect(*endpoint));
  }
  return client;
}

absl::Status AdminClient::Connect(const std::string& endpoint) {
  ASSIGN_OR_RETURN(
      const std::shared_ptr<grpc::ChannelCredentials> credentials,
      rpc::CredentialsFactory({.insecure = options_.insecure, .insecure_by = "--insecure"}).Channel(endpoint));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // no proxy within the cluster's network
  arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
  // The host of one of several planners may have vanished: time remains for the others.
  if (!others_.empty()) arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMsMax);
  const auto channel = grpc::CreateCustomChannel(endpoint, credentials, arguments);
  stubs_ = {v1::AdminService::NewStub(channel), v1::NodeAdminService::NewStub(channel)};
  return absl::OkStatus();
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
  const std::string message(status.message());
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(
        absl::StrCat("cannot reach the server: ", WhyUnreachable(message), " (endpoint=", options_.endpoint, ")"));
  }
  if (absl::IsDeadlineExceeded(status) && absl::Now() >= deadline_) {
    return absl::DeadlineExceededError(absl::StrCat("no answer in time (endpoint=", options_.endpoint,
                                                    ", limit=", FormatShortDuration(options_.timeout), ")"));
  }
  if (absl::IsUnimplemented(status)) {
    return absl::UnimplementedError(absl::StrCat(
        "the server does not offer this: is it an older one, or a daemon? (endpoint=", options_.endpoint, ")"));
  }
  return status;
}

}  // namespace copse::ctl
