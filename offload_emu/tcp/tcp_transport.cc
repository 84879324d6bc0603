// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/tcp_transport.h"

#include <linux/pkt_sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/log.h"
#include "base/log_budget.h"
#include "base/process/lost_memory.h"
#include "base/status_macros.h"
#include "offload_emu/packet.h"
#include "offload_emu/pool.h"
#include "offload_emu/tcp/connection_set.h"
#include "offload_emu/tcp/frame_receiver.h"
#include "offload_emu/tcp/socket_address.h"
#include "offload_emu/tcp/tcp_peer.h"

namespace copse::emu {
namespace {

constexpr absl::string_view kAddressPrefix = "tcp1:";
constexpr int kEventsMax = 64;
// The daemon with the lower incarnation connects at once. The other one waits, so that mostly one connection is made.
constexpr absl::Duration kHigherWaits = absl::Milliseconds(100);
// A peer that was reached before is down after so many refused connections: its process has ended.
constexpr int kRefusedMax = 2;
// It is down after so many handshakes in succession that failed. Fewer may have been damaged on their way: what a
// handshake fails of is known to nobody until it has succeeded.
constexpr int kDeniedMax = 4;
// The kernel gives a connection up that makes no progress for so long, and another one is tried: it recovers sooner
// than one whose retransmission time has grown.
constexpr int kUserTimeoutMs = 3000;
// Peers of connections that exist are checked by a new identity, so many at once.
constexpr int kCheckedAtOnce = 8;
// What the kernel holds unsent of long frames: enough to keep a link busy while the daemon sleeps.
constexpr int kUnsentBytesMax = 128 * 1024;
// Memory of frames that is kept for the next ones: as much as one busy lane needs. What is given back to the system
// costs a page fault for each page.
constexpr uint64_t kRetainedBytesMax = LaneLimits{}.bytes_max;

// Lets switches (by DSCP) and this machine's own queues (by priority) tell the lanes apart. A network that refuses it
// carries them alike.
void Mark(int fd, LaneKind lane, uint8_t dscp) {
  const int traffic_class = dscp << 2;  // the two low bits are for congestion
  const int priority = lane == LaneKind::kShort ? TC_PRIO_INTERACTIVE : TC_PRIO_BULK;
  setsockopt(fd, IPPROTO_IP, IP_TOS, &traffic_class, sizeof(traffic_class));
  setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &traffic_class, sizeof(traffic_class));
  setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority));  // IP_TOS has set another one
}

uint64_t RandomNumber() {
  uint64_t number = 0;
  while (number == 0) CHECK(getrandom(&number, sizeof(number), 0) == sizeof(number));
  return number;
}

}  // namespace

class TcpTransport::Impl {
 public:
  Impl(const Clock* clock, const TcpTransportOptions& options, UniqueFd listener, UniqueFd epoll)
      : clock_(clock),
        options_(options),
        identity_(options.identity),
        connections_(clock, {options.hello_timeout, options.strangers_max}, std::move(listener), std::move(epoll)) {}

