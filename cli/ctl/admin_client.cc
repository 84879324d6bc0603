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

// Shortens gRPC's message, "failed to connect to all addresses; last error: UNKNOWN: Failed to connect to remote host:
// Connection refused", to the reason after its last prefix.
std::string WhyUnreachable(const std::string& message) {
  const size_t at = message.rfind("Failed to connect to remote host: ");
  if (at != std::string::npos) return message.substr(message.find(": ", at) + 2);
  return message.empty() ? "no connection" : message;
}

}  // namespace

AdminClient::AdminClient(const AdminClientOptions& options, std::string token,
                         const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : options_(options), token_(std::move(token)), deadline_(absl::Now() + options.timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // no proxy within the cluster's network
  arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
  const auto channel = grpc::CreateCustomChannel(options.endpoint, credentials, arguments);
  stubs_ = {v1::AdminService::NewStub(channel), v1::NodeAdminService::NewStub(channel)};
}

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(const AdminClientOptions& options) {
  RETURN_IF_ERROR(rpc::CheckAddress(options.endpoint));
  ASSIGN_OR_RETURN(const std::vector<std::string> tokens, rpc::ReadTokenFile(options.token_file));
  ASSIGN_OR_RETURN(
      const std::shared_ptr<grpc::ChannelCredentials> credentials,
      rpc::CredentialsFactory({.insecure = options.insecure, .insecure_by = "--insecure"}).Channel(options.endpoint));
  return std::unique_ptr<AdminClient>(new AdminClient(options, tokens.empty() ? "" : tokens.front(), credentials));
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
