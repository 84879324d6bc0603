// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/client_session.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/version.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

using attach::MessageType;
using schedule::Failure;
using schedule::FailureReport;
using schedule::ReportOf;

// At most this many messages are read from one client at once, so that other descriptors are served in between.
constexpr int kPacketsPerTurn = 16;
// A doorbell may ring for posts that were found without it, but not often in a row. A client that rings without posts
// would keep the loop awake, which then takes naps at the cost of all clients; so its doorbell is ignored for a while.
constexpr uint32_t kVainRingsMax = 16;
constexpr absl::Duration kDeaf = absl::Milliseconds(10);
// A dead client may have left at most this many messages in its socket.
constexpr int kPacketsLeftMax = 4096;

int32_t StatusOf(Failure failure) { return -static_cast<int32_t>(failure); }

absl::StatusOr<uint32_t> RingEntries(const char* what, uint32_t asked, uint32_t otherwise, uint32_t limit) {
  if (asked == 0) return otherwise;
  if (!absl::has_single_bit(asked)) {
    return absl::InvalidArgumentError(absl::StrCat("attach: not a power of two (", what, "=", asked, ")"));
  }
  if (asked > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("attach: queue too long (", what, "=", asked, ", limit=", limit, ")"));
  }
  return asked;
}

}  // namespace

SessionContext::SessionContext(const AttachOptions* options, const Clock* clock, Poller* poller, DaemonCore* core,
                               DaemonPages* pages)
    : options(options), clock(clock), poller(poller), core(core), pages(pages), pace(clock) {}

void SessionContext::Log(LogLevel level, const PeerProcess& process, const std::string& line) {
  if (!LogEnabled(level)) return;
  const std::optional<std::string> end = lines.Take(absl::StrCat("uid ", process.uid), clock->Now());
  if (end.has_value()) WriteLog(level, line + *end, {.job = process.job});
}

ClientSession::ClientSession(SessionContext* context, UniqueFd socket, PeerProcess process, Account::Holding held)
    : context_(context),
      socket_(std::move(socket)),
      process_(std::move(process)),
      held_(std::move(held)),
      teams_(context->options->requests_max) {}

ClientSession::~ClientSession() {
  context_->pace.Forget(uid(), this);
  context_->poller->Unwatch(socket_.get());
  if (process_.pidfd.valid()) context_->poller->Unwatch(process_.pidfd.get());
  if (doorbell_.valid()) context_->poller->Unwatch(doorbell_.get());
  calls_.reset();  // its port leaves its seat in the page
  if (page_ != nullptr) context_->pages->Leave(process_.uid);
}

absl::Status ClientSession::Start() {
  greeting_deadline_ = context_->clock->Now() + context_->options->greeting_timeout;
  UpdateDeadline();
  RETURN_IF_ERROR(WatchSocket());
  // Without a pidfd only the socket shows when the process ends.
  if (process_.pidfd.valid()) {
    RETURN_IF_ERROR(context_->poller->Watch(process_.pidfd.get(), EPOLLIN, [this](uint32_t) { OnProcess(); }));
  }
  ReadMessage();
  return absl::OkStatus();
}

// --- The socket ---

absl::Status ClientSession::WatchSocket() {
  return context_->poller->Watch(socket_.get(), EPOLLIN | EPOLLRDHUP, [this](uint32_t) { OnSocket(); });
}

void ClientSession::OnSocket() {
  for (int i = 0; i < kPacketsPerTurn && !doomed_; ++i) {
    if (!context_->pace.MayBegin(uid())) {
      context_->poller->Unwatch(socket_.get());
      return context_->pace.Keep(uid(), this, [this] {
        if (doomed_) return;
        const UserPace::Errand errand(&context_->pace, uid());
        if (const absl::Status watched = WatchSocket(); !watched.ok()) return Doom(std::string(watched.message()));
        ReadMessage();
      });
    }
    const UserPace::Errand errand(&context_->pace, uid());
    if (!ReadMessage()) return;
  }
}

bool ClientSession::ReadMessage() {
  Packet packet;
  const absl::StatusOr<Receipt> receipt = ReceivePacket(socket_.get(), &packet);
  const bool is_packet = receipt.ok() && *receipt == Receipt::kPacket;
  if (is_packet) OnPacket(packet);
  if (!receipt.ok()) Doom(absl::StrCat(DescribeProcess(process_), " was dropped: ", receipt.status().message()));
  if (receipt.ok() && *receipt == Receipt::kClosed) OnHangUp();
  return is_packet;
}