  std::string LocalAddress() const;
  absl::Status Connect(const PeerAddress& peer);
  void Disconnect(Incarnation peer);
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, bool behind);
  bool Progress(TransportSink* sink);
  bool Arm() {
    connections_.OnSleep();
    return released_.empty() && failed_.empty() && clock_->Now() < std::min(next_work_, connections_.due());
  }
  int event_fd() const { return connections_.epoll(); }
  const TcpTransportCounts& counts() const { return counts_; }
  void UseIdentity(std::shared_ptr<const TlsIdentity> identity);

 private:
  void Watch(TcpConnection* connection);
  void Drop(TcpConnection* connection);
  // Returns whether messages have come.
  bool Serve(TcpConnection* connection, uint32_t events);
  // Returns whether there was any input or event.
  bool ServeReady();
  static bool IsHeldBack(const TcpConnection& connection);
  void Pump(TcpConnection* connection);
  void AfterUse(TcpConnection* connection);

  // --- Hello ---
  bool OnFirstMessage(TcpConnection* connection, const WireHeader& header, absl::Span<const uint8_t> payload);
  void OnHello(TcpConnection* connection);
  void OnReply(TcpConnection* connection, const WireHeader& header, absl::Span<const uint8_t> payload);
  // Returns false, and the peer is down, if its hello shows that it has begun anew.
  bool TakeSession(TcpPeer* peer, const WireHello& hello);
  void Attach(TcpConnection* connection, TcpPeer* peer, uint64_t received);

  // --- Frames ---
  bool OnMessage(TcpConnection* connection, const WireHeader& header, absl::Span<const uint8_t> payload);

  // --- Peers ---
  void Dial(TcpPeer* peer, LaneKind kind);
  void Lost(TcpConnection* connection);
  void Fail(TcpPeer* peer, const absl::Status& why);
  void CloseAll(TcpPeer* peer);
  void CheckPeers();
  bool DoDueWork();
  bool ReportFailures(TransportSink* sink);

  const Clock* const clock_;
  const TcpTransportOptions options_;
  std::shared_ptr<const TlsIdentity> identity_;
  TcpTransportCounts counts_;
  LogBudget lines_;  // about nodes that pose as others
  ReadBuffer buffer_;
  BufferPool frames_{kRetainedBytesMax};
  std::map<Incarnation, std::unique_ptr<TcpPeer>> peers_;
  ConnectionSet connections_;
  absl::Time next_work_ = absl::InfinitePast();
  std::vector<Incarnation> failed_;
  std::vector<uint64_t> unchecked_;  // connections that an earlier identity has made
  std::vector<uint64_t> released_;   // connections with messages that have arrived and no event announces
  FrameReceiver receiver_{&released_, &counts_.dropped};
};

std::string TcpTransport::Impl::LocalAddress() const {
  const absl::StatusOr<SocketAddress> address = SocketAddress::OfSocket(connections_.listener());
  CHECK(address.ok());
  return absl::StrCat(kAddressPrefix, address->ToString());
}

// --- Connections ---

void TcpTransport::Impl::Watch(TcpConnection* connection) { connections_.Watch(connection, !IsHeldBack(*connection)); }

void TcpTransport::Impl::Drop(TcpConnection* connection) {
  if (connection->peer != nullptr) {
    PeerLane& lane = connection->peer->LaneOf(connection->lane);
    if (lane.dialing == connection) lane.dialing = nullptr;
    if (lane.attached == connection) {
      lane.attached = nullptr;
      lane.lane.Detach();
      lane.held.reset();
    }
  }
  connections_.Erase(connection);
}

bool TcpTransport::Impl::Serve(TcpConnection* connection, uint32_t events) {
  SealedStream* const stream = connection->stream.get();
  if (IsHeldBack(*connection)) {
    // Input waits, but not for a connection that has ended.
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) stream->Close(absl::UnavailableError("closed by the peer"));
    AfterUse(connection);
    return false;
  }
  if (!stream->is_open()) {
    stream->Advance();
    if (stream->is_open() && connection->stage == ConnectionStage::kDialing)
      SayHello(options_.self, *connection->peer, options_.encrypt, connection);
  }
  bool any = false;
  if (stream->is_open()) {
    any = stream->Read(&buffer_, [&](const WireHeader& header, absl::Span<const uint8_t> payload) {
      return connection->stage == ConnectionStage::kAttached ? OnMessage(connection, header, payload)
                                                             : OnFirstMessage(connection, header, payload);
    });
  }
  AfterUse(connection);
  return any;
}

// Returns whether no input is read from the connection at present.
bool TcpTransport::Impl::IsHeldBack(const TcpConnection& connection) {
  return connection.stage == ConnectionStage::kParked ||
         (connection.peer != nullptr && connection.peer->LaneOf(connection.lane).held.has_value());
}

