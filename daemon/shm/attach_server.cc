// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/attach_server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "daemon/accounts/accounts.h"
#include "daemon/accounts/fair_share.h"
#include "daemon/core/calls/instruments.h"

namespace copse::daemon {
namespace {

// At most this many connections are accepted at once, so that other descriptors are served in between.
constexpr int kAcceptsPerTurn = 16;
constexpr absl::Duration kCheckEvery = absl::Minutes(1);

// A client is quiet after so many looks without a post. Of quiet clients so many are looked at in a turn, at least: a
// user with very many of them must not make each turn longer.
constexpr uint32_t kQuietAfter = 64;
constexpr size_t kQuietPerTurn = 64;

UniqueFd SpareFd() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// Nobody knows whose it is.
PeerProcess UnknownProcess() { return {.uid = UINT32_MAX}; }

// Sends the reason of a refusal to the client, and logs it. The caller closes the socket.
void Refuse(SessionContext* context, int socket, const PeerProcess& process, const std::string& why) {
  auto reply = NewMessage<attach::AttachReply>(attach::MessageType::kAttachReply, 0);
  reply.status = -static_cast<int32_t>(schedule::Failure::kNoResource);
  SetText(reply.text, why);
  reply.facts.cause = static_cast<uint8_t>(FailureCause::kQuota);
  SendMessage(socket, reply).IgnoreError();
  context->Log(LogLevel::kWarning, process, why);
}

// Each user may have a client a core, and its port, as long as any are left.
uint64_t ClientsFloor() { return std::max(std::thread::hardware_concurrency(), 1u); }

// Memory of ports is kept for users with little in whole ports of the usual size.
FairShare ShareOfPorts(const AttachOptions& options) {
  const uint64_t usual = ring::Lay(options.dq_entries, options.eq_entries, options.data_bytes).total_bytes;
  FairShare share{.limit = options.ports_bytes_max, .unit = usual};
  if (share.limit == 0) share.limit = options.clients_max * usual;
  share.floor = share.kept();
  share.least = std::min(share.floor, ClientsFloor() * usual);
  return share;
}

}  // namespace

AttachServer::AttachServer(const Clock* clock, Poller* poller, DaemonCore* core, DaemonPages* pages,
                           AttachOptions options)
    : options_(std::move(options)),
      context_(&options_, clock, poller, core, pages),
      spare_(SpareFd()),
      next_check_(clock->Now() + kCheckEvery) {
  Accounts& accounts = core->accounts();
  accounts.SetShare(Resource::kClients,
                    {.limit = options_.clients_max, .floor = ClientsFloor(), .least = ClientsFloor()});
  accounts.SetShare(Resource::kClientMemory, ShareOfPorts(options_));
  ShareRegions(options_.regions, &accounts);
}

AttachServer::~AttachServer() { Shutdown("the daemon stops"); }

absl::Status AttachServer::AddListener(UniqueFd socket) {
  const int fd = socket.get();
  const absl::Status watched = context_.poller->Watch(fd, EPOLLIN, [this, fd](uint32_t) { OnConnection(fd); });
  if (watched.ok()) listeners_.push_back(std::move(socket));
  return watched;
}

void AttachServer::OnConnection(int listener) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      AcceptInTurn(std::move(socket));
      continue;
    }
    if (errno != EMFILE && errno != ENFILE) return;
    spare_.reset();
    socket = UniqueFd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) Refuse(&context_, socket.get(), UnknownProcess(), "attach: the daemon has no descriptors left");
    socket.reset();
    spare_ = SpareFd();
    return;
  }
}

void AttachServer::AcceptInTurn(UniqueFd socket) {
  absl::StatusOr<PeerProcess> process = PeerOf(socket.get());
  if (!process.ok()) {
    return Refuse(&context_, socket.get(), UnknownProcess(), absl::StrCat("attach: ", process.status().message()));
  }
  const uint32_t uid = process->uid;
  if (context_.pace.MayBegin(uid)) return Accept(std::move(socket), *std::move(process));
  if (const size_t waiting = context_.pace.waiting(uid); waiting >= options_.clients_max) {
    return Refuse(&context_, socket.get(), *process,
                  absl::StrCat("attach: too many connections that wait for their turn (uid=", uid,
                               ", waiting=", waiting, ", limit=", options_.clients_max, ")"));
  }
  context_.pace.Keep(uid, this, [this, socket = std::move(socket), process = *std::move(process)]() mutable {
    Accept(std::move(socket), std::move(process));
  });
}

void AttachServer::Accept(UniqueFd socket, PeerProcess process) {
  const uint32_t uid = process.uid;
  const UserPace::Errand errand(&context_.pace, uid);
  LookUp(socket.get(), &process);
  const std::shared_ptr<Account> account = context_.core->accounts().Open(uid, process.job, process.groups);
  absl::StatusOr<Account::Holding> held = account->Take(Resource::kClients);
  if (!held.ok()) {
    return Refuse(&context_, socket.get(), process, absl::StrCat("attach: ", held.status().message()));
  }
  // Without this limit one user's connections could keep all others out.
  const auto mute = std::count_if(served_.begin(), served_.end(), [&](const Served& served) {
    return !served.session->attached() && served.session->uid() == uid;
  });
  if (mute >= options_.mute_max) {
    return Refuse(&context_, socket.get(), process,
                  absl::StrCat("attach: too many connections that have not said who they are (uid=", uid,
                               ", connections=", mute, ", limit=", options_.mute_max, ")"));
  }
  auto session = std::make_unique<ClientSession>(&context_, std::move(socket), std::move(process), *std::move(held));
  if (const absl::Status started = session->Start(); !started.ok()) {
    COPSE_LOG(kWarning, "attach: ", started.message());
    return;
  }
  served_.push_back({std::move(session)});
}

