// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/planner_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "rpc/control_conversion.h"
#include "rpc/credentials.h"

namespace copse::daemon {
namespace {

constexpr absl::Duration kKeepalive = absl::Seconds(20);
constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(10);
// So long a planner may take to answer a connection, if there are others.
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> NewPlannerChannel(const std::string& address,
                                                                 const PlannerAccess& access, bool is_one_of_many) {
  RETURN_IF_ERROR(rpc::CheckAddress(address));
  ASSIGN_OR_RETURN(
      const std::shared_ptr<grpc::ChannelCredentials> credentials,
      rpc::CredentialsFactory({.insecure = access.insecure, .identity = access.identity}).Channel(address));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(absl::ToInt64Milliseconds(kKeepalive)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(absl::ToInt64Milliseconds(kKeepaliveTimeout)));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  if (is_one_of_many) {
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(absl::ToInt64Milliseconds(kConnectTimeout)));
  }
  arguments.SetMaxReceiveMessageSize(rpc::kMessageBytesMax);
  arguments.SetMaxSendMessageSize(rpc::kMessageBytesMax);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace copse::daemon
