// SPDX-License-Identifier: Apache-2.0
//
// The control streams of many daemons in one process, over gRPC. Each daemon has a connection of its own.
//
//     control_swarm PLANNER NODES [earlier] [authority=DIR]
//
// With `authority` the connections have mutual TLS: each daemon has a certificate of its own, by the authority that
// copse-ca has made in DIR, and believes a planner that this authority has signed.
//
// Reads commands from standard input, one a line, and answers each with one line of key=value pairs:
//     connect SECONDS      begins the streams of all daemons that have none, which took opened_s, and then waits until
//                          the planner has accepted all
//     teams RATE SECONDS   forms RATE teams of 8 nodes a second, one rank a node, and ends each once it is formed
//     keep COUNT SECONDS   forms COUNT teams of 8 nodes, which stay, and waits until all are formed
//     world SECONDS        forms a team of one rank on every node; it stays
//     ranks COUNT SECONDS  forms a team of 8 ranks on each of COUNT nodes
//     beside SECONDS UID JOB NAME
//                          joins the team NAME of user UID and job JOB, with one rank on every node, and waits until it
//                          is formed; its last rank is that of another program
//     lose                 all daemons will lose their streams: those that are registered do not count any more
//     back SECONDS         waits until all daemons are registered again, and counts streams that have ended so far
//                          while their daemons were registered and not lost
// A daemon whose stream ends connects again, and registers with the team of all nodes. The daemons accept all plans
// without a look at them, answer with labels for their neighbors, and report counters when they register and when they
// are asked for them. With `earlier` they are daemons of 0.2.0, which take no contents by name, join by a message for
// each rank, and report nothing.
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/alarm.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/version.h"
#include "daemon/rpc/reconnect_pause.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "offload_emu/ucx/ucx_transport.h"
#include "proto/copse/v1/control.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/message_bytes.h"
#include "rpc/prepare_grpc.h"
#include "rpc/status_report.h"
#include "rpc/team_content.h"
#include "schedule/plan.h"

namespace copse::bench {
namespace {

using google::protobuf::io::CodedInputStream;

constexpr uint32_t kTeamNodes = 8;
constexpr uint32_t kRanksPerNode = 8;
constexpr uint32_t kNodesMax = 1u << 17;
constexpr char kWorld[] = "world";
constexpr uint32_t kCounters = 60;  // about as many as a daemon has
// A stream is given up like a real daemon's (daemon/rpc/planner_stream.cc).
constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
// So many daemons with certificates connect at once: one process makes the handshakes of all, and would answer no ping
// of the planner meanwhile.
constexpr uint32_t kHandshakesMax = 256;
constexpr int kDays = 90;  // the planner warns of certificates that end soon

std::string NameOf(uint32_t node) { return absl::StrFormat("node%06d", node); }

grpc::ByteBuffer Encoded(const schedule::FromDaemon& message) {
  v1::FromDaemon proto;
  rpc::ToProto(message, &proto);
  const grpc::Slice bytes = rpc::Encoded(proto);
  return grpc::ByteBuffer(&bytes, 1);
}

// A Team is formed by the daemons of `members`, in their order.
struct Team {
  std::vector<uint32_t> members;
  absl::Time started;
  bool stays = false;
  bool known = false;                            // a Prepare for it has been decoded
  std::vector<std::vector<uint32_t>> neighbors;  // by node index
  std::map<uint32_t, uint32_t> index_of;         // daemon -> node index
  uint32_t committed = 0;
};

class Swarm;

// A Stream is one daemon's stream. It deletes itself at its end.
class Stream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(Swarm* swarm, uint32_t node, grpc::GenericStub* stub, bool brief) : swarm_(swarm), node_(node) {
    stub->PrepareBidiStreamingCall(
        &context_, brief ? "/copse.v1.DaemonService/AttachBriefly" : "/copse.v1.DaemonService/Attach", {}, this);
    AddHold();  // until reading ends: messages are written by other threads, too
    StartRead(&incoming_);
    StartCall();
  }