void ClientSession::OnProcess() {
  if (context_->pace.MayBegin(uid())) return OnDeath();
  context_->poller->Unwatch(process_.pidfd.get());
  context_->pace.Keep(uid(), this, [this] { OnDeath(); });
}

void ClientSession::OnDeath() {
  const UserPace::Errand errand(&context_->pace, uid());
  context_->poller->Unwatch(process_.pidfd.get());
  // Its last messages count: a process may destroy its teams and exit at once.
  for (int i = 0; i < kPacketsLeftMax / kPacketsPerTurn && !doomed_; ++i) {
    if (hang_up_deadline_ != absl::InfiniteFuture()) break;
    Packet packet;
    const absl::StatusOr<Receipt> receipt = ReceivePacket(socket_.get(), &packet);
    if (!receipt.ok() || *receipt != Receipt::kPacket) break;
    OnPacket(packet);
  }
  Doom(DescribeDeath(process_));
}

void ClientSession::CheckProcess() {
  if (!doomed_ && process_.pidfd.valid() && HasDied(process_)) OnDeath();
}

void ClientSession::OnHangUp() {
  context_->poller->Unwatch(socket_.get());
  if (!teams_.any() || !process_.pidfd.valid())
    return Doom(absl::StrCat(DescribeProcess(process_), " closed its connection"));
  hang_up_deadline_ = context_->clock->Now() + context_->options->hang_up_grace;
  UpdateDeadline();
}

void ClientSession::Doom(std::string why) {
  if (doomed_) return;
  doomed_ = context_->any_doomed = true;
  why_ = std::move(why);
  context_->poller->Unwatch(socket_.get());
}

template <typename T>
void ClientSession::Answer(const T& message, absl::Span<const int> descriptors) {
  if (doomed_) return;
  const absl::Status sent = SendMessage(socket_.get(), message, descriptors);
  // If the client is gone, the hang-up ends the session; if its socket is full, it is dropped.
  if (absl::IsResourceExhausted(sent)) Doom(absl::StrCat(DescribeProcess(process_), " was dropped: ", sent.message()));
}

void ClientSession::OnPacket(const Packet& packet) {
  const auto malformed = [&](absl::string_view why) {
    Doom(absl::StrCat(DescribeProcess(process_), " was dropped: malformed message: ", why));
  };
  attach::MessageHead head;
  if (packet.bytes.size() < sizeof(head)) return malformed(absl::StrCat("too short (bytes=", packet.bytes.size(), ")"));
  memcpy(&head, packet.bytes.data(), sizeof(head));
  if (head.magic != attach::kMagic) return malformed(absl::StrCat("wrong magic (magic=", head.magic, ")"));
  const auto type = static_cast<MessageType>(head.type);
  if (attached() == (type == MessageType::kAttachRequest)) {
    return malformed(absl::StrCat("type=", head.type, ", attached=", attached() ? "yes" : "no"));
  }
  const size_t descriptors = type == MessageType::kRegisterMemory ? 1 : 0;
  if (packet.descriptors.size() != descriptors) {
    return malformed(absl::StrCat("descriptors=", packet.descriptors.size(), ", limit=", descriptors));
  }
  attach::TeamCreate create;
  attach::TeamDestroy destroy;
  attach::RegisterMemory register_memory;
  attach::DeregisterMemory deregister;
  if (type == MessageType::kAttachRequest) return OnAttachRequest(packet);
  if (type == MessageType::kTeamCreate && packet.As(&create)) return OnTeamCreate(create);
  if (type == MessageType::kTeamDestroy && packet.As(&destroy)) return OnTeamDestroy(destroy);
  if (type == MessageType::kRegisterMemory && packet.As(&register_memory)) {
    return OnRegisterMemory(register_memory, packet.descriptors[0]);
  }
  if (type == MessageType::kDeregisterMemory && packet.As(&deregister)) return OnDeregisterMemory(deregister);
  malformed(absl::StrCat("type=", head.type, ", bytes=", packet.bytes.size()));
}

// --- Attach ---