void TcpTransport::Impl::Pump(TcpConnection* connection) {
  Lane& lane = connection->peer->LaneOf(connection->lane).lane;
  if (!lane.has_output()) return;
  if (!connection->limit.has_value()) return lane.Pump();
  const SealedStream& stream = *connection->stream;
  FlightLimit& limit = *connection->limit;
  const uint64_t taken = stream.taken();
  // Data that is all taken is not held back: the kernel is not asked then.
  const bool was_full = stream.backlog() > 0;
  const uint64_t under_way = was_full ? limit.UnderWay() : 0;
  lane.Pump();
  if (stream.closed()) return;
  const bool is_full = stream.backlog() > 0;
  if (was_full && stream.taken() > taken) limit.OnWrite(clock_->Now(), taken, under_way);
  if (!was_full && is_full) limit.OnWrite(clock_->Now(), stream.taken(), limit.UnderWay());
  if (!is_full) limit.OnIdle();
  connection->stream->SetPacketBytesMax(limit.packet_bytes());
}

// Writes what is due, and notices the end of the connection.
void TcpTransport::Impl::AfterUse(TcpConnection* connection) {
  if (connection->stage == ConnectionStage::kAttached) {
    Pump(connection);
  } else if (connection->stream->is_open()) {
    connection->stream->Write();
  }
  if (connection->stream->closed()) return Lost(connection);
  Watch(connection);
}

// --- Hello ---

// Returns whether messages that follow may be taken.
bool TcpTransport::Impl::OnFirstMessage(TcpConnection* connection, const WireHeader& header,
                                        absl::Span<const uint8_t> payload) {
  if (connection->stage == ConnectionStage::kDialing) {
    OnReply(connection, header, payload);
    return connection->stage == ConnectionStage::kAttached && !connection->stream->closed();
  }
  const std::optional<WireHello> hello = HelloIn(header, payload);
  if (!hello.has_value() || header.lane >= kLaneCount) {
    connection->stream->Close(absl::UnavailableError("the peer's first message is no hello"));
    return false;
  }
  connection->hello = *hello;
  connection->lane = static_cast<LaneKind>(header.lane);
  connection->received = header.received;
  OnHello(connection);
  return connection->stage == ConnectionStage::kAttached && !connection->stream->closed();
}

// A daemon has connected here. Its hello is in the connection.
void TcpTransport::Impl::OnHello(TcpConnection* connection) {
  const WireHello& hello = connection->hello;
  if (hello.destination != options_.self.value()) return Refuse(Refusal::kOtherDaemon, options_.encrypt, connection);
  const auto it = peers_.find(Incarnation(hello.source));
  if (it == peers_.end()) {
    connection->stage = ConnectionStage::kParked;
    return;
  }
  TcpPeer* const peer = it->second.get();
  if (!peer->down.ok()) return connection->stream->Close(peer->down);  // it comes again after that was reported
  const std::string& node = connection->stream->peer();
  if (!peer->address.node.empty() && node != peer->address.node) {
    ++counts_.refused;
    if (const std::optional<std::string> end = lines_.Take(node, clock_->Now()); end.has_value()) {
      COPSE_LOG(kWarning, "node ", node, " says that it is node ", peer->address.node, " (incarnation=", hello.source,
                ")", *end);
    }
    return Refuse(Refusal::kOtherNode, options_.encrypt, connection);
  }
  PeerLane& lane = peer->LaneOf(connection->lane);
  const bool is_young = lane.attached != nullptr && clock_->Now() - lane.attached->begun < 2 * kHigherWaits;
  if (options_.self < peer->address.incarnation && (lane.dialing != nullptr || is_young)) {
    return Refuse(Refusal::kDialsItself, options_.encrypt, connection);
  }
  if (!TakeSession(peer, hello)) return connection->stream->Close(peer->down);
  if (lane.attached != nullptr) Drop(lane.attached);  // the peer has lost it
  if (lane.dialing != nullptr) Drop(lane.dialing);
  SayHello(options_.self, *peer, options_.encrypt, connection);
  Attach(connection, peer, connection->received);
}

