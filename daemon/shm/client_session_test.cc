// SPDX-License-Identifier: Apache-2.0
//
// What attached clients do: teams, calls, memory.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/process/lost_memory.h"
#include "base/process/missing_pages.h"
#include "base/testing/mapping_beyond_end.h"
#include "base/testing/status_matchers.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/shm/memory_file.h"
#include "daemon/shm/testing/attach_fixture.h"

namespace copse::daemon {
namespace {

using attach::MessageType;
using copse::testing::Names;

using ClientSessionTest = AttachFixture;

// --- Teams ---

TEST_F(ClientSessionTest, TwoClientsReduceInSharedMemory) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  constexpr uint64_t kCount = 1000;
  for (uint64_t i = 0; i < kCount; ++i) {
    reinterpret_cast<uint64_t*>(a->data())[i] = i;
    reinterpret_cast<uint64_t*>(b->data())[i] = 10 * i;
  }
  ring::DqSlot slot = AllreduceSlot(first, kCount, 5);
  slot.receive.offset = 64 * 1024;
  a->Post(slot);
  slot.entry.team = second;
  slot.entry.value = 6;
  b->Post(slot);
  for (RawClient* client : {a.get(), b.get()}) {
    const ring::EqEntry event = EventOf(client);
    EXPECT_EQ(event.status, 0) << client->Text(event);
    EXPECT_EQ(event.value, client == a.get() ? 5u : 6u);
    for (uint64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(reinterpret_cast<uint64_t*>(client->data() + slot.receive.offset)[i], 11 * i);
    }
  }
}

TEST_F(ClientSessionTest, InlineContributionsAreReadOnce) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  ring::DqSlot slot = AllreduceSlot(first, 1, 0);
  slot.entry.flags = ring::kSendInline;
  slot.entry.payload[0] = 3;
  a->Post(slot);
  daemon_->Turn();
  slot.entry.team = second;
  slot.entry.payload[0] = 4;
  b->Post(slot);
  for (RawClient* client : {a.get(), b.get()}) {
    EventOf(client);
    EXPECT_EQ(FirstOf(client), 7u);
  }
}

TEST_F(ClientSessionTest, BadTeamsAreRefusedWithAReason) {
  const auto client = Attached();
  const auto ask = [&](uint32_t rank, uint32_t size, double timeout_s, uint32_t parent) {
    auto create = NewMessage<attach::TeamCreate>(MessageType::kTeamCreate, 9);
    create.rank = rank;
    create.size = size;
    create.timeout_s = timeout_s;
    create.parent = parent;
    client->Send(create);
    const attach::TeamReady ready = client->AwaitTeam();
    EXPECT_EQ(ready.head.request, 9u);
    EXPECT_EQ(ready.status, kInvalidArgument);
    return std::string(ready.text);
  };
  EXPECT_THAT(ask(2, 2, 0, 0), Names("team: ", "rank=2", "size=2"));
  EXPECT_THAT(ask(0, 0, 0, 0), Names("team: ", "rank=0", "size=0"));
  EXPECT_THAT(ask(0, 1, 0, 5), Names("team: ", "handle=5"));
  EXPECT_THAT(ask(0, 1, -1, 0), Names("team: ", "timeout_s=-1"));
  auto create = NewMessage<attach::TeamCreate>(MessageType::kTeamCreate, 9);
  create.size = 1;
  memset(create.name, 7, sizeof(create.name));
  client->Send(create);
  EXPECT_EQ(client->AwaitTeam().status, kInvalidArgument);
}

TEST_F(ClientSessionTest, ATeamThatIsNotFormedInTimeFails) {
  const auto client = Attached();
  client->AskTeam(3, "lonely", 0, 2, 0.01);
  const attach::TeamReady ready = client->AwaitTeam();
  EXPECT_EQ(ready.status, kTimedOut);
  EXPECT_EQ(ready.head.request, 3u);
  EXPECT_THAT(ready.text, Names("size=2", "timeout=10ms"));
}

TEST_F(ClientSessionTest, ATeamThatNobodyFormsFailsToo) {
  Start({.formation_timeout = absl::Milliseconds(5)});
  const auto client = Attached();
  client->AskTeam(3, "lonely", 0, 2);
  EXPECT_EQ(client->AwaitTeam().status, kTimedOut);
}

