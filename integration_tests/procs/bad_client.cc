// SPDX-License-Identifier: Apache-2.0
//
// A rank of a team that treats its own memory badly while calls run: bad_client MODE TEAM RANK SIZE CALLS. The calls
// are an allreduce (uint64, count 4), then CALLS allgathers (uint64, count 65536), as the other ranks make them.
//
//   scribble    writes anything to the memory that its calls name
//   punch       makes holes in it, and tries to cut it off
//   unmap       unmaps it and closes its descriptor
//   deregister  takes it back while calls use it
//   hasty       takes it back as soon as it has posted calls with it
//   rings       writes anything to the queues and their header; ends when the daemon lets it go
//   refused     posts calls that must be refused, one by one, before the allgathers
//   vanish      ends in the middle, with calls in flight
//
// Exit code: 0 if all went as that mode has it; 1 with a line that says what did not; 2 for wrong arguments.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/unique_fd.h"
#include "collectives/call_arguments.h"
#include "daemon/shm/memory_file.h"
#include "daemon/shm/packet_socket.h"
#include "daemon/shm/testing/raw_client.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse::procs {
namespace {

using daemon::RawClient;

constexpr uint64_t kCount = 65536;
constexpr uint64_t kBlockBytes = kCount * 8;
constexpr uint64_t kReceiveAt = 1 << 20;
constexpr int kInvalidArgument = -1;
constexpr int kNotSupported = -9;

[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "bad_client: %s\n", what.c_str());
  _exit(1);
}

void SleepALittle() { poll(nullptr, 0, 1); }

class BadClient {
 public:
  BadClient(const char* socket, std::string mode, uint32_t size, int calls)
      : mode_(std::move(mode)), size_(size), calls_(calls), client_(socket, SleepALittle) {
    if (!client_.connected()) Fail(absl::StrCat("cannot connect to ", socket));
  }

  void Run(const std::string& team, uint32_t rank) {
    auto request = RawClient::Request();
    memset(request.job, 0, sizeof(request.job));
    daemon::SetText(request.job, "scenario");  // as the others are
    if (client_.Attach(request).status != 0) Fail("cannot attach");
    Register();
    client_.AskTeam(1, team, rank, size_);
    const attach::TeamReady ready = client_.AwaitTeam();
    if (ready.status != 0 || ready.handle == 0) Fail(absl::StrCat("no team: ", ready.text));
    team_ = ready.handle;
    memset(client_.data(), 0, 32);
    ExpectDone(Call(daemon::AllreduceSlot(team_, 4, 1)), 0, "allreduce");
    if (mode_ == "refused") PostWhatIsRefused();
    std::atomic<bool> stop = false;
    std::thread spoiler([&] { Spoil(&stop); });
    const bool went = MakeCalls();
    stop = true;
    spoiler.join();
    if (!went) return;  // as it should be, if the mode says so
    Leave();
  }

 private:
  uint64_t RegionBytes() const { return kReceiveAt + size_ * kBlockBytes; }

  void Register() {
    auto memory = daemon::CreateMemoryFile("bad", RegionBytes());
    if (!memory.ok()) Fail("no memory");
    memory_ = *std::move(memory);
    region_base_ =
        static_cast<uint8_t*>(mmap(nullptr, RegionBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0));
    if (region_base_ == MAP_FAILED) Fail("cannot map");
    auto message = daemon::NewMessage<attach::RegisterMemory>(attach::MessageType::kRegisterMemory, 2);
    message.bytes = RegionBytes();
    const int descriptor = memory_.get();
    client_.Send(message, {&descriptor, 1});
    const auto answer = client_.Receive<attach::MemoryRegistered>(attach::MessageType::kMemoryRegistered);
    if (!answer.has_value() || answer->status != 0) Fail("cannot register memory");
    region_ = answer->region;
  }

  ring::DqSlot Allgather(uint64_t value) const {
    ring::DqSlot slot = daemon::AllreduceSlot(team_, kCount, value);
    slot.entry.collective = static_cast<uint8_t>(Collective::kAllgather);
    slot.entry.send = {region_, 0, 0};
    slot.receive = {region_, 0, kReceiveAt};
    return slot;
  }