// The daemon that this one has connected to replies.
void TcpTransport::Impl::OnReply(TcpConnection* connection, const WireHeader& header,
                                 absl::Span<const uint8_t> payload) {
  TcpPeer* const peer = connection->peer;
  if (header.kind == static_cast<uint8_t>(WireKind::kRefuse)) {
    const auto why = static_cast<Refusal>(header.number);
    if (why == Refusal::kOtherDaemon) {
      return Fail(peer, absl::UnavailableError("the daemon has ended: another one answers at its address"));
    }
    if (why == Refusal::kOtherNode) {
      return Fail(peer, absl::UnavailableError("the peer does not believe this daemon's name"));
    }
    connection->stream->Close(absl::UnavailableError("the peer connects itself"));
    return;
  }
  const std::optional<WireHello> hello = HelloIn(header, payload);
  if (!hello.has_value()) {
    connection->stream->Close(absl::UnavailableError("the peer's first message is no hello"));
    return;
  }
  if (const absl::Status known = CheckReply(*hello, *connection->stream, *peer); !known.ok()) return Fail(peer, known);
  if (!TakeSession(peer, *hello)) return;
  Attach(connection, peer, header.received);
}

bool TcpTransport::Impl::TakeSession(TcpPeer* peer, const WireHello& hello) {
  if (peer->TakeSession(hello)) return true;
  Fail(peer, absl::UnavailableError("the peer has disconnected"));
  return false;
}

void TcpTransport::Impl::Attach(TcpConnection* connection, TcpPeer* peer, uint64_t received) {
  PeerLane& lane = peer->LaneOf(connection->lane);
  connections_.SetAttached(connection);
  connection->peer = peer;
  ++counts_.connected;
  counts_.reconnected += lane.was_attached ? 1 : 0;
  lane.NoteAttached(connection);
  const int fd = connection->stream->fd();
  Mark(fd, connection->lane, options_.dscp[static_cast<size_t>(connection->lane)]);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof(kUserTimeoutMs));
  if (connection->lane == LaneKind::kBulk) {
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytesMax, sizeof(kUnsentBytesMax));
    connection->limit.emplace(fd);
  }
  if (!lane.lane.Attach(connection->stream.get(), received)) {
    return Fail(peer, absl::UnavailableError("the peer acknowledges what was not sent"));
  }
}

// --- Frames ---

bool TcpTransport::Impl::OnMessage(TcpConnection* connection, const WireHeader& header,
                                   absl::Span<const uint8_t> payload) {
  TcpPeer* const peer = connection->peer;
  Lane& lane = peer->LaneOf(connection->lane).lane;
  switch (static_cast<WireKind>(header.kind)) {
    case WireKind::kFrame:
      return receiver_.Take(connection, header, payload);
    case WireKind::kAck:
      if (lane.TakeAcknowledgment(header.received)) return true;
      break;
    case WireKind::kBye:
      Fail(peer, absl::UnavailableError("the peer has disconnected"));
      return false;
    default:
      break;
  }
  connection->stream->Close(
      absl::UnavailableError(absl::StrCat("the peer's message does not fit (kind=", header.kind, ")")));
  return false;
}