TEST_F(ClientSessionTest, WithoutAPlannerATeamFailsAtOnceAndOthersHearOfIt) {
  Start({}, {.planner_patience = absl::Milliseconds(5)});
  const auto client = Attached();
  client->AskTeam(1, "waiting", 0, 2);
  EXPECT_TRUE(AnswersNop(client.get()));  // by now it has joined
  daemon_->core().OnPlannerDown();
  EXPECT_EQ(client->AwaitTeam().status, kNoResource);
  client->AskTeam(2, "new", 0, 2, 10);
  const attach::TeamReady answer = client->AwaitTeam();
  EXPECT_EQ(answer.status, kNoResource);
  EXPECT_EQ(answer.facts.cause, static_cast<uint8_t>(FailureCause::kNoPlanner)) << answer.text;
  // A planner that is back is told, as members on other nodes may wait for these.
  daemon_->core().OnPlannerUp();
  client->AskTeam(3, "next", 0, 1);
  EXPECT_EQ(client->AwaitTeam().status, 0);
  ASSERT_EQ(daemon_->planner().canceled().size(), 2u);
  for (const schedule::CancelJoin& canceled : daemon_->planner().canceled()) {
    EXPECT_EQ(canceled.why.cause, FailureCause::kNoPlanner) << canceled.why.text;
  }
}

TEST_F(ClientSessionTest, UnansweredRequestsAreBounded) {
  Start({.requests_max = 3});
  const auto client = Attached();
  for (uint64_t i = 0; i < 4; ++i) client->AskTeam(i, absl::StrCat("team", i), 0, 2);
  const attach::TeamReady ready = client->AwaitTeam();
  EXPECT_EQ(ready.head.request, 3u);
  EXPECT_EQ(ready.status, kNoResource);
}

TEST_F(ClientSessionTest, DestroysATeam) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  AskDestroy(a.get(), 8, first);
  const attach::Done done = DoneOf(a.get());
  EXPECT_EQ(done.status, 0) << done.text;
  EXPECT_EQ(done.head.request, 8u);
  AskDestroy(a.get(), 8, first);
  EXPECT_EQ(DoneOf(a.get()).status, kInvalidArgument);
}

TEST_F(ClientSessionTest, ATeamWithCallsInFlightCannotBeDestroyedAndGoesOn) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  a->Post(AllreduceSlot(first, 1, 1));
  daemon_->Turn();
  AskDestroy(a.get(), 8, first);
  EXPECT_EQ(DoneOf(a.get()).status, kInvalidArgument);
  b->Post(AllreduceSlot(second, 1, 2));
  EXPECT_EQ(EventOf(a.get()).status, 0);
  a->Post(AllreduceSlot(first, 1, 3));
  b->Post(AllreduceSlot(second, 1, 4));
  EXPECT_EQ(EventOf(a.get()).status, 0);
}

// --- Rings ---

TEST_F(ClientSessionTest, BadCallsAreAnsweredByAnEvent) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  ring::DqSlot command = AllreduceSlot(first, 1, 1);
  command.entry.command = 9;
  ring::DqSlot team = AllreduceSlot(77, 1, 2);
  ring::DqSlot beyond = AllreduceSlot(first, 8192, 3);
  beyond.receive.offset = 1 << 20;
  ring::DqSlot region = AllreduceSlot(first, 1, 4);
  region.entry.send.region = 5;
  ring::DqSlot op = AllreduceSlot(first, 1, 5);
  op.entry.type = static_cast<uint8_t>(ElementType::kDouble);
  op.entry.op = static_cast<uint8_t>(ElementOp::kBand);
  uint64_t value = 0;
  for (const ring::DqSlot& slot : {command, team, beyond, region, op}) {
    a->Post(slot);
    const ring::EqEntry event = EventOf(a.get());
    EXPECT_EQ(event.value, ++value);
    EXPECT_EQ(event.status, kInvalidArgument);
    EXPECT_NE(a->Text(event), "");
  }
  EXPECT_TRUE(AnswersNop(a.get()));
}