  // The call's event; others' may take as long as a busy machine likes.
  ring::EqEntry Await() {
    for (int patience = 0; patience < 12; ++patience) {
      if (const auto event = client_.AwaitEvent()) return *event;
    }
    Fail("a call has no end");
  }
  ring::EqEntry Call(const ring::DqSlot& slot) {
    client_.Post(slot);
    return Await();
  }
  void ExpectDone(const ring::EqEntry& event, int status, const std::string& what) {
    if (event.status != status) {
      Fail(absl::StrCat(what, ": ended with ", event.status, ", not ", status, ": ", client_.Text(event)));
    }
  }

  // False: the daemon has let go of this client.
  bool MakeCalls() {
    if (mode_ == "unmap" || mode_ == "deregister" || mode_ == "hasty" || mode_ == "vanish") {
      client_.Post(Allgather(10));
      client_.Post(Allgather(11));
      if (mode_ == "vanish") _exit(0);
      if (mode_ == "unmap") {
        munmap(region_base_, RegionBytes());
        memory_.reset();
      } else {
        while (mode_ == "deregister" && client_.header()->dq_head.load(std::memory_order_acquire) < 3) SleepALittle();
        Deregister();
      }
      ExpectDone(Await(), 0, "call in flight");
      ExpectDone(Await(), 0, "second call in flight");
      if (mode_ != "unmap") {
        const auto done = client_.Receive<attach::Done>(attach::MessageType::kDone);
        if (!done.has_value() || done->status != 0) Fail("the memory was not given back");
        ExpectDone(Call(Allgather(12)), kInvalidArgument, "memory that was taken back");
        Register();
      }
      for (int i = 2; i < calls_; ++i) ExpectDone(Call(Allgather(20 + i)), 0, "call");
      return true;
    }
    for (int i = 0; i < calls_; ++i) {
      if (mode_ == "rings") {
        client_.Post(Allgather(i));
        std::string text;
        if (i + 1 == calls_ && !client_.AwaitClose(&text)) Fail("the daemon still serves it");
        continue;
      }
      ExpectDone(Call(Allgather(i)), 0, "call");
    }
    return mode_ != "rings";
  }

  void Deregister() {
    auto message = daemon::NewMessage<attach::DeregisterMemory>(attach::MessageType::kDeregisterMemory, 3);
    message.region = region_;
    client_.Send(message);
  }