bool AttachServer::ReadPosts() {
  bool did = false;
  const absl::Time now = context_.clock->Now();
  if (now >= next_check_) {
    next_check_ = now + kCheckEvery;
    CheckHoldings();
  }
  if (now >= context_.deadline) {
    context_.deadline = absl::InfiniteFuture();
    for (const Served& served : served_) {
      served.session->Tick(now);
      context_.deadline = std::min(context_.deadline, served.session->NextDeadline());
    }
  }
  did |= context_.pace.RunDue();
  shares_.BeginTurn();
  ++turn_;
  const size_t count = served_.size();
  const uint32_t mask =
      context_.pages->sleeping() ? 0 : std::bit_ceil(static_cast<uint32_t>(count / kQuietPerTurn) + 1) - 1;
  const size_t first = std::exchange(first_, count) % std::max<size_t>(count, 1);
  for (size_t i = 0; i < count; ++i) {
    const size_t place = first + i < count ? first + i : first + i - count;
    Served& served = served_[place];
    const bool is_skipped = served.quiet >= kQuietAfter && ((static_cast<uint32_t>(place) + turn_) & mask) != 0;
    if (!is_skipped) did |= Look(&served, place, now);
  }
  if (!context_.any_doomed) return did;
  EndDoomed();
  return true;
}

bool AttachServer::Look(Served* served, size_t place, absl::Time now) {
  ClientSession& session = *served->session;
  if (!session.attached() || session.doomed()) return false;
  const bool has_posts = session.HasPosts();
  uint32_t none = 0;
  uint32_t* const left = has_posts ? shares_.LeftOf(session.uid()) : &none;
  if (has_posts && *left == 0 && first_ == served_.size()) first_ = place;
  const bool did = session.Read(left);
  if (has_posts) context_.pace.NotePosts(session.uid(), now);
  served->quiet = did ? 0 : std::min(served->quiet + 1, kQuietAfter);
  return did;
}

void AttachServer::EndDoomed() {
  context_.any_doomed = false;
  std::vector<Served> ending;
  const auto doomed = std::stable_partition(served_.begin(), served_.end(),
                                            [](const Served& served) { return !served.session->doomed(); });
  std::move(doomed, served_.end(), std::back_inserter(ending));
  served_.erase(doomed, served_.end());
  for (Served& served : ending) {
    const ClientSession* const session = served.session.get();
    if (context_.pace.MayBegin(session->uid())) {
      End(std::move(served.session));
      continue;
    }
    doomed_.emplace(session, std::move(served.session));
    context_.pace.Keep(session->uid(), this, [this, session] { End(std::move(doomed_.extract(session).mapped())); });
  }
}

void AttachServer::End(std::unique_ptr<ClientSession> session) {
  const UserPace::Errand errand(&context_.pace, session->uid());
  session->End("");
  // Its end may have brought it events.
  std::erase(context_.with_events, session.get());
  session.reset();
}

void AttachServer::CheckHoldings() {
  for (const Served& served : served_) served.session->CheckProcess();
  orphans_ = 0;
  for (const Account* account : context_.core->accounts().All()) {
    if (account->used(Resource::kClients) > 0) continue;
    ++orphans_;
    COPSE_LOG_ABOUT(kWarning, LogSubject{.job = account->job()},
                    "something is held for a job without a process here (uid=", account->uid(),
                    ", job=", account->job(), ", teams=", account->used(Resource::kTeams),
                    ", memory=", account->used(Resource::kMemory), ", posts=", account->used(Resource::kPosts), ")");
  }
}

void AttachServer::WakeClients() {
  for (ClientSession* const session : context_.with_events) {
    if (session->WakeForEvents() && options_.instruments != nullptr) {
      options_.instruments->ClientWoken(session->client());
    }
  }
  context_.with_events.clear();
  context_.pages->Wake();
}

EarlyTotals AttachServer::early_totals() const {
  EarlyTotals totals = context_.early;
  for (const Served& served : served_) served.session->AddEarly(&totals);
  for (const auto& [key, session] : doomed_) session->AddEarly(&totals);
  return totals;
}

absl::Time AttachServer::NextDeadline() const {
  return std::min({next_check_, context_.deadline, context_.pace.NextDue()});
}

uint32_t AttachServer::EndJob(uint32_t uid, const std::string& job) {
  uint32_t ended = 0;
  for (const Served& served : served_) {
    ClientSession& session = *served.session;
    if (session.doomed() || session.uid() != uid || session.job() != job) continue;
    session.Doom(absl::StrCat("job ", job, " has ended (uid=", uid, ")"));
    ++ended;
  }
  return ended;
}

void AttachServer::Shutdown(const std::string& why) {
  for (const UniqueFd& listener : listeners_) context_.poller->Unwatch(listener.get());
  listeners_.clear();
  const std::vector<Served> ending = std::exchange(served_, {});
  for (const Served& served : ending) served.session->End(served.session->doomed() ? "" : why);
  for (const auto& [key, session] : doomed_) session->End("");
  context_.pace.Clear();
  doomed_.clear();
  context_.with_events.clear();
}

}  // namespace copse::daemon
