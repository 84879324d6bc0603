// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/testing/etcd_cluster.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "planner/etcd/testing/admin.pb.h"
#include "rpc/status.h"

namespace copse::planner::testing {
namespace {

constexpr absl::Duration kStartMax = absl::Seconds(30);

// Returns ports that nothing listens on at present, all different.
std::vector<int> FreePorts(size_t count) {
  std::vector<int> sockets, ports;
  for (size_t i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    sockets.push_back(fd);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int fd : sockets) close(fd);
  return ports;
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::Status RunOpenssl(std::vector<std::string> arguments, const std::string& log) {
  arguments.insert(arguments.begin(), "/usr/bin/openssl");
  ASSIGN_OR_RETURN(const auto process, procs::ChildProcess::Start({.arguments = arguments, .log_file = log}));
  RETURN_IF_ERROR(process->AwaitEnd(kStartMax));
  if (process->exit_code() != 0) return absl::InternalError(process->DescribeFailure());
  return absl::OkStatus();
}

// Makes a call that EtcdClient does not have, at one endpoint without TLS.
template <typename Request>
absl::Status Administer(const std::string& endpoint, const std::string& method, const Request& request) {
  const auto channel = grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
  grpc::TemplatedGenericStub<Request, etcdserverpb::Nothing> stub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kStartMax));
  etcdserverpb::Nothing response;
  return Await<etcdserverpb::Nothing>([&](auto done) {
           stub.UnaryCall(&context, method, {}, &request, &response, [done](const grpc::Status& status) {
             if (status.ok()) return done(etcdserverpb::Nothing());
             done(rpc::FromGrpc(status));
           });
         })
      .status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdCluster>> EtcdCluster::Start(const EtcdClusterOptions& options) {
  std::unique_ptr<EtcdCluster> cluster(new EtcdCluster(options));
  if (options.tls) RETURN_IF_ERROR(cluster->MakeCertificates());
  const std::vector<int> ports = FreePorts(2 * options.members);
  std::string peers;
  for (size_t i = 0; i < options.members; ++i) {
    absl::StrAppend(&peers, i == 0 ? "" : ",", "m", i, "=http://127.0.0.1:", ports[2 * i + 1]);
    cluster->endpoints_.push_back(absl::StrCat("127.0.0.1:", ports[2 * i]));
  }
  const std::string& folder = cluster->folder_.path();
  for (size_t i = 0; i < options.members; ++i) {
    const std::string client = absl::StrCat(options.tls ? "https://" : "http://", cluster->endpoints_[i]);
    const std::string peer = absl::StrCat("http://127.0.0.1:", ports[2 * i + 1]);
    Member member;
    member.command = {"/usr/bin/etcd",
                      absl::StrCat("--name=m", i),
                      absl::StrCat("--data-dir=", folder, "/m", i),
                      "--listen-client-urls=" + client,
                      "--advertise-client-urls=" + client,
                      "--listen-peer-urls=" + peer,
                      "--initial-advertise-peer-urls=" + peer,
                      "--initial-cluster=" + peers,
                      "--logger=zap",
                      "--log-level=warn",
                      absl::StrCat("--quota-backend-bytes=", options.quota_bytes)};
    if (options.tls) {
      const std::vector<std::string> flags = {"--client-cert-auth", "--trusted-ca-file=" + folder + "/ca.crt",
                                              "--cert-file=" + folder + "/server.crt",
                                              "--key-file=" + folder + "/server.key"};
      member.command.insert(member.command.end(), flags.begin(), flags.end());
    }
    RETURN_IF_ERROR(cluster->Run(&member));
    cluster->members_.push_back(std::move(member));
  }
  if (options.allowed_keys.empty()) {
    RETURN_IF_ERROR(cluster->AwaitHealth());
  } else {
    RETURN_IF_ERROR(cluster->AllowKeys());
  }
  return cluster;
}

absl::Status EtcdCluster::Run(Member* member) const {
  ASSIGN_OR_RETURN(member->process, procs::ChildProcess::Start({.arguments = member->command,
                                                                .environment = {{"GOMAXPROCS", "2"}},
                                                                .log_file = folder_ / "log"}));
  return absl::OkStatus();
}

EtcdClientOptions EtcdCluster::ClientOptions() const {
  EtcdClientOptions options{.endpoints = endpoints_, .credentials = grpc::InsecureChannelCredentials()};
  if (options_.tls) {
    options.credentials = grpc::SslCredentials({.pem_root_certs = certificates_.ca,
                                                .pem_private_key = certificates_.client_key,
                                                .pem_cert_chain = certificates_.client});
  }
  if (!options_.allowed_keys.empty()) {
    options.user = kUser;
    options.password = kPassword;
  }
  return options;
}

void EtcdCluster::Kill(size_t member) { members_[member].process.reset(); }
void EtcdCluster::Pause(size_t member) { members_[member].process->Signal(SIGSTOP); }
void EtcdCluster::Resume(size_t member) { members_[member].process->Signal(SIGCONT); }
absl::Status EtcdCluster::Restart(size_t member) { return Run(&members_[member]); }

absl::Status EtcdCluster::AwaitHealth() const {
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].process == nullptr) continue;
    EtcdClientOptions options = ClientOptions();
    options.endpoints = {endpoints_[i]};
    RETURN_IF_ERROR(ReadAnything(EtcdClient::Create(std::move(options)).value().get()));
  }
  return absl::OkStatus();
}

