// SPDX-License-Identifier: Apache-2.0
//
// Stands between daemons and their planner, and records what they send to each other (recorded_stream.h).
//
//     record_stream PLANNER FILE PORT_FILE
//
// Passes streams of Attach on to the planner at HOST:PORT, and writes the messages to FILE; its own address is written
// to PORT_FILE. A daemon of this version takes it for a planner of 0.2.0. Ends at the end of standard input.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/testing/recorded_stream.h"

namespace copse::rpc {
namespace {

class Recorder final : public v1::DaemonService::Service {
 public:
  Recorder(const std::string& planner, const std::string& file)
      : stub_(v1::DaemonService::NewStub(grpc::CreateChannel(planner, grpc::InsecureChannelCredentials()))),
        file_(file) {}

 private:
  grpc::Status Attach(grpc::ServerContext*, grpc::ServerReaderWriter<v1::ToDaemon, v1::FromDaemon>* daemon) override {
    v1::FromDaemon first;
    if (!daemon->Read(&first)) return grpc::Status::OK;
    const std::string node = first.register_().node().name();
    grpc::ClientContext context;
    const auto planner = stub_->Attach(&context);
    Note({node, first});
    planner->Write(first);
    std::thread answers([&] {
      for (v1::ToDaemon message; planner->Read(&message);) {
        Note({node, message});
        daemon->Write(message);
      }
    });
    for (v1::FromDaemon message; daemon->Read(&message);) {
      Note({node, message});
      planner->Write(message);
    }
    context.TryCancel();
    answers.join();
    return grpc::Status::OK;
  }

  void Note(const RecordedMessage& message) {
    const MutexLock lock(&mutex_);
    file_ << RecordingOf(message) << std::flush;
  }

  const std::unique_ptr<v1::DaemonService::Stub> stub_;
  Mutex mutex_;
  std::ofstream file_ ABSL_GUARDED_BY(mutex_);
};

int Run(const std::string& planner, const std::string& file, const std::string& port_file) {
  Recorder recorder(planner, file);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&recorder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::ofstream(port_file) << "127.0.0.1:" << port << std::endl;
  while (std::cin.get() != std::char_traits<char>::eof()) continue;
  return 0;
}

}  // namespace
}  // namespace copse::rpc

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: record_stream PLANNER FILE PORT_FILE\n";
    return 2;
  }
  return copse::rpc::Run(argv[1], argv[2], argv[3]);
}