TEST_F(ClientSessionTest, AnImpossibleTailDropsTheClient) {
  const auto other = Attached();
  const auto client = Attached();
  client->header()->dq_tail.store(257);
  ExpectDropped(client.get(), "tail=257", "head=0", "limit=256");
  EXPECT_TRUE(AnswersNop(other.get()));
}

TEST_F(ClientSessionTest, AnImpossibleEventHeadDropsTheClient) {
  const auto client = Attached();
  client->header()->eq_head.store(5);
  client->PostNop(1);
  ExpectDropped(client.get(), "head=5", "tail=0");
}

TEST_F(ClientSessionTest, EntriesWaitForRoomInTheEventQueue) {
  attach::AttachRequest request = RawClient::Request();
  request.dq_entries = 64;
  request.eq_entries = 4;
  const auto client = Attached(request);
  for (uint64_t i = 0; i < 64; ++i) client->PostNop(i);
  for (int i = 0; i < 100; ++i) daemon_->Turn();
  EXPECT_EQ(client->header()->eq_tail.load(), 4u);
  EXPECT_EQ(client->header()->dq_head.load(), 4u);
  for (uint64_t i = 0; i < 64; ++i) ASSERT_EQ(EventOf(client.get()).value, i);
}

TEST_F(ClientSessionTest, AGreedyClientDoesNotHoldUpAnother) {
  const auto greedy = Attached();
  const auto other = Attached();
  for (uint64_t i = 0; i < 256; ++i) greedy->PostNop(i);
  other->PostNop(1);
  daemon_->Turn();
  daemon_->Turn();
  EXPECT_TRUE(other->TryEvent().has_value());
  EXPECT_LE(greedy->header()->eq_tail.load(), 2 * kPostsPerTurn);
}

TEST_F(ClientSessionTest, TheDoorbellWakesASleepingDaemon) {
  const auto client = Attached();
  while (daemon_->poller().Wait(absl::ZeroDuration())) {
  }
  daemon_->pages().SetSleeping(true);
  client->PostNop(1);
  EXPECT_TRUE(daemon_->poller().Wait(absl::Seconds(10)));
  daemon_->pages().SetSleeping(false);
  client->PostNop(2);
  EXPECT_FALSE(daemon_->poller().Wait(absl::ZeroDuration()));
}

TEST_F(ClientSessionTest, ARefusedCallWakesItsClient) {
  const auto client = Attached();
  client->header()->eq_waiting.store(ring::kWaitsOnPage);
  const auto* const word = reinterpret_cast<const std::atomic<uint32_t>*>(
      reinterpret_cast<const uint8_t*>(client->page()) + client->header()->wake_offset);
  for (const uint8_t command : {uint8_t{0}, uint8_t{99}}) {  // a no-op, which is not refused, does too
    ring::DqSlot slot{};
    slot.entry.command = command;
    const uint32_t before = word->load();
    client->Post(slot);
    EXPECT_EQ(EventOf(client.get()).status, command == 0 ? 0 : kInvalidArgument);
    EXPECT_NE(word->load(), before) << int{command};
  }
}

TEST_F(ClientSessionTest, RefusedPostsAreCounted) {
  const MonotonicClock clock;
  Instruments instruments(&clock, 0);
  Start({.instruments = &instruments});
  const auto client = Attached();
  ring::DqSlot slot{};
  for (const uint8_t command : {uint8_t{0}, uint8_t{99}, uint8_t{1}}) {  // a no-op, an unknown one, an unknown team
    slot.entry.command = command;
    client->Post(slot);
    EventOf(client.get());
  }
  std::map<std::string, uint64_t> counters;
  instruments.AppendCounters(&counters);
  EXPECT_EQ(counters["calls.refused"], 2u);
  daemon_.reset();  // before its instruments
}

