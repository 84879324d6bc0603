// SPDX-License-Identifier: Apache-2.0

#include "client/testing/fake_daemon.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/element_types.h"
#include "client/copse.h"
#include "client/testing/plain_collectives.h"
#include "collectives/block.h"
#include "collectives/collective.h"

namespace copse::client {
namespace {

using Clock = std::chrono::steady_clock;

// Only for what cannot happen unless the test itself is wrong.
void Require(bool condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "FakeDaemon: %s\n", what);
  abort();
}

template <size_t N>
void Copy(const std::string& from, char (&to)[N]) {
  memcpy(to, from.data(), std::min(from.size(), N - 1));
}

FileDescriptor Memory(uint64_t bytes) {
  FileDescriptor fd(memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  Require(fd.valid() && ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0, "memfd");
  Require(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0, "seals");
  return fd;
}

bool HasLists(copse_collective_t collective) { return collective >= COPSE_COLL_GATHERV; }
uint64_t TypeBytes(uint8_t type) { return type < kElementTypeCount ? kElementTypes[type].bytes : 0; }

}  // namespace

FileDescriptor ListenAt(const std::string& name, int flags) {
  FileDescriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  Require(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, "bind");
  Require(listen(listener.get(), 128) == 0, "listen");
  return listener;
}

struct FakeDaemon::Client {
  FileDescriptor socket;
  std::string job;
  Mapping port;  // valid once attached
  ring::PortHeader* header = nullptr;
  ring::Geometry geometry{};
  uint32_t dq_entries = 0;
  uint32_t eq_entries = 0;
  uint64_t data_bytes = 0;
  uint64_t dq_head = 0;
  uint64_t eq_tail = 0;
  uint32_t next_text = 0;
  std::map<uint32_t, Mapping> regions;
  uint32_t next_region = 1;
};

struct FakeDaemon::Entry {
  ring::DqSlot slot;
  std::vector<std::vector<uint8_t>> parts;  // what it sends: one block, or by rank
  std::vector<Block> receive_list;          // irregular collectives, where it receives blocks
  bool joined = false;
};

struct FakeDaemon::Team {
  std::string name;
  uint64_t id = 0;
  std::vector<Member> members;  // by rank
  std::string broken;           // why
  Clock::time_point deadline = Clock::time_point::max();
  std::map<uint64_t, std::vector<Entry>> calls;  // by sequence, then rank
};

FakeDaemon::FakeDaemon(Options options) : options_(std::move(options)) {
  static std::atomic<int> number{0};
  socket_ = "@copse-fake-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  listener_ = ListenAt(socket_, SOCK_NONBLOCK);
  doorbell_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  page_file_ = Memory(ring::kPageBytes);
  page_ = Mapping(page_file_.get(), ring::kPageBytes, PROT_READ | PROT_WRITE);
  auto* page = reinterpret_cast<ring::DaemonPage*>(page_.data());
  page->magic = ring::kMagic;
  page->ring_version = ring::kLayoutVersion;
  page->incarnation = 42;
  thread_ = std::thread([this] { Run(); });
}

FakeDaemon::~FakeDaemon() {
  stop_ = true;
  const uint64_t one = 1;
  Require(write(doorbell_.get(), &one, sizeof(one)) == sizeof(one), "doorbell");
  thread_.join();
}

void FakeDaemon::Run() {
  auto* page = reinterpret_cast<ring::DaemonPage*>(page_.data());
  while (!stop_) {
    std::vector<pollfd> fds;
    page->sleeping.store(1, std::memory_order_seq_cst);
    bool empty;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      empty = QueuesEmpty();
      fds.push_back({listener_.get(), POLLIN, 0});
      fds.push_back({doorbell_.get(), POLLIN, 0});
      for (auto& client : clients_) fds.push_back({client->socket.get(), POLLIN, 0});
    }
    poll(fds.data(), fds.size(), empty ? 5 : 0);
    page->sleeping.store(0, std::memory_order_seq_cst);
    page->turns.fetch_add(1);
    uint64_t rings = 0;
    if (read(doorbell_.get(), &rings, sizeof(rings)) == sizeof(rings)) doorbells_ += rings;
    std::lock_guard<std::mutex> lock(mutex_);
    Turn();
  }
}