void ClientSession::OnAttachRequest(const Packet& packet) {
  attach::AttachRequest message{};
  // The version comes first, so that it can be refused whatever else has changed.
  if (packet.bytes.size() < offsetof(attach::AttachRequest, dq_entries)) {
    return Doom(absl::StrCat(DescribeProcess(process_),
                             " was dropped: malformed message: attach request too short (bytes=", packet.bytes.size(),
                             ")"));
  }
  memcpy(static_cast<void*>(&message), packet.bytes.data(), std::min(packet.bytes.size(), sizeof(message)));
  absl::Status status = CheckVersion("ring layout", kRingLayoutVersion, message.ring_version);
  if (status.ok() && packet.bytes.size() != sizeof(message)) {
    status = absl::InvalidArgumentError(absl::StrCat("attach request: wrong length (bytes=", packet.bytes.size(), ")"));
  }
  if (status.ok()) status = Attach(message);

  const FailureReport why = ReportOf(status);
  auto reply = NewMessage<attach::AttachReply>(MessageType::kAttachReply, message.head.request);
  reply.status = StatusOf(why.failure);
  reply.ring_version = kRingLayoutVersion;
  reply.incarnation = context_->options->incarnation.value();
  SetText(reply.node, context_->options->node);
  SetText(reply.package_version, kVersion);
  SetText(reply.text, why.text);
  reply.facts = FactsOf(why);
  if (!status.ok()) {
    Answer(reply);
    return Doom(absl::StrCat(DescribeProcess(process_), " was refused: ", why.text));
  }
  const PortSizes& sizes = calls_->port().sizes();
  reply.dq_entries = sizes.dq_entries;
  reply.eq_entries = sizes.eq_entries;
  reply.data_bytes = sizes.data_bytes;
  reply.message_bytes_max = schedule::kCallBytesMax;
  Answer(reply, {calls_->port().fd(), page_->fd(), doorbell_.get()});
  calls_->port().CloseFd();
  greeting_deadline_ = absl::InfiniteFuture();
  UpdateDeadline();
  context_->Log(LogLevel::kInfo, process_,
                absl::StrCat("client ", client_, ": ", DescribeProcess(process_), " of uid ", process_.uid, ", job ",
                             process_.job, ", attached (dq_entries=", sizes.dq_entries,
                             ", eq_entries=", sizes.eq_entries, ", data_bytes=", sizes.data_bytes, ")"));
}

absl::Status ClientSession::Attach(const attach::AttachRequest& message) {
  const AttachOptions& options = *context_->options;
  ClientHello hello;
  hello.uid = process_.uid;
  hello.pid = process_.pid;
  hello.account_job = process_.job;
  hello.groups = process_.groups;
  ASSIGN_OR_RETURN(hello.job, GetText("job", message.job));
  if (message.mpq_entries != 0) {
    return absl::UnimplementedError(
        absl::StrCat("attach: no packet queue yet (mpq_entries=", message.mpq_entries, ", limit=0)"));
  }
  PortSizes sizes;
  ASSIGN_OR_RETURN(sizes.dq_entries,
                   RingEntries("dq_entries", message.dq_entries, options.dq_entries, options.dq_entries_max));
  ASSIGN_OR_RETURN(sizes.eq_entries,
                   RingEntries("eq_entries", message.eq_entries, options.eq_entries, options.eq_entries_max));
  sizes.data_bytes = message.data_bytes == 0 ? options.data_bytes : message.data_bytes;
  if (sizes.data_bytes > options.data_bytes_max) {
    return absl::ResourceExhaustedError(absl::StrCat("attach: data area too large (data_bytes=", sizes.data_bytes,
                                                     ", limit=", options.data_bytes_max, ")"));
  }
  const uint64_t bytes = ring::Lay(sizes.dq_entries, sizes.eq_entries, sizes.data_bytes).total_bytes;
  absl::StatusOr<Account::Holding> port_bytes = held_.account()->Take(Resource::kClientMemory, bytes);
  if (!port_bytes.ok()) {
    return absl::ResourceExhaustedError(absl::StrCat("attach: ", port_bytes.status().message()));
  }
  ASSIGN_OR_RETURN(page_, context_->pages->Enter(process_.uid));
  ASSIGN_OR_RETURN(std::unique_ptr<ClientPort> port, ClientPort::Create(sizes, &page_->group_wake()));
  // The eventfd is never read: its flags are shared with the client, which could make a read block.
  doorbell_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!doorbell_.valid()) return absl::ErrnoToStatus(errno, "eventfd");
  RETURN_IF_ERROR(WatchDoorbell());
  hello.dq_entries = sizes.dq_entries;
  hello.eq_entries = sizes.eq_entries;
  auto calls = std::make_unique<ClientCalls>(context_->core, std::move(port), options.regions, options.list_bytes_max,
                                             held_.account()->shared_from_this(), options.instruments);
  ASSIGN_OR_RETURN(client_, context_->core->Attach(hello, this));
  calls->set_client(client_);
  calls_ = std::move(calls);
  port_bytes_ = *std::move(port_bytes);
  return absl::OkStatus();
}