  void Write(grpc::ByteBuffer message) {
    const MutexLock lock(&mutex_);
    if (ended_) return;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override {
    const MutexLock lock(&mutex_);
    outgoing_.pop_front();
    if (!ok || ended_) outgoing_.clear();
    if (!outgoing_.empty()) StartWrite(&outgoing_.front());
  }
  void OnDone(const grpc::Status& status) override;

 private:
  Swarm* const swarm_;
  const uint32_t node_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;
  Mutex mutex_;
  std::deque<grpc::ByteBuffer> outgoing_ ABSL_GUARDED_BY(mutex_);  // the first one is being written
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// Returns an address of the data plane that a real daemon can try to connect to, but that never answers.
std::string AddressThatIsSilent() {
  // It is never destroyed, and makes no progress.
  static emu::UcxTransport* const transport = emu::UcxTransport::Create({}).value().release();
  CHECK(transport->Open().ok());
  return transport->LocalAddress();
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  CHECK(file.is_open());
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Makes the daemons' credentials.
class Credentials {
 public:
  // `folder` is copse-ca's; empty: connections are not encrypted.
  explicit Credentials(const std::string& folder) {
    if (folder.empty()) return;
    authority_.emplace(emu::TestCertificate{ContentOf(folder + "/ca.pem"), ContentOf(folder + "/ca.key")});
  }

  bool have_tls() const { return authority_.has_value(); }

  std::shared_ptr<grpc::ChannelCredentials> Of(uint32_t node) const {
    if (!authority_.has_value()) return grpc::InsecureChannelCredentials();
    const emu::TestCertificate own = authority_->Issue({.uri = "spiffe://copse/node/" + NameOf(node), .days = kDays});
    grpc::experimental::TlsChannelCredentialsOptions options;
    options.set_certificate_provider(std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
        authority_->certificate(), std::vector<grpc::experimental::IdentityKeyCertPair>{{own.key, own.certificate}}));
    options.watch_root_certs();
    options.watch_identity_key_cert_pairs();
    options.set_check_call_host(false);
    options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
    return grpc::experimental::TlsCredentials(options);
  }

 private:
  std::optional<emu::TestAuthority> authority_;
};

// All daemons. gRPC's threads call OnMessage and OnEnd; the program's thread calls the others.
class Swarm {
 public:
  Swarm(std::string planner, uint32_t nodes, bool earlier, const Credentials& credentials)
      : planner_(std::move(planner)),
        nodes_(nodes),
        earlier_(earlier),
        address_(AddressThatIsSilent()),
        have_tls_(credentials.have_tls()),
        daemons_(nodes) {
    for (uint32_t node = 0; node < nodes; ++node) {
      daemons_[node].credentials = credentials.Of(node);
      daemons_[node].stub = NewStub(daemons_[node].credentials);
      daemons_[node].pauses = std::make_unique<daemon::ReconnectPause>(daemon::ReconnectPauseOptions(), node);
    }
  }

  // The timeout begins when the last stream has begun: that may be late where other processes take the processor.
  std::string Connect(absl::Duration timeout) {
    const absl::Time start = absl::Now();
    for (uint32_t node = 0; node < nodes_; ++node) Open(node);
    const absl::Time opened = absl::Now();
    return absl::StrCat(Back(start, opened + timeout), " opened_s=", absl::ToDoubleSeconds(opened - start));
  }

  std::string Back(absl::Time start, absl::Time deadline) {
    const MutexLock lock(&mutex_);
    while (registered_ < daemons_.size() && absl::Now() < deadline) changed_.WaitFor(&mutex_, deadline - absl::Now());
    return absl::StrCat("seconds=", absl::ToDoubleSeconds(absl::Now() - start), " registered=", registered_,
                        " refused=", refused_, " broken=", broken_, " ended=", ended_);
  }

  std::string Lose() {
    const MutexLock lock(&mutex_);
    for (Daemon& daemon : daemons_) daemon.registered = false;
    return absl::StrCat("lost=", std::exchange(registered_, 0));
  }

  std::string World(absl::Duration timeout) {
    std::vector<uint32_t> all(nodes_);
    for (uint32_t node = 0; node < all.size(); ++node) all[node] = node;
    const absl::Time start = absl::Now();
    const uint64_t nonce = Form(std::move(all), kWorld);
    return Formed(nonce, start, timeout);
  }

  std::string Ranks(uint32_t nodes, absl::Duration timeout) {
    std::vector<uint32_t> members(std::min(nodes, nodes_));
    for (uint32_t node = 0; node < members.size(); ++node) members[node] = node;
    const absl::Time start = absl::Now();
    const uint64_t nonce = Form(std::move(members), "ranks", /*stays=*/true, kRanksPerNode);
    return Formed(nonce, start, timeout);
  }

  std::string Beside(absl::Duration timeout, schedule::TeamIdentity identity) {
    std::vector<uint32_t> all(nodes_);
    for (uint32_t node = 0; node < all.size(); ++node) all[node] = node;
    const absl::Time start = absl::Now();
    Form(std::move(all), std::move(identity), nodes_ + 1);
    return Formed(0, start, timeout);
  }

  std::string Keep(uint32_t count, absl::Duration timeout) {
    const absl::Time start = absl::Now();
    for (uint64_t i = 0; i < count; ++i) {
      std::vector<uint32_t> members(kTeamNodes);
      for (uint32_t rank = 0; rank < kTeamNodes; ++rank) {
        members[rank] = static_cast<uint32_t>((i * kTeamNodes + rank) % nodes_);
      }
      std::sort(members.begin(), members.end());
      Form(std::move(members), "kept", /*stays=*/true);
    }
    const MutexLock lock(&mutex_);
    while (kept_ < count && absl::Now() < start + timeout) changed_.WaitFor(&mutex_, start + timeout - absl::Now());
    return absl::StrCat("seconds=", absl::ToDoubleSeconds(absl::Now() - start), " kept=", kept_, " aborted=", aborted_);
  }

  std::string Teams(uint32_t rate, absl::Duration duration) {
    {
      const MutexLock lock(&mutex_);
      latencies_ms_.clear();
    }
    const absl::Time start = absl::Now();
    uint64_t begun = 0;
    while (absl::Now() < start + duration) {
      const auto due = static_cast<uint64_t>(absl::ToDoubleSeconds(absl::Now() - start) * rate);
      for (; begun < due; ++begun) {
        std::vector<uint32_t> members(kTeamNodes);
        for (uint32_t i = 0; i < kTeamNodes; ++i) {
          members[i] = static_cast<uint32_t>((begun * kTeamNodes + i) % nodes_);
        }
        std::sort(members.begin(), members.end());
        Form(std::move(members), "team");
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
    const MutexLock lock(&mutex_);
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (latencies_ms_.size() < begun && absl::Now() < deadline) {
      changed_.WaitFor(&mutex_, deadline - absl::Now());
    }
    std::vector<double> sorted = latencies_ms_;
    std::sort(sorted.begin(), sorted.end());
    const size_t formed = sorted.size();
    const auto at = [&sorted](double part) {
      return sorted.empty() ? 0 : sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
    };
    return absl::StrCat("begun=", begun, " formed=", formed, " aborted=", aborted_, " p50_ms=", at(0.5),
                        " p99_ms=", at(0.99));
  }

  void OnMessage(Stream* stream, uint32_t node, grpc::ByteBuffer* message) {
    grpc::ProtoBufferReader reader(message);
    CodedInputStream in(&reader);
    const uint32_t field = in.ReadTag() >> 3;
    if (field == v1::ToDaemon::kPrepareFieldNumber) return OnPrepare(stream, node, message, &in);
    v1::ToDaemon proto;
    CHECK(rpc::Decode(*message, &proto));
    const MutexLock lock(&mutex_);
    switch (proto.message_case()) {
      case v1::ToDaemon::kRegistered:
        ++(proto.registered().accepted() ? registered_ : refused_);
        daemons_[node].registered = proto.registered().accepted();
        daemons_[node].accepted = absl::Now();
        NoteConnected(&daemons_[node]);
        break;
      case v1::ToDaemon::kContentQuery: {
        CHECK(proto.content_query().sha256() == world_content_.sha256());
        v1::FromDaemon answer;
        *answer.mutable_content() = world_content_;
        const grpc::Slice bytes = rpc::Encoded(answer);
        stream->Write(grpc::ByteBuffer(&bytes, 1));
        return;
      }
      case v1::ToDaemon::kStatusQuery:
        stream->Write(Encoded(schedule::StatusReply{.query = proto.status_query().query(), .status = Status(node)}));
        return;
      case v1::ToDaemon::kContent:
        content_bytes_ = message->Length();
        contents_.try_emplace(proto.content().sha256(), std::move(*proto.mutable_content()->mutable_zstd()));
        return;
      case v1::ToDaemon::kCommit:
        stream->Write(Encoded(schedule::CommitReply{TeamId(proto.commit().team()), EpochId(proto.commit().epoch())}));
        OnCommitted(proto.commit().team());
        return;
      case v1::ToDaemon::kAbort:
        ++aborted_;
        break;
      case v1::ToDaemon::kBreakTeam:
        ++broken_;
        break;
      default:
        return;
    }
    changed_.NotifyAll();
  }

  // The stream is at its end: the daemon connects again, after a pause like that of real daemons. With shorter ones
  // they would keep each other, and this process, from connecting for ever, once all have lost a planner.
  void OnEnd(uint32_t node) {
    const MutexLock lock(&mutex_);
    Daemon& daemon = daemons_[node];
    daemon.stream = nullptr;
    if (have_tls_ && daemon.connects) daemon.stub = NewStub(daemon.credentials);  // the old one would try by itself
    NoteConnected(&daemon);
    if (std::exchange(daemon.registered, false)) {
      --registered_;
      ++ended_;
    }
    changed_.NotifyAll();
    const absl::Duration stood =
        absl::Now() - std::min(std::exchange(daemon.accepted, absl::InfiniteFuture()), absl::Now());
    daemon.pause = std::make_unique<grpc::Alarm>();  // what the last one calls may not have returned
    daemon.pause->Set(absl::ToChronoTime(absl::Now() + daemon.pauses->Next(stood)), [this, node](bool) { Open(node); });
  }

 private:
  struct Daemon {
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    std::unique_ptr<grpc::GenericStub> stub;
    bool connects = false;  // its stream has begun, and the planner has not accepted it
    Stream* stream = nullptr;
    std::unique_ptr<daemon::ReconnectPause> pauses;
    std::unique_ptr<grpc::Alarm> pause;  // before it connects again
    bool registered = false;
    absl::Time accepted = absl::InfiniteFuture();  // when its stream was
    uint64_t requests = 0;
  };

  std::unique_ptr<grpc::GenericStub> NewStub(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetMaxReceiveMessageSize(rpc::kMessageBytesMax);
    return std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(planner_, credentials, arguments));
  }

  void Open(uint32_t node) {
    const MutexLock lock(&mutex_);
    waiting_.push_back(node);
    OpenNext();
  }

  void NoteConnected(Daemon* daemon) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    connecting_ -= std::exchange(daemon->connects, false) ? 1 : 0;
    OpenNext();
  }

  void OpenNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const uint32_t most = have_tls_ ? kHandshakesMax : nodes_;
    for (; connecting_ < most && !waiting_.empty(); waiting_.pop_front()) Begin(waiting_.front());
  }

  void Begin(uint32_t node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (daemons_[node].stream != nullptr) return;
    daemons_[node].connects = true;
    ++connecting_;
    daemons_[node].stream = new Stream(this, node, daemons_[node].stub.get(), /*brief=*/!earlier_);
    daemons_[node].stream->Write(Registration(node));
  }

  // All daemons send the same bytes for the team of all nodes, which are kept once.
  grpc::ByteBuffer Registration(uint32_t node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    schedule::NodeAnnouncement announcement;
    announcement.name = NameOf(node);
    announcement.incarnation = IncarnationOf(node);
    announcement.worker_address = address_;
    announcement.version = kVersion;
    announcement.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
    announcement.features = {schedule::Feature::kDerivedTeams};
    if (!earlier_) announcement.features.insert(schedule::Feature::kContent);
    announcement.machine = absl::StrCat("machine of ", NameOf(node));
    v1::FromDaemon proto;
    schedule::Register registration{.node = announcement, .term = 0};
    if (!earlier_) registration.report = rpc::ReportOf(Status(node));
    rpc::ToProto(registration, &proto);
    const grpc::Slice parts[] = {rpc::Encoded(proto.register_()), world_};
    return rpc::WithField(v1::FromDaemon::kRegisterFieldNumber, parts);
  }

  static schedule::DaemonStatus Status(uint32_t node) {
    schedule::DaemonStatus status{.node = NameOf(node), .incarnation = IncarnationOf(node), .state = "ready"};
    for (uint32_t i = 0; i < kCounters; ++i) status.counters[absl::StrCat("engine.something.number", i)] = node;
    return status;
  }

  static Incarnation IncarnationOf(uint32_t node) { return Incarnation(Mix64(node + 1)); }  // as random as real ones

  uint64_t Form(std::vector<uint32_t> members, const std::string& name, bool stays = false, uint32_t ranks = 1) {
    const auto size = static_cast<uint32_t>(members.size()) * ranks;
    uint64_t nonce = 0;
    {
      const MutexLock lock(&mutex_);
      nonce = ++nonces_;
    }
    Form(std::move(members), {1000, "job", nonce, name}, size, stays, ranks);
    return nonce;
  }

  // `ranks`: of each member.
  void Form(std::vector<uint32_t> members, schedule::TeamIdentity identity, uint32_t size, bool stays = false,
            uint32_t ranks = 1) {
    const MutexLock lock(&mutex_);
    const uint64_t nonce = identity.nonce;
    schedule::JoinTeam join;
    join.identity = std::move(identity);
    join.size = size;
    const uint32_t at_once = earlier_ ? 1 : ranks;
    for (uint32_t rank = 0; rank < members.size() * ranks; rank += at_once) {
      Daemon& daemon = daemons_[members[rank / ranks]];
      join.request = ++daemon.requests;
      join.rank = Rank(rank);
      join.more.clear();
      for (uint32_t i = 1; i < at_once; ++i) join.more.emplace_back(++daemon.requests, Rank(rank + i));
      if (daemon.stream != nullptr) daemon.stream->Write(Encoded(join));
    }
    forming_[nonce] = {.members = std::move(members), .started = absl::Now(), .stays = stays};
  }

  // Waits until the team is formed.
  std::string Formed(uint64_t nonce, absl::Time start, absl::Duration timeout) {
    const MutexLock lock(&mutex_);
    while (forming_.contains(nonce) && absl::Now() < start + timeout) {
      changed_.WaitFor(&mutex_, start + timeout - absl::Now());
    }
    return absl::StrCat("seconds=", absl::ToDoubleSeconds(absl::Now() - start),
                        " formed=", forming_.contains(nonce) ? 0 : 1, " aborted=", aborted_,
                        " prepare_bytes=", prepare_bytes_, " content_bytes=", content_bytes_);
  }

  // Reads the team's number and epoch; the rest is decoded for the first member only.
  void OnPrepare(Stream* stream, uint32_t node, grpc::ByteBuffer* message, CodedInputStream* in) {
    uint32_t bytes = 0, epoch = 0;
    uint64_t team = 0;
    CHECK(in->ReadVarint32(&bytes));
    while (team == 0 || epoch == 0) {
      const uint32_t tag = in->ReadTag();
      uint32_t length = 0;
      if (tag >> 3 == v1::Prepare::kEpochFieldNumber) {
        CHECK(in->ReadVarint32(&epoch));
        continue;
      }
      CHECK(tag != 0 && (tag & 7) == 2 && in->ReadVarint32(&length));
      const int end = in->CurrentPosition() + static_cast<int>(length);
      if (tag >> 3 == v1::Prepare::kLayoutFieldNumber) {
        CHECK(in->ReadTag() >> 3 == v1::TeamLayout::kIdFieldNumber && in->ReadVarint64(&team));
      }
      CHECK(in->Skip(end - in->CurrentPosition()));
    }
    const MutexLock lock(&mutex_);
    Team* formed = Know(team, message);
    if (formed == nullptr) return;
    schedule::PrepareReply reply{.team = TeamId(team), .epoch = EpochId(epoch), .accepted = true, .why = {}};
    const uint32_t self = formed->index_of.at(node);
    for (const uint32_t neighbor : formed->neighbors[self]) {
      reply.incoming.push_back({NodeIndex(neighbor), neighbor + self * 64 + 1});
    }
    stream->Write(Encoded(reply));
  }

  Team* Know(uint64_t id, grpc::ByteBuffer* message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (const auto known = nonce_of_.find(id); known != nonce_of_.end()) {
      const auto team = forming_.find(known->second);
      return team == forming_.end() ? nullptr : &team->second;
    }
    v1::ToDaemon proto;
    CHECK(rpc::Decode(*message, &proto));
    if (const std::string name = proto.prepare().content(); !name.empty()) {
      rpc::ContentWindow window;
      window.Add(name, contents_.at(name), 0);
      CHECK(rpc::Join(&window, proto.mutable_prepare()).ok());
    }
    const auto decoded = rpc::FromProto(proto);
    CHECK(decoded.ok());
    const auto& prepare = std::get<schedule::Prepare>(*decoded);
    nonce_of_[id] = prepare.layout.identity.nonce;
    Team& team = forming_.at(prepare.layout.identity.nonce);
    std::map<std::string, uint32_t> by_name;
    for (uint32_t i = 0; i < prepare.layout.nodes.size(); ++i) by_name[prepare.layout.nodes[i].name] = i;
    for (const uint32_t member : team.members) team.index_of[member] = by_name.at(NameOf(member));
    std::vector<schedule::Plan> plans;
    for (const std::string& bytes : prepare.plans) plans.push_back(schedule::DecodePlan(bytes).value());
    team.neighbors = schedule::NeighborsByNode(plans, prepare.layout.shape.node_count);
    if (prepare.layout.identity.name == kWorld) {
      prepare_bytes_ = message->Length();
      schedule::Register registers;
      registers.teams = {{.layout = prepare.layout, .epoch = prepare.epoch, .plans = prepare.plans, .why = {}}};
      v1::FromDaemon from;
      rpc::ToProto(registers, &from);
      from.mutable_register_()->clear_node();
      if (!earlier_) world_content_ = rpc::TakeContent(from.mutable_register_()->mutable_teams(0));
      world_ = rpc::Encoded(from.register_());
    }
    return &team;
  }

  void OnCommitted(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto known = nonce_of_.find(id);
    if (known == nonce_of_.end()) return;
    const auto it = forming_.find(known->second);
    if (it == forming_.end() || ++it->second.committed < it->second.members.size()) return;
    const Team team = std::move(forming_.extract(it).mapped());
    kept_ += team.stays ? 1 : 0;
    if (team.members.size() == kTeamNodes && !team.stays) {
      latencies_ms_.push_back(absl::ToDoubleMilliseconds(absl::Now() - team.started));
      for (const uint32_t member : team.members) {
        if (Stream* stream = daemons_[member].stream) stream->Write(Encoded(schedule::LeaveTeam{TeamId(id)}));
      }
    }
    changed_.NotifyAll();
  }

  const std::string planner_;
  const uint32_t nodes_;
  const bool earlier_;
  const std::string address_;
  const bool have_tls_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Daemon> daemons_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Team> forming_ ABSL_GUARDED_BY(mutex_);       // by nonce
  std::map<uint64_t, uint64_t> nonce_of_ ABSL_GUARDED_BY(mutex_);  // by the team's number
  std::vector<double> latencies_ms_ ABSL_GUARDED_BY(mutex_);       // of teams of kTeamNodes
  grpc::Slice world_ ABSL_GUARDED_BY(mutex_);                      // Register, with only that team; empty before it
  v1::TeamContent world_content_ ABSL_GUARDED_BY(mutex_);          // of that team
  uint64_t prepare_bytes_ ABSL_GUARDED_BY(mutex_) = 0;             // of the team of all nodes, one member's
  uint64_t content_bytes_ ABSL_GUARDED_BY(mutex_) = 0;             // of the last team
  std::map<std::string, std::string> contents_ ABSL_GUARDED_BY(mutex_);  // compressed, by SHA-256
  std::deque<uint32_t> waiting_ ABSL_GUARDED_BY(mutex_);                 // daemons that are to connect
  uint32_t connecting_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t nonces_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t registered_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t kept_ ABSL_GUARDED_BY(mutex_) = 0;  // teams that stay
  uint64_t aborted_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t broken_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;  // streams of registered daemons
};

void Stream::OnReadDone(bool ok) {
  if (ok) {
    swarm_->OnMessage(this, node_, &incoming_);
    return StartRead(&incoming_);
  }
  {
    const MutexLock lock(&mutex_);
    ended_ = true;
  }
  RemoveHold();
}

void Stream::OnDone(const grpc::Status&) {
  swarm_->OnEnd(node_);
  delete this;
}

// Returns the answer to a command; empty if it is none.
std::string Answer(Swarm* swarm, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  double first = 0, second = 0;
  words >> verb >> first;
  const absl::Duration timeout = absl::Seconds(first);
  if (verb == "beside") {
    schedule::TeamIdentity identity;
    words >> identity.uid >> identity.job >> identity.name;
    return swarm->Beside(timeout, std::move(identity));
  }
  words >> second;
  if (verb == "connect") return swarm->Connect(timeout);
  if (verb == "back") return swarm->Back(absl::Now(), absl::Now() + timeout);
  if (verb == "lose") return swarm->Lose();
  if (verb == "world") return swarm->World(timeout);
  if (verb == "ranks") return swarm->Ranks(static_cast<uint32_t>(first), absl::Seconds(second));
  if (verb == "keep") return swarm->Keep(static_cast<uint32_t>(first), absl::Seconds(second));
  if (verb == "teams") return swarm->Teams(static_cast<uint32_t>(first), absl::Seconds(second));
  return "";
}

int Run(const std::string& planner, uint32_t nodes, bool earlier, const std::string& authority) {
  rpc::PrepareGrpc();
  // It is never destroyed: gRPC's threads use it until the process ends.
  auto* const swarm = new Swarm(planner, nodes, earlier, Credentials(authority));
  for (std::string line; std::getline(std::cin, line);) {
    const std::string answer = Answer(swarm, line);
    if (answer.empty()) {
      std::fprintf(stderr, "control_swarm: no such command (command=%s)\n", line.c_str());
      return 2;
    }
    std::printf("%s\n", answer.c_str());
    std::fflush(stdout);
  }
  _exit(0);
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  uint32_t nodes = 0;
  bool earlier = false, is_bad = argc < 3 || !absl::SimpleAtoi(argv[2], &nodes);
  std::string authority;
  for (int i = 3; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (word == "earlier") {
      earlier = true;
    } else if (absl::ConsumePrefix(&word, "authority=")) {
      authority = std::string(word);
    } else {
      is_bad = true;
    }
  }
  if (is_bad || nodes < copse::bench::kTeamNodes || nodes > copse::bench::kNodesMax) {
    std::fprintf(stderr, "usage: control_swarm PLANNER NODES [earlier] [authority=DIR] (limit %u to %u)\n",
                 copse::bench::kTeamNodes, copse::bench::kNodesMax);
    return 2;
  }
  return copse::bench::Run(argv[1], nodes, earlier, authority);
}