bool FakeDaemon::QueuesEmpty() {
  if (hold_queues_) return true;
  for (auto& client : clients_) {
    if (client->header != nullptr && client->header->dq_tail.load(std::memory_order_seq_cst) != client->dq_head) {
      return false;
    }
  }
  return true;
}

void FakeDaemon::Turn() {
  Accept();
  for (size_t i = 0; i < clients_.size(); ++i) {
    Client* client = clients_[i].get();
    // Entries first: a client that posts, leaves its team and closes has posted.
    if (client->header != nullptr && !hold_queues_) TakeEntries(client);
    if (client->socket.valid()) ReadMessages(client);
  }
  ExpireFormations();
  if (!hold_calls_) CompleteCalls();
}

void FakeDaemon::Accept() {
  while (true) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) return;
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->socket = std::move(socket);
  }
}

namespace {

void Send(const FileDescriptor& socket, const void* message, size_t bytes, const std::vector<int>& fds = {}) {
  iovec part{const_cast<void*>(message), bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
  }
  sendmsg(socket.get(), &header, MSG_NOSIGNAL);
}

template <typename T>
T As(const uint8_t* bytes) {
  T result;
  memcpy(&result, bytes, sizeof(T));
  return result;
}

template <typename Answer>
Answer AnswerTo(uint64_t request, attach::MessageType type) {
  Answer answer{};
  answer.head = {attach::kMagic, static_cast<uint32_t>(type), request};
  return answer;
}

}  // namespace

void FakeDaemon::ReadMessages(Client* client) {
  while (client->socket.valid()) {
    alignas(8) uint8_t message[attach::kMessageBytesMax] = {};
    iovec part{message, sizeof(message)};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    const ssize_t bytes = recvmsg(client->socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0) return;
    if (bytes == 0) return Disconnect(client);
    FileDescriptor memory;
    if (const cmsghdr* rights = CMSG_FIRSTHDR(&header); rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
      memory = FileDescriptor(fd);
    }
    switch (static_cast<attach::MessageType>(As<attach::MessageHead>(message).type)) {
      case attach::MessageType::kAttachRequest:
        Attach(client, As<attach::AttachRequest>(message));
        break;
      case attach::MessageType::kTeamCreate:
        CreateTeam(client, As<attach::TeamCreate>(message));
        break;
      case attach::MessageType::kTeamDestroy:
        DestroyTeam(client, As<attach::TeamDestroy>(message));
        break;
      case attach::MessageType::kRegisterMemory:
        RegisterMemory(client, As<attach::RegisterMemory>(message), std::move(memory));
        break;
      case attach::MessageType::kDeregisterMemory:
        Deregister(client, As<attach::DeregisterMemory>(message));
        break;
      default:
        Require(false, "a message of unknown type");
    }
  }
}

void FakeDaemon::Attach(Client* client, const attach::AttachRequest& request) {
  last_job_ = client->job = request.job;
  client->dq_entries = request.dq_entries != 0 ? request.dq_entries : options_.dq_entries;
  client->eq_entries = request.eq_entries != 0 ? request.eq_entries : options_.eq_entries;
  client->data_bytes = request.data_bytes != 0 ? request.data_bytes : options_.data_bytes;
  client->geometry = ring::Lay(client->dq_entries, client->eq_entries, client->data_bytes);
  const FileDescriptor file = Memory(client->geometry.total_bytes);
  client->port = Mapping(file.get(), client->geometry.total_bytes, PROT_READ | PROT_WRITE);
  client->header = reinterpret_cast<ring::PortHeader*>(client->port.data());
  ring::PortHeader* header = client->header;
  header->magic = ring::kMagic;
  header->ring_version = ring::kLayoutVersion;
  header->dq_entries = client->dq_entries;
  header->eq_entries = client->eq_entries;
  header->dq_offset = client->geometry.dq_offset;
  header->eq_offset = client->geometry.eq_offset;
  header->text_offset = client->geometry.text_offset;
  header->data_offset = client->geometry.data_offset;
  header->data_bytes = client->data_bytes;
  header->total_bytes = client->geometry.total_bytes;
  auto reply = AnswerTo<attach::AttachReply>(request.head.request, attach::MessageType::kAttachReply);
  reply.ring_version = ring::kLayoutVersion;
  reply.incarnation = 42;
  reply.dq_entries = client->dq_entries;
  reply.eq_entries = client->eq_entries;
  reply.data_bytes = client->data_bytes;
  reply.message_bytes_max = options_.message_bytes_max;
  Copy("fake", reply.node);
  Copy(COPSE_VERSION_STRING, reply.package_version);
  if (options_.tamper) options_.tamper(&reply, header);
  std::vector<int> fds{file.get(), page_file_.get(), doorbell_.get()};
  fds.resize(static_cast<size_t>(reply.status == COPSE_OK ? options_.descriptors : 0));
  Send(client->socket, &reply, sizeof(reply), fds);
}