TEST_F(ClientSessionTest, RingingForNothingIsNotHeardForAWhile) {
  const auto client = Attached();
  const absl::Time begin = absl::Now();
  const uint64_t one = 1;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(write(client->doorbell(), &one, sizeof(one)), ssize_t{sizeof(one)});
    daemon_->Turn();
  }
  const int64_t pauses = (absl::Now() - begin) / absl::Milliseconds(10);
  EXPECT_LE(daemon_->server().doorbells(), 17u + pauses);
  EXPECT_TRUE(AnswersNop(client.get()));
  // It has posted; once it is heard again, it rings for something.
  uint64_t before = daemon_->server().doorbells();
  ASSERT_EQ(write(client->doorbell(), &one, sizeof(one)), ssize_t{sizeof(one)});
  ASSERT_TRUE(daemon_->TurnUntil([&] { return daemon_->server().doorbells() > before; }));
  before = daemon_->server().doorbells();
  for (int i = 0; i < 100; ++i) {
    client->PostNop(i);
    ASSERT_EQ(write(client->doorbell(), &one, sizeof(one)), ssize_t{sizeof(one)});
    ASSERT_TRUE(client->AwaitEvent().has_value());
    daemon_->Turn();
  }
  EXPECT_GE(daemon_->server().doorbells(), before + 90);
}

// --- Memory ---

class MemoryTest : public AttachFixture {
 protected:
  void SetUp() override { client_ = Attached(); }
  attach::MemoryRegistered Register(const UniqueFd& memory, uint64_t bytes) {
    auto message = NewMessage<attach::RegisterMemory>(MessageType::kRegisterMemory, 5);
    message.bytes = bytes;
    EXPECT_TRUE(client_->Send(message, {memory.get()}));
    return MessageTo<attach::MemoryRegistered>(client_.get(), MessageType::kMemoryRegistered);
  }
  void Deregister(uint32_t region, uint64_t request) {
    auto message = NewMessage<attach::DeregisterMemory>(MessageType::kDeregisterMemory, request);
    message.region = region;
    EXPECT_TRUE(client_->Send(message));
  }

  // A call of the client and another one, which the client has not posted: the sum of 40, in memory that it registers,
  // and 2. The result goes to byte 4096 of that memory.
  struct Call {
    std::unique_ptr<RawClient> other;
    UniqueFd memory;
    Mapping mapping;
    uint32_t region;
    ring::DqSlot slot, others_slot;
  };
  // With `is_whole`, all pages of the memory exist when it is registered.
  Call NewCall(bool is_whole = false) {
    auto other = Attached();
    const auto [first, second] = Team(client_.get(), other.get());
    UniqueFd memory = *CreateMemoryFile("buffer", 1 << 20);
    Mapping mapping = *Mapping::Map(memory.get(), 1 << 20);
    if (is_whole) memset(mapping.data(), 1, mapping.bytes());
    const attach::MemoryRegistered answer = Register(memory, 1 << 20);
    EXPECT_EQ(answer.status, 0) << answer.text;
    reinterpret_cast<uint64_t*>(mapping.data())[0] = 40;
    ring::DqSlot slot = AllreduceSlot(first, 1, 1);
    slot.entry.send = {answer.region, 0, 0};
    slot.receive = {answer.region, 0, 4096};
    FirstOf(other.get()) = 2;
    return {std::move(other), std::move(memory), std::move(mapping), answer.region, slot, AllreduceSlot(second, 1, 1)};
  }
  // Once both have posted it: what comes is its result, then the answer to a deregistration.
  void ExpectResultAndDeregistration(const Call& call, uint64_t request) {
    const ring::EqEntry event = EventOf(client_.get());
    EXPECT_EQ(event.status, 0) << client_->Text(event);
    EXPECT_EQ(*reinterpret_cast<uint64_t*>(call.mapping.data() + 4096), 42u);
    const attach::Done done = DoneOf(client_.get());
    EXPECT_EQ(done.head.request, request);
    EXPECT_EQ(done.status, 0);
  }
  void ExpectRefused(uint64_t value) {
    const ring::EqEntry event = EventOf(client_.get());
    EXPECT_EQ(event.value, value);
    EXPECT_EQ(event.status, kInvalidArgument);
  }

  std::unique_ptr<RawClient> client_;
};

