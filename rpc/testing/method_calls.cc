// SPDX-License-Identifier: Apache-2.0
#include "rpc/testing/method_calls.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_message_reflection.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "proto/copse/v1/admin_service.pb.h"
#include "proto/copse/v1/daemon_service.pb.h"
#include "proto/copse/v1/node_admin_service.pb.h"
#include "rpc/status.h"

namespace copse::rpc {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

// Waits for the only operation that was begun.
bool Await(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  CHECK(queue->Next(&tag, &ok));
  return ok;
}

}  // namespace

std::set<std::string> MethodsOfServices() {
  // The descriptors of a file are known once something of it is used.
  const google::protobuf::internal::AddDescriptorsRunner admin(
      &descriptor_table_proto_2fcopse_2fv1_2fadmin_5fservice_2eproto);
  const google::protobuf::internal::AddDescriptorsRunner daemon(
      &descriptor_table_proto_2fcopse_2fv1_2fdaemon_5fservice_2eproto);
  const google::protobuf::internal::AddDescriptorsRunner node(
      &descriptor_table_proto_2fcopse_2fv1_2fnode_5fadmin_5fservice_2eproto);
  std::set<std::string> methods;
  for (const char* name : {"AdminService", "DaemonService", "NodeAdminService"}) {
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(std::string("copse.v1.") + name);
    CHECK(service != nullptr);
    for (int i = 0; i < service->method_count(); ++i) {
      methods.insert("/" + service->full_name() + "/" + service->method(i)->name());
    }
  }
  return methods;
}

std::shared_ptr<grpc::Channel> ChannelOfItsOwn(const std::string& address,
                                               const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

std::shared_ptr<grpc::ChannelCredentials> CarelessCredentials(const config::TlsFiles& files) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  if (files.given()) {
    options.set_certificate_provider(
        std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(files.key, files.certificate, 600));
    options.watch_identity_key_cert_pairs();
  }
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

absl::Status CallEmpty(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  grpc::GenericStub stub(channel);
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call = stub.PrepareCall(&context, method, &queue);
  bool replies = false;
  call->StartCall(nullptr);
  if (Await(&queue)) {
    const grpc::Slice empty;
    call->Write(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions().set_last_message(), nullptr);
    Await(&queue);  // fails if the call has ended already
    grpc::ByteBuffer reply;
    call->Read(&reply, nullptr);
    replies = Await(&queue);
    if (replies) context.TryCancel();
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  Await(&queue);
  return replies ? absl::OkStatus() : FromGrpc(status);
}

}  // namespace copse::rpc