void FakeDaemon::CreateTeam(Client* client, const attach::TeamCreate& request) {
  auto answer = AnswerTo<attach::TeamReady>(request.head.request, attach::MessageType::kTeamReady);
  const TeamKey key{client->job, request.name, request.nonce, request.size};
  auto& team = forming_[key];
  if (team == nullptr) {
    team = std::make_unique<Team>();
    team->name = request.name;
    team->members.resize(request.size);
    if (request.timeout_s > 0) {
      team->deadline = Clock::now() + std::chrono::microseconds(static_cast<int64_t>(request.timeout_s * 1e6));
    }
  }
  Member& member = team->members[request.rank];
  if (member.client != nullptr) {
    answer.status = COPSE_ERR_INVALID_ARGUMENT;
    Copy("two processes claim one rank (rank=" + std::to_string(request.rank) + ")", answer.text);
    Send(client->socket, &answer, sizeof(answer));
    return;
  }
  member = {client, 1, next_handle_++, request.head.request};
  for (const Member& each : team->members) {
    if (each.client == nullptr) return;
  }
  team->id = next_team_++;
  for (const Member& each : team->members) {
    answer = AnswerTo<attach::TeamReady>(each.request, attach::MessageType::kTeamReady);
    answer.handle = each.handle;
    answer.team = team->id;
    answer.window = 8;
    answer.node_count = 1;
    ++teams_now_;
    Send(each.client->socket, &answer, sizeof(answer));
  }
  teams_.push_back(std::move(team));
  forming_.erase(key);
}

void FakeDaemon::ExpireFormations() {
  const auto now = Clock::now();
  for (auto it = forming_.begin(); it != forming_.end();) {
    Team& team = *it->second;
    if (now < team.deadline) {
      ++it;
      continue;
    }
    for (const Member& member : team.members) {
      if (member.client == nullptr) continue;
      auto answer = AnswerTo<attach::TeamReady>(member.request, attach::MessageType::kTeamReady);
      answer.status = COPSE_ERR_TIMED_OUT;
      Copy("not all members came in time", answer.text);
      Send(member.client->socket, &answer, sizeof(answer));
    }
    it = forming_.erase(it);
  }
}

void FakeDaemon::DestroyTeam(Client* client, const attach::TeamDestroy& request) {
  if (client->header != nullptr && !hold_queues_) TakeEntries(client);
  if (!hold_calls_) CompleteCalls();
  auto answer = AnswerTo<attach::Done>(request.head.request, attach::MessageType::kDone);
  answer.status = COPSE_ERR_INVALID_ARGUMENT;
  for (auto& team : teams_) {
    for (Member& member : team->members) {
      if (member.client != client || member.handle != request.handle) continue;
      if (!team->calls.empty()) continue;  // as copsed: not while calls are in flight
      member.handle = 0;
      answer.status = COPSE_OK;
      --teams_now_;
    }
  }
  if (request.head.request != attach::kNoAnswer) Send(client->socket, &answer, sizeof(answer));
}

void FakeDaemon::RegisterMemory(Client* client, const attach::RegisterMemory& request, FileDescriptor memory) {
  auto answer = AnswerTo<attach::MemoryRegistered>(request.head.request, attach::MessageType::kMemoryRegistered);
  struct stat status {};
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  Require(fstat(memory.get(), &status) == 0 && static_cast<uint64_t>(status.st_size) >= request.bytes, "short memfd");
  Require(seals >= 0 && (seals & F_SEAL_SHRINK) != 0, "memfd not sealed against shrinking");
  if (!options_.registers_memory) {
    answer.status = COPSE_ERR_NOT_SUPPORTED;
    Copy("no memory is registered here", answer.text);
  } else {
    ++regions_;
    answer.region = client->next_region++;
    client->regions[answer.region] = Mapping(memory.get(), request.bytes, PROT_READ | PROT_WRITE);
  }
  Send(client->socket, &answer, sizeof(answer));
}