// A frame that must arrive behind all others goes over the bulk lane, behind the last frame of the short one.
absl::Status TcpTransport::Impl::Send(Incarnation incarnation, absl::Span<const uint8_t> head,
                                      absl::Span<const uint8_t> body, bool behind) {
  const auto it = peers_.find(incarnation);
  if (it == peers_.end()) {
    return absl::UnavailableError(absl::StrCat("no connection to incarnation ", incarnation.value()));
  }
  TcpPeer* const peer = it->second.get();
  if (!peer->down.ok()) return peer->down;
  const size_t bytes = head.size() + body.size();
  CHECK_LE(bytes, kFrameBytesMax);
  const bool is_short = bytes <= options_.short_bytes_max;
  // If nothing went over the bulk lane, the short one keeps the order.
  const bool may_overtake = behind && peer->LaneOf(LaneKind::kBulk).lane.queued() > 0;
  const LaneKind kind = is_short && !may_overtake ? LaneKind::kShort : LaneKind::kBulk;
  const uint64_t after = behind && kind == LaneKind::kBulk ? peer->LaneOf(LaneKind::kShort).lane.queued() : 0;
  PeerLane& lane = peer->LaneOf(kind);
  if (!lane.lane.HasRoom(bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("frames to incarnation ", incarnation.value(),
                                                     " wait for its acknowledgment (limit=", options_.limits.bytes_max,
                                                     " bytes, ", options_.limits.frames_max, " frames)"));
  }
  lane.lane.Queue(head, body, after);
  if (AnyMemoryLost() && IsMemoryLost(body.data(), body.size())) {
    lane.lane.Retract();
    return absl::DataLossError(absl::StrCat(body.size(), " bytes for incarnation ", incarnation.value(), " are lost"));
  }
  if (lane.attached == nullptr) {
    next_work_ = absl::InfinitePast();  // it may have to be connected
    return absl::OkStatus();
  }
  Pump(lane.attached);
  if (lane.attached->stream->closed()) {
    released_.push_back(lane.attached->id);  // Progress drops it
  } else {
    Watch(lane.attached);
  }
  return absl::OkStatus();
}

// --- Peers ---