TEST_F(MemoryTest, WrongKindsAreRefusedAndTheClientGoesOn) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  const UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  const UniqueFd device(open("/dev/zero", O_RDWR | O_CLOEXEC));
  const UniqueFd binary(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  for (const UniqueFd* fd : {&reader, &unsealed, &device, &binary}) {
    const attach::MemoryRegistered answer = Register(*fd, 4096);
    EXPECT_EQ(answer.status, kInvalidArgument);
    EXPECT_EQ(answer.head.request, 5u);
    EXPECT_TRUE(absl::StartsWith(answer.text, "memory: ")) << answer.text;
  }
  EXPECT_EQ(Register(*CreateMemoryFile("short", 4096), 8192).status, kInvalidArgument);
  EXPECT_EQ(Register(*CreateMemoryFile("zero", 4096), 0).status, kInvalidArgument);
  EXPECT_TRUE(AnswersNop(client_.get()));
}

TEST_F(MemoryTest, RegionsOfAllClientsAreBounded) {
  Start({.regions = {.all_max = 1}});
  client_ = Attached();
  const UniqueFd memory = *CreateMemoryFile("buffer", 4096);
  EXPECT_EQ(Register(memory, 4096).status, 0);
  const auto first = std::exchange(client_, Attached());
  EXPECT_EQ(Register(memory, 4096).status, kNoResource);
  first->Close();
  ASSERT_TRUE(AwaitClients(1));
  EXPECT_EQ(Register(memory, 4096).status, 0);
}

TEST_F(MemoryTest, CallsUseItAndADeregistrationWaitsForThem) {
  Call call = NewCall();
  client_->Post(call.slot);
  daemon_->Turn();
  Deregister(call.region, 6);
  for (int i = 0; i < 100; ++i) daemon_->Turn();
  call.slot.entry.value = 2;
  client_->Post(call.slot);  // too late to name it
  ExpectRefused(2);
  call.other->Post(call.others_slot);
  ExpectResultAndDeregistration(call, 6);
}

TEST_F(MemoryTest, ADeregistrationLeavesItToCallsThatWerePostedBefore) {
  Call call = NewCall();
  client_->Post(call.slot);
  Deregister(call.region, 6);
  // The message comes before the queue is read.
  while (daemon_->poller().Wait(absl::ZeroDuration())) {
  }
  call.other->Post(call.others_slot);
  ExpectResultAndDeregistration(call, 6);
  client_->Post(call.slot);
  ExpectRefused(1);
}

TEST_F(MemoryTest, HolesPunchedIntoItHarmNobody) {
  const auto other = Attached();
  const auto [first, second] = Team(client_.get(), other.get());
  const UniqueFd memory = *CreateMemoryFile("buffer", 1 << 20);
  const attach::MemoryRegistered answer = Register(memory, 1 << 20);
  ASSERT_EQ(fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20), 0);
  ring::DqSlot slot = AllreduceSlot(first, 8192, 1);
  slot.entry.send = {answer.region, 0, 0};
  slot.receive = {answer.region, 0, 1 << 19};
  client_->Post(slot);
  other->Post(AllreduceSlot(second, 8192, 1));
  EXPECT_EQ(EventOf(client_.get()).status, 0);
}

// The other mapping of what is mapped at `mine`: the daemon is in this process, too.
void* OtherMappingOf(const void* mine) {
  std::ifstream maps("/proc/self/maps");
  std::map<std::string, std::vector<uintptr_t>> begins;  // by inode
  std::string inode_of_mine;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin;
    char dash;
    std::string end, mode, offset, device, inode;
    fields >> std::hex >> begin >> dash >> end >> mode >> offset >> device >> inode;
    begins[inode].push_back(begin);
    if (begin == reinterpret_cast<uintptr_t>(mine)) inode_of_mine = inode;
  }
  for (const uintptr_t begin : begins[inode_of_mine]) {
    if (begin != reinterpret_cast<uintptr_t>(mine)) return reinterpret_cast<void*>(begin);
  }
  return nullptr;
}