void FakeDaemon::Deregister(Client* client, const attach::DeregisterMemory& request) {
  Require(client->regions.erase(request.region) == 1, "an unknown region");
  --regions_;
  const auto answer = AnswerTo<attach::Done>(request.head.request, attach::MessageType::kDone);
  if (request.head.request != attach::kNoAnswer) Send(client->socket, &answer, sizeof(answer));
}

// --- Calls ---

uint8_t* FakeDaemon::At(Client* client, const ring::Place& place, uint64_t bytes) {
  uint8_t* base = client->port.data() + client->geometry.data_offset;
  uint64_t limit = client->data_bytes;
  if (place.region != 0) {
    const auto found = client->regions.find(place.region);
    Require(found != client->regions.end(), "an unknown region in a descriptor");
    base = found->second.data();
    limit = found->second.bytes();
  }
  Require(place.offset <= limit && bytes <= limit - place.offset, "a place outside its region");
  return base + place.offset;
}

void FakeDaemon::TakeEntries(Client* client) {
  const uint64_t tail = client->header->dq_tail.load(std::memory_order_seq_cst);
  Require(tail - client->dq_head <= client->dq_entries, "dq_tail out of range");
  while (client->dq_head != tail) {
    const uint64_t index = client->dq_head & (client->dq_entries - 1);
    const auto slot = As<ring::DqSlot>(client->port.data() + client->geometry.dq_offset + index * sizeof(ring::DqSlot));
    client->header->dq_head.store(++client->dq_head, std::memory_order_release);
    if (static_cast<ring::Command>(slot.entry.command) == ring::Command::kNop) {
      Emit(client, slot.entry.value, 0, 0, "");
    } else {
      Join(client, slot);
    }
  }
}

void FakeDaemon::Join(Client* client, const ring::DqSlot& slot) {
  for (auto& team : teams_) {
    for (uint32_t rank = 0; rank < team->members.size(); ++rank) {
      Member& member = team->members[rank];
      if (member.client != client || member.handle != slot.entry.team) continue;
      const uint64_t sequence = member.next_sequence++;
      if (!team->broken.empty()) {
        return Emit(client, slot.entry.value, sequence, COPSE_ERR_MEMBER_LOST, team->broken);
      }
      auto& ranks = team->calls[sequence];
      ranks.resize(team->members.size());
      Entry& entry = ranks[rank];
      entry.slot = slot;
      entry.joined = true;
      return ReadContribution(client, rank, static_cast<uint32_t>(team->members.size()), &entry);
    }
  }
  Emit(client, slot.entry.value, 0, COPSE_ERR_INVALID_ARGUMENT, "no such team");
}

void FakeDaemon::ReadContribution(Client* client, uint32_t rank, uint32_t size, Entry* entry) {
  const ring::DqEntry& posted = entry->slot.entry;
  const auto collective = static_cast<Collective>(posted.collective);
  const uint64_t bytes = posted.count * TypeBytes(posted.type);
  const BufferKind sends = SendBuffer(collective, rank, posted.root);
  std::vector<Block> list;
  if (IsIrregular(collective)) {
    const auto places = As<ring::ListPlaces>(posted.payload);
    const auto read = [&](const ring::Place& place) {
      std::vector<Block> blocks(size);
      memcpy(blocks.data(), At(client, place, size * sizeof(Block)), size * sizeof(Block));
      return blocks;
    };
    const uint8_t options = (posted.flags & ring::kCountsKnown) != 0 ? kCountsKnown : 0;
    if (GivesSendBlocks(collective, options, rank, posted.root)) list = read(places.send);
    if (GivesReceiveBlocks(collective, options, rank, posted.root)) entry->receive_list = read(places.receive);
  } else if (sends == BufferKind::kBlocks) {
    for (uint32_t i = 0; i < size; ++i) list.push_back({i * bytes, bytes});
  }
  if (sends == BufferKind::kOne) list.assign(1, {0, bytes});
  if (sends == BufferKind::kNone) return;
  for (const Block& block : list) {
    std::vector<uint8_t> part;
    if (block.bytes > 0) {
      const uint8_t* source = posted.payload;
      if ((posted.flags & ring::kSendInline) != 0) {
        ++inline_contributions_;
      } else {
        ring::Place place = (posted.flags & ring::kInPlace) != 0 ? entry->slot.receive : posted.send;
        place.offset += block.offset;
        source = At(client, place, block.bytes);
      }
      part.assign(source, source + block.bytes);
    }
    entry->parts.push_back(std::move(part));
  }
}