// --- Teams ---

void ClientSession::OnTeamCreate(const attach::TeamCreate& message) {
  absl::StatusOr<std::string> name = GetText("name", message.name);
  const absl::Status status = name.ok() ? teams_.Check(message) : name.status();
  if (!status.ok()) return AnswerTeamFailed(message.head.request, ReportOf(status));
  const absl::Duration timeout =
      message.timeout_s > 0 ? absl::Seconds(message.timeout_s) : context_->options->formation_timeout;
  TeamRequest request;
  request.request =
      teams_.Form({message.head.request, {message.rank, message.size}, timeout, context_->clock->Now() + timeout});
  request.name = *std::move(name);
  request.parent = message.parent;
  request.nonce = message.nonce;
  request.rank = Rank(message.rank);
  request.size = message.size;
  UpdateDeadline();
  context_->core->CreateTeam(client_, request);
}

void ClientSession::OnTeamReady(uint64_t request, uint32_t handle, const schedule::TeamLayout& layout) {
  const std::optional<uint64_t> client_request = teams_.OnFormed(request, handle);
  if (!client_request.has_value()) return;
  auto ready = NewMessage<attach::TeamReady>(MessageType::kTeamReady, *client_request);
  ready.handle = handle;
  ready.team = layout.id.value();
  ready.window = layout.window;
  ready.node_count = layout.shape.node_count;
  Answer(ready);
}

void ClientSession::OnTeamFailed(uint64_t request, const FailureReport& why) {
  const std::optional<uint64_t> client_request = teams_.OnFailed(request);
  if (client_request.has_value()) AnswerTeamFailed(*client_request, why);
}

void ClientSession::OnTeamDestroy(const attach::TeamDestroy& message) {
  const std::optional<uint64_t> request = teams_.Destroy(message.head.request, message.handle);
  if (!request.has_value()) {
    return AnswerDone(message.head.request,
                      {Failure::kInvalidArgument, absl::StrCat("team: no such team (handle=", message.handle, ")")});
  }
  context_->core->DestroyTeam(client_, *request, message.handle);
}

void ClientSession::OnTeamDestroyed(uint64_t request, const FailureReport& why) {
  const std::optional<uint64_t> client_request = teams_.OnDestroyed(request, why.failure == Failure::kNone);
  if (client_request.has_value()) AnswerDone(*client_request, why);
}

void ClientSession::AnswerTeamFailed(uint64_t client_request, const FailureReport& why) {
  auto answer = NewMessage<attach::TeamReady>(MessageType::kTeamReady, client_request);
  answer.status = StatusOf(why.failure);
  SetText(answer.text, why.text);
  answer.facts = FactsOf(why);
  Answer(answer);
}

void ClientSession::AnswerDone(uint64_t client_request, const FailureReport& why) {
  if (client_request == attach::kNoAnswer) return;
  auto done = NewMessage<attach::Done>(MessageType::kDone, client_request);
  done.status = StatusOf(why.failure);
  SetText(done.text, why.text);
  done.facts = FactsOf(why);
  Answer(done);
}

// --- Memory ---

void ClientSession::OnRegisterMemory(const attach::RegisterMemory& message, const UniqueFd& memory) {
  const absl::StatusOr<uint32_t> region = calls_->regions().Register(memory, message.bytes);
  auto answer = NewMessage<attach::MemoryRegistered>(MessageType::kMemoryRegistered, message.head.request);
  if (region.ok()) {
    answer.region = *region;
  } else {
    const FailureReport why = ReportOf(region.status());
    answer.status = StatusOf(why.failure);
    SetText(answer.text, why.text);
    answer.facts = FactsOf(why);
  }
  Answer(answer);
}

void ClientSession::OnDeregisterMemory(const attach::DeregisterMemory& message) {
  const absl::Status status = calls_->Deregister(message.region);
  if (!status.ok()) return AnswerDone(message.head.request, ReportOf(status));
  deregistrations_[message.region] = message.head.request;  // answered by Read, once no call uses it
}

// --- Rings ---