// What the daemon maps of one client cannot be read any more.
class LostMemoryTest : public MemoryTest {
 protected:
  void SetUp() override {
    CatchMemoryFaults();
    MemoryTest::SetUp();
    for (auto& each : bystanders_) each = Attached();
    handles_ = Team(bystanders_[0].get(), bystanders_[1].get(), "bystanders");
  }
  void Lose(const void* mine, uint64_t bytes) {
    void* const daemons = OtherMappingOf(mine);
    ASSERT_NE(daemons, nullptr);
    MappingBeyondEnd(0, bytes, daemons);
  }
  void ExpectBystandersGoOn() {
    FirstOf(bystanders_[0].get()) = 3;
    FirstOf(bystanders_[1].get()) = 4;
    bystanders_[0]->Post(AllreduceSlot(handles_.first, 1, 1));
    bystanders_[1]->Post(AllreduceSlot(handles_.second, 1, 1));
    for (const auto& each : bystanders_) {
      EXPECT_EQ(EventOf(each.get()).status, 0);
      EXPECT_EQ(FirstOf(each.get()), 7u);
    }
    EXPECT_FALSE(AnyMemoryLost());  // the mapping is gone
  }

  std::unique_ptr<RawClient> bystanders_[2];
  std::pair<uint32_t, uint32_t> handles_;
};

TEST_F(LostMemoryTest, RegisteredMemoryCostsItsClientAlone) {
  Call call = NewCall();
  Lose(call.mapping.data(), call.mapping.bytes());
  client_->Post(call.slot);
  call.other->Post(call.others_slot);
  // No result that was computed from zeros, but the reason.
  const ring::EqEntry event = EventOf(call.other.get());
  EXPECT_EQ(event.status, kMemberLost);
  EXPECT_EQ(event.cause, static_cast<uint8_t>(FailureCause::kProcessDied));
  EXPECT_EQ(event.rank, 0u);
  ExpectDropped(client_.get(), "SIGBUS");
  ExpectBystandersGoOn();
}

TEST_F(LostMemoryTest, ResultsThatCannotBeWrittenCostItsClientAlone) {
  Call call = NewCall();
  call.slot.entry.send = {0, 0, 0};
  Lose(call.mapping.data(), call.mapping.bytes());
  client_->Post(call.slot);
  call.other->Post(call.others_slot);
  EventOf(call.other.get());  // it may have its result
  ExpectDropped(client_.get(), "SIGBUS");
  ExpectBystandersGoOn();
}

TEST_F(LostMemoryTest, PagesThatAClientRemovesAreNotMadeAgain) {
  Call call = NewCall(/*is_whole=*/true);
  if (!RefuseMissingPages(call.mapping.data(), call.mapping.bytes())) GTEST_SKIP() << "no userfaultfd here";
  ASSERT_EQ(fallocate(call.memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20), 0);
  client_->Post(call.slot);
  call.other->Post(call.others_slot);
  EXPECT_EQ(EventOf(call.other.get()).status, kMemberLost);
  ExpectDropped(client_.get(), "SIGBUS");
  struct stat file {};
  ASSERT_EQ(fstat(call.memory.get(), &file), 0);
  EXPECT_EQ(file.st_blocks, 0) << "the daemon has made pages of the client's memory";
  ExpectBystandersGoOn();
}

TEST_F(LostMemoryTest, WholeMemoryIsReadAndWrittenAsBefore) {
  const Call call = NewCall(/*is_whole=*/true);
  client_->Post(call.slot);
  call.other->Post(call.others_slot);
  EXPECT_EQ(EventOf(client_.get()).status, 0);
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(call.mapping.data() + 4096), 42u);
}

TEST_F(LostMemoryTest, QueuesCostTheirClientAlone) {
  Call call = NewCall();
  call.other->Post(call.others_slot);
  Lose(client_->port().data(), client_->port().bytes());
  EXPECT_EQ(EventOf(call.other.get()).status, kMemberLost);
  ExpectDropped(client_.get(), "SIGBUS");
  ExpectBystandersGoOn();
}

TEST_F(MemoryTest, UnknownRegionsCannotBeDeregistered) {
  Deregister(9, 7);
  const attach::Done done = DoneOf(client_.get());
  EXPECT_EQ(done.status, kInvalidArgument);
  EXPECT_EQ(done.head.request, 7u);
}

}  // namespace
}  // namespace copse::daemon