  // In a thread of its own, until `*stop`.
  void Spoil(const std::atomic<bool>* stop) {
    Prng prng(7);
    while (!*stop) {
      const uint64_t at = prng.Below(RegionBytes() / 8) * 8;
      if (mode_ == "scribble") {
        const uint64_t value = prng.Next();
        memcpy(region_base_ + at, &value, 8);
        memcpy(client_.data() + at % client_.header()->data_bytes / 8 * 8, &value, 8);
      } else if (mode_ == "punch") {
        const auto from = static_cast<off_t>(at / 4096 * 4096);
        if (fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, 65536) != 0) Fail("no hole");
        madvise(client_.data(), 65536, MADV_REMOVE);
        if (ftruncate(memory_.get(), 4096) == 0 || errno != EPERM) Fail("the memory could be cut off");
      } else if (mode_ == "rings") {
        const uint64_t value = prng.Next();
        memcpy(client_.port().data() + prng.Below(ring::kPageBytes + 128 * 256) / 8 * 8, &value, 8);
      } else {
        return;
      }
    }
  }

  ring::DqSlot Irregular(Collective collective, const std::vector<ring::Block>& send,
                         const std::vector<ring::Block>& receive) {
    ring::DqSlot slot = Allgather(5);
    slot.entry.collective = static_cast<uint8_t>(collective);
    memcpy(client_.data() + 4096, send.data(), send.size() * sizeof(ring::Block));
    memcpy(client_.data() + 8192, receive.data(), receive.size() * sizeof(ring::Block));
    const ring::ListPlaces places{{0, 0, 4096}, {0, 0, 8192}};
    memcpy(slot.entry.payload, &places, sizeof(places));
    return slot;
  }

  void PostWhatIsRefused() {
    const auto refused = [&](const ring::DqSlot& slot, int status, const char* what) {
      ExpectDone(Call(slot), status, what);
    };
    ring::DqSlot slot = Allgather(5);
    slot.entry.send.region = 77;
    refused(slot, kInvalidArgument, "memory that nobody registered");
    slot = Allgather(5);
    slot.receive.offset = RegionBytes() - 8;
    refused(slot, kInvalidArgument, "a receive buffer that is too small");
    slot.receive.offset = ~uint64_t{0} - 8;
    refused(slot, kInvalidArgument, "a buffer at the end of all addresses");
    slot = Allgather(5);
    slot.entry.count = uint64_t{1} << 61;
    refused(slot, kNotSupported, "bytes beyond 64 bits");
    slot.entry.count = ~uint64_t{0};
    refused(slot, kNotSupported, "the largest count");
    slot = Allgather(5);
    slot.entry.team = team_ + 1;
    refused(slot, kInvalidArgument, "a team that nobody formed");
    const std::vector<ring::Block> blocks(size_, ring::Block{0, 8});
    std::vector<ring::Block> wrong = blocks;
    wrong.back() = {RegionBytes(), 8};
    refused(Irregular(Collective::kAlltoallv, blocks, wrong), kInvalidArgument, "a block that leaves the buffer");
    wrong.back() = {~uint64_t{0} - 7, 64};
    refused(Irregular(Collective::kAlltoallv, wrong, blocks), kInvalidArgument, "a block that wraps around");
    wrong.back() = {0, 12};
    refused(Irregular(Collective::kAlltoallv, blocks, wrong), kInvalidArgument, "a block of one and a half elements");
    wrong.back() = {0, uint64_t{1} << 63};
    refused(Irregular(Collective::kAlltoallv, blocks, wrong), kNotSupported, "a block beyond all bounds");
    for (ring::Block& block : wrong) block = {0, uint64_t{1} << 45};
    refused(Irregular(Collective::kAlltoallv, wrong, blocks), kNotSupported, "blocks beyond all bounds together");
    slot = Irregular(Collective::kAlltoallv, blocks, blocks);
    const ring::ListPlaces nowhere{{77, 0, 0}, {0, 0, 8192}};
    memcpy(slot.entry.payload, &nowhere, sizeof(nowhere));
    refused(slot, kInvalidArgument, "a list in memory that nobody registered");
  }

  void Leave() {
    auto destroy = daemon::NewMessage<attach::TeamDestroy>(attach::MessageType::kTeamDestroy, 4);
    destroy.handle = team_;
    client_.Send(destroy);
    for (int i = 0; i < 3; ++i) {  // answers to what was asked before may come first
      if (const auto done = client_.Receive<attach::Done>(attach::MessageType::kDone);
          done && done->head.request == 4) {
        if (done->status != 0) Fail(absl::StrCat("destroy: ", done->text));
        return;
      }
    }
    Fail("the team is not destroyed");
  }

  const std::string mode_;
  const uint32_t size_;
  const int calls_;
  RawClient client_;
  UniqueFd memory_;
  uint8_t* region_base_ = nullptr;
  uint32_t region_ = 0;
  uint32_t team_ = 0;
};

}  // namespace
}  // namespace copse::procs

int main(int argc, char** argv) {
  const char* const socket = getenv("COPSE_SOCKET");
  if (argc != 6 || socket == nullptr) {
    fprintf(stderr, "bad_client: arguments: MODE TEAM RANK SIZE CALLS, with COPSE_SOCKET\n");
    return 2;
  }
  copse::procs::BadClient(socket, argv[1], static_cast<uint32_t>(atoi(argv[4])), atoi(argv[5]))
      .Run(argv[2], static_cast<uint32_t>(atoi(argv[3])));
  return 0;
}