bool ClientSession::Read(uint32_t* posts_left) {
  bool did = false;
  for (const uint32_t region : calls_->regions().Sweep()) {
    did = true;
    const auto it = deregistrations_.find(region);
    const uint64_t client_request = it->second;
    deregistrations_.erase(it);
    AnswerDone(client_request, {});
  }
  while (const auto unwanted = teams_.TakeUnwanted()) {
    did = true;
    context_->core->DestroyTeam(client_, unwanted->request, unwanted->handle);
  }
  if (!calls_->HasPosts() && !calls_->HasLostMemory()) return did;
  const absl::StatusOr<uint32_t> read = calls_->Read(teams_.members(), *posts_left);
  NoteEvents();  // of posts that were refused
  if (!read.ok()) {
    Doom(absl::StrCat(DescribeProcess(process_), " was dropped: ", read.status().message()));
    return true;
  }
  if (*read > 0) vain_rings_ = 0;
  const bool must_wait = *posts_left == 0;
  *posts_left -= std::min(*posts_left, *read);
  return did || *read > 0 || must_wait;
}

absl::Status ClientSession::WatchDoorbell() {
  return context_->poller->Watch(doorbell_.get(), EPOLLIN | EPOLLET, [this](uint32_t) { OnDoorbell(); });
}

void ClientSession::OnDoorbell() {
  ++context_->doorbells;
  if (++vain_rings_ <= kVainRingsMax) return;
  context_->poller->Unwatch(doorbell_.get());
  deaf_until_ = context_->clock->Now() + kDeaf;
  UpdateDeadline();
}

void ClientSession::OnEvent(const ClientEvent& event) {
  calls_->OnEvent(event);
  NoteEvents();
}

void ClientSession::NoteEvents() {
  if (has_events_ || !calls_->port().has_events_put()) return;
  has_events_ = true;
  context_->with_events.push_back(this);
}

// --- Time and end ---

void ClientSession::UpdateDeadline() {
  next_deadline_ = std::min({greeting_deadline_, hang_up_deadline_, deaf_until_, teams_.NextDeadline()});
  context_->deadline = std::min(context_->deadline, next_deadline_);
}

void ClientSession::Tick(absl::Time now) {
  if (now < next_deadline_ || doomed_) return;
  if (now >= greeting_deadline_) {
    return Doom(absl::StrCat(DescribeProcess(process_), " was dropped: it did not attach in time (limit=",
                             absl::FormatDuration(context_->options->greeting_timeout), ")"));
  }
  if (now >= hang_up_deadline_) {
    if (!HasDied(process_)) return Doom(absl::StrCat(DescribeProcess(process_), " closed its connection"));
    return OnDeath();  // which may have had to wait
  }
  if (now >= deaf_until_) {
    deaf_until_ = absl::InfiniteFuture();
    if (const absl::Status watched = WatchDoorbell(); !watched.ok()) return Doom(std::string(watched.message()));
  }
  for (const auto& [request, formation] : teams_.Late(now)) {
    const std::string why = absl::StrCat(
        "not formed in time", context_->core->registered() ? "" : ", as this node's daemon is without a planner",
        " (size=", formation.member.size, ", timeout=", absl::FormatDuration(formation.timeout), ")");
    context_->core->CancelCreateTeam(client_, request, why);
    // The core may have failed the request with a better reason; else this one does.
    OnTeamFailed(request, {.failure = Failure::kTimedOut,
                           .text = why,
                           .cause = FailureCause::kNotFormedInTime,
                           .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(formation.timeout))});
  }
  UpdateDeadline();
}

void ClientSession::OnClosing(const std::string& why) {
  auto closing = NewMessage<attach::Closing>(MessageType::kClosing, 0);
  SetText(closing.text, why);
  Answer(closing);
}

void ClientSession::End(const std::string& why) {
  const std::string reason = why.empty() ? why_ : why;
  auto closing = NewMessage<attach::Closing>(MessageType::kClosing, 0);
  SetText(closing.text, reason);
  SendMessage(socket_.get(), closing).IgnoreError();  // the client may be gone
  if (!attached()) return context_->Log(LogLevel::kInfo, process_, reason);
  const bool died = teams_.any();
  context_->Log(died ? LogLevel::kWarning : LogLevel::kInfo, process_, absl::StrCat("client ", client_, ": ", reason));
  doomed_ = true;  // Answer sends nothing from now on
  AddEarly(&context_->early);
  context_->core->Detach(client_, died, reason);
  calls_->port().Close();
}

}  // namespace copse::daemon