absl::Status EtcdCluster::ReadAnything(EtcdClient* client) const {
  etcdserverpb::RangeRequest request;
  request.set_key(options_.allowed_keys.empty() ? "health" : options_.allowed_keys);
  return Await<etcdserverpb::RangeResponse>([&](auto done) { client->Range(request, kStartMax, done); }).status();
}

absl::Status EtcdCluster::Compact(int64_t revision) const {
  etcdserverpb::CompactionRequest request;
  request.set_revision(revision);
  request.set_physical(true);
  return Administer(endpoints_[0], "/etcdserverpb.KV/Compact", request);
}

absl::Status EtcdCluster::AllowKeys() const {
  const auto client =
      EtcdClient::Create({.endpoints = endpoints_, .credentials = grpc::InsecureChannelCredentials()}).value();
  RETURN_IF_ERROR(ReadAnything(client.get()));
  for (const std::string name : {"root", kUser}) {
    etcdserverpb::AuthUserAddRequest user;
    user.set_name(name);
    user.set_password(kPassword);
    RETURN_IF_ERROR(Administer(endpoints_[0], "/etcdserverpb.Auth/UserAdd", user));
    etcdserverpb::AuthRoleAddRequest role;
    role.set_name(name);
    RETURN_IF_ERROR(Administer(endpoints_[0], "/etcdserverpb.Auth/RoleAdd", role));
    etcdserverpb::AuthUserGrantRoleRequest grant;
    grant.set_user(name);
    grant.set_role(name);
    RETURN_IF_ERROR(Administer(endpoints_[0], "/etcdserverpb.Auth/UserGrantRole", grant));
  }
  etcdserverpb::AuthRoleGrantPermissionRequest permission;
  permission.set_name(kUser);
  permission.mutable_perm()->set_permtype(2);
  permission.mutable_perm()->set_key(options_.allowed_keys);
  std::string end = options_.allowed_keys;
  ++end.back();
  permission.mutable_perm()->set_range_end(end);
  RETURN_IF_ERROR(Administer(endpoints_[0], "/etcdserverpb.Auth/RoleGrantPermission", permission));
  return Administer(endpoints_[0], "/etcdserverpb.Auth/AuthEnable", etcdserverpb::Nothing());
}

absl::Status EtcdCluster::MakeCertificates() {
  const auto file = [&](const std::string& name) { return folder_ / name; };
  const std::string log = file("openssl.log");
  for (const std::string ca : {"ca", "other_ca"}) {
    RETURN_IF_ERROR(
        RunOpenssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=" + ca, "-keyout", file(ca + ".key"), "-out", file(ca + ".crt")},
                   log));
  }
  for (const std::string name : {"server", "client"}) {
    RETURN_IF_ERROR(RunOpenssl(
        {"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name, "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", file(name + ".key"), "-out", file(name + ".csr")},
        log));
    RETURN_IF_ERROR(
        RunOpenssl({"x509", "-req", "-in", file(name + ".csr"), "-CA", file("ca.crt"), "-CAkey", file("ca.key"),
                    "-CAcreateserial", "-days", "2", "-copy_extensions", "copyall", "-out", file(name + ".crt")},
                   log));
  }
  certificates_ = {.ca = Content(file("ca.crt")),
                   .other_ca = Content(file("other_ca.crt")),
                   .client = Content(file("client.crt")),
                   .client_key = Content(file("client.key"))};
  return absl::OkStatus();
}

}  // namespace copse::planner::testing