void FakeDaemon::CompleteCalls() {
  for (auto& team : teams_) {
    while (!team->calls.empty()) {
      const auto& [sequence, ranks] = *team->calls.begin();
      if (!std::all_of(ranks.begin(), ranks.end(), [](const Entry& entry) { return entry.joined; })) break;
      Complete(team.get(), sequence);
      team->calls.erase(team->calls.begin());
    }
  }
}

void FakeDaemon::Complete(Team* team, uint64_t sequence) {
  std::vector<Entry>& ranks = team->calls[sequence];
  const ring::DqEntry& first = ranks[0].slot.entry;
  const auto collective = static_cast<copse_collective_t>(first.collective);
  int32_t status = std::exchange(fail_status_, 0);
  std::string text = std::exchange(fail_text_, "");
  for (uint32_t rank = 1; rank < ranks.size(); ++rank) {
    const ring::DqEntry& entry = ranks[rank].slot.entry;
    const bool same_count = HasLists(collective) || entry.count == first.count;
    if (entry.collective == first.collective && same_count && entry.type == first.type && entry.op == first.op &&
        entry.root == first.root) {
      continue;
    }
    status = COPSE_ERR_MISMATCH;
    text = "arguments differ (rank=0, rank=" + std::to_string(rank) + ")";
  }
  ++calls_completed_;  // before anybody hears of it
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    Client* client = team->members[rank].client;
    if (client == nullptr) continue;
    if (status == COPSE_OK && !Deliver(client, ranks, rank)) {
      status = COPSE_ERR_MISMATCH;
      text = "blocks differ in length (rank=" + std::to_string(rank) + ")";
    }
    Emit(client, ranks[rank].slot.entry.value, sequence, status, text);
  }
}

// Writes what rank `rank` gets; false if that is not as long as it says.
bool FakeDaemon::Deliver(Client* client, const std::vector<Entry>& ranks, uint32_t rank) {
  const Entry& self = ranks[rank];
  const ring::DqEntry& posted = self.slot.entry;
  const PlainCall call{static_cast<copse_collective_t>(posted.collective), static_cast<copse_datatype_t>(posted.type),
                       static_cast<copse_op_t>(posted.op), posted.root};
  PlainParts parts;
  for (const Entry& entry : ranks) parts.push_back(entry.parts);
  const auto collective = static_cast<Collective>(posted.collective);
  const BufferKind kind = ReceiveBuffer(collective, rank, call.root);
  if (kind == BufferKind::kNone) return true;
  const std::vector<PlainBlock> result = PlainResult(call, parts, rank);
  const uint64_t bytes = posted.count * TypeBytes(posted.type);
  if (result.empty()) return false;
  for (uint32_t i = 0; i < result.size(); ++i) {
    const bool listed = kind == BufferKind::kBlocks && IsIrregular(collective);
    const Block block = listed ? self.receive_list[i] : Block{i * bytes, bytes};
    if (result[i].size() != block.bytes) return false;
    if (block.bytes == 0) continue;
    ring::Place place = self.slot.receive;
    place.offset += block.offset;
    memcpy(At(client, place, block.bytes), result[i].data(), block.bytes);
  }
  return true;
}

void FakeDaemon::Break(Team* team, const std::string& text) {
  if (!team->broken.empty()) return;
  team->broken = text;
  for (auto& [sequence, ranks] : team->calls) {
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].joined && team->members[rank].client != nullptr) {
        Emit(team->members[rank].client, ranks[rank].slot.entry.value, sequence, COPSE_ERR_MEMBER_LOST, text);
      }
    }
  }
  team->calls.clear();
}

