// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/test_fabric.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "testbed/fabric/frame.h"
#include "testbed/processes/programs.h"

namespace copse::fabric {
namespace {

using procs::ChildProcess;

constexpr absl::Duration kPatience = absl::Seconds(30);

// Runs `what` in a new thread inside the namespace, so that the caller's thread stays where it is.
absl::Status In(const std::string& netns, const std::function<absl::Status()>& what) {
  absl::Status result;
  std::thread([&] {
    const UniqueFd fd(open(netns.c_str(), O_RDONLY | O_CLOEXEC));
    result = fd.valid() && setns(fd.get(), CLONE_NEWNET) == 0 ? what() : absl::ErrnoToStatus(errno, netns);
  }).join();
  return result;
}

}  // namespace

sockaddr_in SocketAddress(uint32_t address, uint16_t port) {
  return {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(address)}, .sin_zero = {}};
}

absl::Status CheckFabric() {
  if (geteuid() != 0) {
    return absl::PermissionDeniedError(absl::StrCat("fabric: needs root, for namespaces (uid=", geteuid(), ")"));
  }
  if (access("/dev/net/tun", R_OK | W_OK) != 0) {
    return absl::UnavailableError("fabric: needs TUN, which this machine has not (file=/dev/net/tun)");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ChildProcess>> HoldNamespace() {
  ASSIGN_OR_RETURN(
      std::unique_ptr<ChildProcess> holder,
      ChildProcess::Start({.arguments = {"/usr/bin/unshare", "--net", "/bin/sh", "-c", "echo here; exec cat"},
                           .stdin_pipe = true,
                           .stdout_pipe = true}));
  RETURN_IF_ERROR(holder->ReadLine(kPatience).status());
  return holder;
}

std::string NamespaceOf(const ChildProcess& holder) { return absl::StrCat("/proc/", holder.pid(), "/ns/net"); }

absl::StatusOr<std::unique_ptr<TestFabric>> TestFabric::Start(const std::string& topology, uint32_t nodes) {
  RETURN_IF_ERROR(CheckFabric());
  std::unique_ptr<TestFabric> fabric(new TestFabric);
  RETURN_IF_ERROR(fabric->StartIn(topology, nodes));
  return fabric;
}

absl::Status TestFabric::StartIn(const std::string& topology, uint32_t nodes) {
  socket_ = folder_ / "control";
  const std::string file = folder_ / "topology.yaml";
  std::ofstream(file) << topology;
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("testbed/fabric/copse-fabric"));
  procs::ChildOptions options = {.arguments = {program, "--topology", file, "--control", socket_},
                                 .stdin_pipe = true,
                                 .stdout_pipe = true,
                                 .log_file = folder_ / "log"};
  for (uint32_t node = 0; node < nodes; ++node) {
    ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> holder, HoldNamespace());
    holders_.push_back(std::move(holder));
    options.arguments.push_back(absl::StrCat("--node=n", node + 1, "=", Namespace(node)));
  }
  ASSIGN_OR_RETURN(process_, ChildProcess::Start(options));
  const absl::StatusOr<std::string> ready = process_->ReadLine(kPatience);
  if (!ready.ok() || *ready != "ready") {
    return absl::InternalError(absl::StrCat("not ready: ", procs::ContentOf(options.log_file)));
  }
  ASSIGN_OR_RETURN(FabricControl control, FabricControl::Connect(socket_));
  control_ = std::make_unique<FabricControl>(std::move(control));
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> TestFabric::Socket(uint32_t node, int type, uint16_t port) {
  UniqueFd fd;
  RETURN_IF_ERROR(In(Namespace(node), [&] {
    fd = UniqueFd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    return fd.valid() ? absl::OkStatus() : absl::ErrnoToStatus(errno, "socket");
  }));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = SocketAddress(INADDR_ANY, port);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::ErrnoToStatus(errno, "bind");
  }
  return fd;
}

absl::StatusOr<TestFabric::Connection> TestFabric::Connect(uint32_t from, uint32_t to, uint16_t port) {
  ASSIGN_OR_RETURN(const UniqueFd listener, Socket(to, SOCK_STREAM, port));
  if (listen(listener.get(), 1) != 0) return absl::ErrnoToStatus(errno, "listen");
  Connection connection;
  ASSIGN_OR_RETURN(connection.sender, Socket(from, SOCK_STREAM, 0));
  const sockaddr_in address = SocketAddress(AddressOf(to), port);
  if (connect(connection.sender.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::ErrnoToStatus(errno, "connect");
  }
  connection.receiver = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.receiver.valid()) return absl::ErrnoToStatus(errno, "accept");
  return connection;
}

bool TestFabric::HasDevice(uint32_t node) {
  return In(Namespace(node),
            [] { return if_nametoindex("eth0") != 0 ? absl::OkStatus() : absl::NotFoundError("eth0"); })
      .ok();
}

}  // namespace copse::fabric