absl::Status TcpTransport::Impl::Connect(const PeerAddress& address) {
  absl::string_view text = address.worker_address;
  if (!absl::ConsumePrefix(&text, kAddressPrefix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no address of this transport (bytes=", text.size(), ", wanted=", kAddressPrefix, "HOST:PORT)"));
  }
  ASSIGN_OR_RETURN(const SocketAddress socket, SocketAddress::Parse(std::string_view(text.data(), text.size())));
  RETURN_IF_ERROR(connections_.Listen());
  std::unique_ptr<TcpPeer>& slot = peers_[address.incarnation];
  if (slot != nullptr && slot->down.ok()) return absl::OkStatus();
  if (slot != nullptr) CloseAll(slot.get());
  const auto lane = [this](LaneKind kind) {
    return PeerLane{.lane = Lane(kind, options_.limits, options_.encrypt, &frames_)};
  };
  slot.reset(new TcpPeer{.address = address,
                         .socket = socket,
                         .session = RandomNumber(),
                         .since = clock_->Now(),
                         .lanes = {lane(LaneKind::kShort), lane(LaneKind::kBulk)}});
  const absl::Time dial_at = options_.self < address.incarnation ? absl::InfinitePast() : clock_->Now() + kHigherWaits;
  for (PeerLane& each : slot->lanes) each.dial_at = dial_at;
  next_work_ = absl::InfinitePast();
  for (auto it = connections_.all().begin(); it != connections_.all().end();) {
    TcpConnection* const parked = (it++)->second.get();
    if (parked->stage != ConnectionStage::kParked || parked->hello.source != address.incarnation.value()) continue;
    OnHello(parked);
    released_.push_back(parked->id);
  }
  return absl::OkStatus();
}

void TcpTransport::Impl::CloseAll(TcpPeer* peer) {
  for (PeerLane& lane : peer->lanes) {
    if (lane.attached != nullptr) Drop(lane.attached);
    if (lane.dialing != nullptr) Drop(lane.dialing);
  }
}

void TcpTransport::Impl::Disconnect(Incarnation incarnation) {
  const auto it = peers_.find(incarnation);
  if (it == peers_.end()) return;
  for (PeerLane& lane : it->second->lanes) {
    if (lane.attached == nullptr) continue;
    SealedStream* const stream = lane.attached->stream.get();
    if (stream->closed()) continue;
    WireHeader header{};
    header.kind = static_cast<uint8_t>(WireKind::kBye);
    header.received = lane.lane.received();
    stream->Put(header, {}, options_.encrypt);
    stream->Write();
  }
  CloseAll(it->second.get());
  peers_.erase(it);
}

void TcpTransport::Impl::Fail(TcpPeer* peer, const absl::Status& why) {
  if (!peer->down.ok()) return;
  peer->down = absl::UnavailableError(
      absl::StrCat("connection to incarnation ", peer->address.incarnation.value(), ": ", why.message()));
  failed_.push_back(peer->address.incarnation);
  for (PeerLane& lane : peer->lanes) {
    for (TcpConnection* connection : {lane.attached, lane.dialing}) {
      if (connection != nullptr) connection->stream->Close(peer->down);
    }
  }
}

// The connection has ended. Another one is made unless the peer is down.
void TcpTransport::Impl::Lost(TcpConnection* connection) {
  TcpPeer* const peer = connection->peer;
  const ConnectionStage stage = connection->stage;
  const absl::Status why = connection->stream->why();
  const bool refused = connection->stream->was_refused();
  const LaneKind kind = connection->lane;
  Drop(connection);
  if (peer == nullptr) {
    counts_.refused += stage == ConnectionStage::kAccepted ? 1 : 0;
    return;
  }
  if (!peer->down.ok()) return;
  PeerLane& lane = peer->LaneOf(kind);
  const absl::Time now = clock_->Now();
  if (stage == ConnectionStage::kAttached) {
    COPSE_LOG(kInfo, "connection to incarnation ", peer->address.incarnation.value(),
              " is lost and made anew: ", why.message());
    lane.dial_at = options_.self < peer->address.incarnation ? now : now + kHigherWaits;
  } else {
    lane.NoteFailedDial(now, refused, why);
    const bool was_reached = peer->its_session != 0;
    if (lane.denied >= kDeniedMax) return Fail(peer, why);
    if (lane.refused >= kRefusedMax && (was_reached || now - peer->since > options_.first_contact)) {
      return Fail(peer, absl::UnavailableError("nobody listens at its address any more"));
    }
  }
  next_work_ = std::min(next_work_, lane.dial_at);
}

void TcpTransport::Impl::Dial(TcpPeer* peer, LaneKind kind) {
  TcpConnection* const connection =
      connections_.Add(SealedStream::Dial(peer->socket, identity_), ConnectionStage::kDialing);
  connection->peer = peer;
  connection->lane = kind;
  peer->LaneOf(kind).dialing = connection;
  if (connection->stream->closed()) Lost(connection);
}

// Connects where it is time to, and closes connections whose time is over.
bool TcpTransport::Impl::DoDueWork() {
  const absl::Time now = clock_->Now();
  if (now < std::min(next_work_, connections_.due())) return false;
  CheckPeers();
  next_work_ = unchecked_.empty() ? absl::InfiniteFuture() : now;
  for (auto& [incarnation, peer] : peers_) {
    if (!peer->down.ok()) continue;
    for (const LaneKind kind : {LaneKind::kShort, LaneKind::kBulk}) {
      PeerLane& lane = peer->LaneOf(kind);
      if (!lane.NeedsConnection(kind)) continue;
      if (lane.dial_at <= now) {
        Dial(peer.get(), kind);
      } else {
        next_work_ = std::min(next_work_, lane.dial_at);
      }
    }
  }
  for (TcpConnection* const connection : connections_.TakeLate()) {
    connection->stream->Close(absl::UnavailableError("no hello in time"));
    Lost(connection);
  }
  return true;
}

// Connections whose peer is not known yet end, and are made anew with the new identity.
void TcpTransport::Impl::UseIdentity(std::shared_ptr<const TlsIdentity> identity) {
  identity_ = std::move(identity);
  unchecked_.clear();
  std::vector<TcpConnection*> begun;
  for (const auto& [id, connection] : connections_.all()) {
    if (connection->stage == ConnectionStage::kAttached) {
      unchecked_.push_back(id);
    } else {
      begun.push_back(connection.get());
    }
  }
  for (TcpConnection* connection : begun) {
    connection->stream->Close(absl::UnavailableError("certificates were replaced meanwhile"));
    Lost(connection);
  }
  next_work_ = absl::InfinitePast();
}

void TcpTransport::Impl::CheckPeers() {
  for (int checked = 0; checked < kCheckedAtOnce && !unchecked_.empty(); ++checked) {
    const TcpConnection* const connection = connections_.Find(unchecked_.back());
    unchecked_.pop_back();
    if (connection == nullptr || connection->stream->closed()) continue;
    const absl::Status believed = identity_->StillBelieves(connection->stream->peer_chain());
    if (believed.ok()) continue;
    ++counts_.refused;
    Fail(connection->peer, believed);
  }
}

bool TcpTransport::Impl::ReportFailures(TransportSink* sink) {
  bool any = false;
  for (const Incarnation incarnation : std::exchange(failed_, {})) {
    const auto it = peers_.find(incarnation);
    if (it == peers_.end() || it->second->down.ok()) continue;  // the sink has disconnected it, or connected it anew
    const absl::Status why = it->second->down;
    CloseAll(it->second.get());
    peers_.erase(it);
    sink->OnPeerDown(incarnation, why);
    any = true;
  }
  return any;
}

bool TcpTransport::Impl::ServeReady() {
  TcpConnection* const likely = connections_.Guess();
  if (likely != nullptr && Serve(likely, 0)) return true;
  epoll_event storage[kEventsMax];
  const absl::Span<const epoll_event> events = connections_.Poll(absl::MakeSpan(storage));
  for (const epoll_event& event : events) {
    if (event.data.u64 == ConnectionSet::kListenerId) {
      counts_.refused += connections_.Accept(identity_);
    } else if (TcpConnection* const connection = connections_.Find(event.data.u64)) {
      Serve(connection, event.events);
    }
  }
  return !events.empty();
}

bool TcpTransport::Impl::Progress(TransportSink* sink) {
  receiver_.Begin(sink);
  bool any = DoDueWork();
  any |= ServeReady();
  // No event announces messages of connections whose input was held back.
  while (!released_.empty()) {
    for (const uint64_t id : std::exchange(released_, {})) {
      if (TcpConnection* const connection = connections_.Find(id)) Serve(connection, 0);
    }
    any = true;
  }
  receiver_.End();
  any |= ReportFailures(sink);
  return any;
}

TcpTransport::TcpTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TcpTransport::~TcpTransport() = default;

absl::StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(const Clock* clock,
                                                                   const TcpTransportOptions& options) {
  ASSIGN_OR_RETURN(const SocketAddress address, SocketAddress::Parse(options.address));
  ASSIGN_OR_RETURN(UniqueFd listener, address.Bind());
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return absl::UnavailableError(absl::StrCat("epoll_create1: ", std::strerror(errno)));
  return std::unique_ptr<TcpTransport>(
      new TcpTransport(std::make_unique<Impl>(clock, options, std::move(listener), std::move(epoll))));
}

std::string TcpTransport::LocalAddress() const { return impl_->LocalAddress(); }
absl::Status TcpTransport::Connect(const PeerAddress& peer) { return impl_->Connect(peer); }
void TcpTransport::Disconnect(Incarnation peer) { impl_->Disconnect(peer); }
absl::Status TcpTransport::Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) {
  return impl_->Send(peer, head, body, false);
}
absl::Status TcpTransport::SendBehind(Incarnation peer, absl::Span<const uint8_t> head,
                                      absl::Span<const uint8_t> body) {
  return impl_->Send(peer, head, body, true);
}
bool TcpTransport::Progress(TransportSink* sink) { return impl_->Progress(sink); }
absl::StatusOr<bool> TcpTransport::Arm() { return impl_->Arm(); }
int TcpTransport::event_fd() const { return impl_->event_fd(); }
const TcpTransportCounts& TcpTransport::counts() const { return impl_->counts(); }
void TcpTransport::UseIdentity(std::shared_ptr<const TlsIdentity> identity) { impl_->UseIdentity(std::move(identity)); }

}  // namespace copse::emu