void FakeDaemon::Disconnect(Client* client) {
  client->socket = FileDescriptor();
  for (auto& team : teams_) {
    for (uint32_t rank = 0; rank < team->members.size(); ++rank) {
      Member& member = team->members[rank];
      if (member.client != client) continue;
      member.client = nullptr;
      if (member.handle == 0) continue;
      --teams_now_;
      Break(team.get(), "rank " + std::to_string(rank) + " is gone (node=fake)");
    }
  }
  for (auto& [key, team] : forming_) {
    for (Member& member : team->members) {
      if (member.client == client) member = Member{};
    }
  }
  client->header = nullptr;  // its memory stays until the end, as calls in flight may name it
}

void FakeDaemon::Emit(Client* client, uint64_t value, uint64_t sequence, int32_t status, const std::string& text) {
  ring::EqEntry event{value, sequence, status, ring::kNoText, 0};
  if (!text.empty()) {
    event.text = client->next_text++ % ring::kTextCount;
    char* target = reinterpret_cast<char*>(client->port.data() + client->geometry.text_offset +
                                           uint64_t{event.text} * ring::kTextBytes);
    memset(target, 0, ring::kTextBytes);
    memcpy(target, text.data(), std::min<size_t>(text.size(), ring::kTextBytes - 1));
  }
  Append(client, event);
}

void FakeDaemon::Append(Client* client, const ring::EqEntry& event) {
  auto* header = reinterpret_cast<ring::PortHeader*>(client->port.data());
  Require(client->eq_tail - header->eq_head.load() < client->eq_entries, "the event queue overflows");
  memcpy(client->port.data() + client->geometry.eq_offset +
             (client->eq_tail & (client->eq_entries - 1)) * sizeof(ring::EqEntry),
         &event, sizeof(event));
  header->eq_tail.store(++client->eq_tail, std::memory_order_seq_cst);
  header->eq_futex.store(static_cast<uint32_t>(client->eq_tail), std::memory_order_seq_cst);
  if (header->eq_waiting.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&header->eq_futex), FUTEX_WAKE, std::numeric_limits<int>::max(),
            nullptr, nullptr, 0);
  }
}

// --- Misbehavior ---

void FakeDaemon::HoldQueues(bool on) {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_queues_ = on;
}

void FakeDaemon::HoldCalls(bool on) {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_calls_ = on;
}

void FakeDaemon::FailNextCall(int32_t status, const std::string& text) {
  std::lock_guard<std::mutex> lock(mutex_);
  fail_status_ = status;
  fail_text_ = text;
}

void FakeDaemon::KillClientOf(const std::string& team, uint32_t rank) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& each : teams_) {
    if (each->name == team && each->members.at(rank).client != nullptr) Disconnect(each->members[rank].client);
  }
}

void FakeDaemon::Kill() {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_queues_ = hold_calls_ = true;
  for (auto& client : clients_) client->socket = FileDescriptor();
  listener_ = FileDescriptor();
}

void FakeDaemon::Close(const std::string& text) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& client : clients_) {
      auto closing = AnswerTo<attach::Closing>(0, attach::MessageType::kClosing);
      Copy(text, closing.text);
      Send(client->socket, &closing, sizeof(closing));
      auto* header = reinterpret_cast<ring::PortHeader*>(client->port.data());
      header->closed.store(1, std::memory_order_seq_cst);
      syscall(SYS_futex, reinterpret_cast<uint32_t*>(&header->eq_futex), FUTEX_WAKE, std::numeric_limits<int>::max(),
              nullptr, nullptr, 0);
    }
  }
  Kill();
}

void FakeDaemon::PostEvent(const ring::EqEntry& event) {
  std::lock_guard<std::mutex> lock(mutex_);
  Append(clients_.at(0).get(), event);
}

void FakeDaemon::SetEventTail(uint64_t tail) {
  std::lock_guard<std::mutex> lock(mutex_);
  Client* client = clients_.at(0).get();
  reinterpret_cast<ring::PortHeader*>(client->port.data())->eq_tail.store(tail, std::memory_order_seq_cst);
}

void FakeDaemon::SendGarbage() {
  std::lock_guard<std::mutex> lock(mutex_);
  const char garbage[] = "this is no message of ours";
  Send(clients_.at(0)->socket, garbage, sizeof(garbage));
}

uint64_t FakeDaemon::teams() {
  std::lock_guard<std::mutex> lock(mutex_);
  Turn();
  return teams_now_;
}

std::string FakeDaemon::last_job() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_job_;
}

}  // namespace copse::client
