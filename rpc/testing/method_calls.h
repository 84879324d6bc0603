// SPDX-License-Identifier: Apache-2.0
//
// Calls any method of any service, as whoever the test likes.
#ifndef COPSE_RPC_TESTING_METHOD_CALLS_H_
#define COPSE_RPC_TESTING_METHOD_CALLS_H_

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/config/tls_files.h"

namespace copse::rpc {

// Returns all methods, such as "/copse.v1.AdminService/Ping", as the services' descriptors have them.
std::set<std::string> MethodsOfServices();

// Returns a new connection's channel, shared with no other one.
std::shared_ptr<grpc::Channel> ChannelOfItsOwn(const std::string& address,
                                               const std::shared_ptr<grpc::ChannelCredentials>& credentials);

// Returns credentials of a client that checks neither itself nor the server. Empty files: it has no certificate.
std::shared_ptr<grpc::ChannelCredentials> CarelessCredentials(const config::TlsFiles& files);

// Calls a method with an empty request, and takes one message at most. Returns OK if there is one, or the call ends
// well, else how it ends; DEADLINE_EXCEEDED after a minute.
absl::Status CallEmpty(const std::shared_ptr<grpc::Channel>& channel, const std::string& method);

}  // namespace copse::rpc

#endif  // COPSE_RPC_TESTING_METHOD_CALLS_H_
