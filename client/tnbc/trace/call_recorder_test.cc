// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/call_recorder.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/trace/trace_file.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

const uint64_t kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
const TraceKind kKind = {.communicator = 1, .size = 2, .rank = 0, .collective = "bcast", .length = 4};

PageGuard* Guard() {
  const char* why = "";
  PageGuard* const guard = PageGuard::Start({[](uintptr_t) { _exit(3); }, [] {}}, &why);
  EXPECT_NE(guard, nullptr) << why;
  return guard;
}

// A call that brings a page a fragment.
class Call {
 public:
  Call(CallRecorder* recorder, uint32_t pages) : memory_(Map(pages)), record_(recorder->Begin(kKind, nullptr, 1)) {
    Protect(pages);
  }
  Call(CallRecorder* recorder, const Call& before, uint32_t pages)
      : memory_(before.memory_), record_(recorder->Begin(kKind, nullptr, 2)) {
    Protect(pages);
  }

  void Release(uint32_t page) { Guard()->ReleaseAtAccess(record_->pieces[page].range); }
  void Touch(uint32_t page) const { memory_[page * kPage + 5] = 1; }
  volatile char* memory() const { return memory_; }
  bool IsTouched(uint32_t page) const { return record_->pieces[page].access.ns != 0; }

 private:
  static volatile char* Map(uint32_t pages) {
    return static_cast<char*>(mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void Protect(uint32_t pages) {
    record_->call.parts = pages;
    record_->call.early = true;
    record_->pieces = std::vector<RecordedCall::ClosedRange>(pages);
    std::vector<Range> ranges;
    std::vector<FirstAccess*> touches;
    for (uint32_t i = 0; i < pages; ++i) {
      const auto begin = reinterpret_cast<uintptr_t>(memory_) + i * kPage;
      record_->pieces[i].range = {begin, begin + kPage};
      record_->pieces[i].parts = {i};
      ranges.push_back(record_->pieces[i].range);
      touches.push_back(&record_->pieces[i].access);
    }
    record_->recorder->LookAt(record_);
    EXPECT_TRUE(Guard()->Protect(ranges, touches));
  }

  volatile char* const memory_;
  RecordedCall* const record_;
};

// Parts in the order of their first accesses.
std::vector<uint32_t> OrderOf(const TraceCall& call) {
  std::vector<std::pair<uint64_t, uint32_t>> touches;
  for (const TracePiece& piece : call.pieces) {
    if (piece.touch.has_value()) touches.emplace_back(*piece.touch, piece.parts[0]);
  }
  std::sort(touches.begin(), touches.end());
  std::vector<uint32_t> order;
  for (const auto& [ns, part] : touches) order.push_back(part);
  return order;
}

// Pages that the kernel did not close are open, and their call has waited for its data.
TEST(CallRecorderTest, ACallThatWaitedHasNoPieces) {
  CallRecorder recorder(Guard(), 7);
  RecordedCall* const waited = recorder.Begin(kKind, nullptr, 1);
  waited->pieces = std::vector<RecordedCall::ClosedRange>(2);
  recorder.LookAt(waited);
  const TraceFile trace = recorder.Finish();
  ASSERT_EQ(trace.calls.size(), 1u);
  EXPECT_TRUE(trace.calls[0].pieces.empty());
}

TEST(CallRecorderTest, PartsThatAreThereAreSeenWhenTheyAreTouched) {
  PageGuard* const guard = Guard();
  CallRecorder recorder(guard, 7);
  Call call(&recorder, 4);
  for (uint32_t page = 0; page < 4; ++page) call.Release(page);
  const uint64_t faults = guard->counters().faults;
  for (const uint32_t page : {2, 0, 3, 0}) call.Touch(page);
  EXPECT_EQ(guard->counters().faults, faults);  // none had to wait
  EXPECT_FALSE(call.IsTouched(1));
  const TraceFile trace = recorder.Finish();
  EXPECT_EQ(guard->pending(), 0u);
  call.Touch(1);
  EXPECT_EQ(trace.launch, 7u);
  ASSERT_EQ(trace.calls.size(), 1u);
  EXPECT_EQ(OrderOf(trace.calls[0]), (std::vector<uint32_t>{2, 0, 3}));
  EXPECT_EQ(trace.calls[0].pieces[2].waited, 0u);
}

TEST(CallRecorderTest, WhoTouchesBeforeTheDataIsThereWaits) {
  PageGuard* const guard = Guard();
  CallRecorder recorder(guard, 1);
  Call call(&recorder, 2);
  const uint64_t faults = guard->counters().faults;
  std::atomic<bool> is_over{false};
  std::thread reader([&] {
    call.Touch(1);
    is_over = true;
  });
  while (guard->counters().faults == faults) std::this_thread::yield();
  EXPECT_FALSE(is_over);
  call.Release(0);
  call.Release(1);
  reader.join();
  call.Touch(0);
  const TraceFile trace = recorder.Finish();
  EXPECT_EQ(OrderOf(trace.calls[0]), (std::vector<uint32_t>{1, 0}));
  EXPECT_GT(trace.calls[0].pieces[1].waited, 0u);
  EXPECT_EQ(trace.calls[0].pieces[0].waited, 0u);
}

TEST(CallRecorderTest, CallsOfLibcAndMpiTouchAndWhatIsWrittenOverIsNotTouched) {
  PageGuard* const guard = Guard();
  CallRecorder recorder(guard, 1);
  Call call(&recorder, 4);
  for (uint32_t page = 0; page < 4; ++page) call.Release(page);
  guard->Await(const_cast<const char*>(call.memory()) + kPage, 2 * kPage);
  guard->AwaitUnused(const_cast<const char*>(call.memory()), kPage);
  guard->AwaitAll();
  for (uint32_t page = 0; page < 4; ++page) call.Touch(page);
  const TraceFile trace = recorder.Finish();
  EXPECT_EQ(OrderOf(trace.calls[0]), (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(trace.calls[0].pieces[1].by_call);
}

TEST(CallRecorderTest, TheNextCallIntoTheMemoryEndsTheLook) {
  PageGuard* const guard = Guard();
  CallRecorder recorder(guard, 1);
  Call first(&recorder, 3);
  for (uint32_t page = 0; page < 3; ++page) first.Release(page);
  first.Touch(2);
  Call second(&recorder, first, 2);
  EXPECT_EQ(guard->pending(), 3u);  // the third page is the first call's
  second.Release(0);
  second.Release(1);
  second.Touch(1);
  EXPECT_FALSE(first.IsTouched(1));
  EXPECT_TRUE(second.IsTouched(1));
  const TraceFile trace = recorder.Finish();
  EXPECT_EQ(OrderOf(trace.calls[0]), (std::vector<uint32_t>{2}));
  EXPECT_EQ(OrderOf(trace.calls[1]), (std::vector<uint32_t>{1}));
}

TEST(CallRecorderTest, NoMoreIsClosedThanThereIsRoomFor) {
  PageGuard* const guard = Guard();
  CallRecorder recorder(guard, 1);
  constexpr uint32_t kPages = 200;
  for (int i = 0; i < 30; ++i) {
    Call call(&recorder, kPages);
    for (uint32_t page = 0; page < kPages; ++page) call.Release(page);
    EXPECT_LE(guard->pending(), PendingRanges::kRangesMax / 2);
  }
  EXPECT_EQ(recorder.Finish().calls.size(), 30u);
  EXPECT_EQ(guard->pending(), 0u);
}

TEST(CallRecorderTest, CallsBeyondTheRoomAreCounted) {
  CallRecorder recorder(Guard(), 1);
  uint64_t calls = 0;
  while (recorder.Begin(kKind, nullptr, 1) != nullptr) ASSERT_LT(++calls, 1'000'000u);
  EXPECT_EQ(recorder.Begin(kKind, nullptr, 1), nullptr);
  const TraceFile trace = recorder.Finish();
  EXPECT_EQ(trace.calls.size(), calls);
  EXPECT_EQ(trace.left_out, 2u);
}

TEST(CallRecorderTest, SitesAreNamedByTheirObject) {
  CallRecorder recorder(Guard(), 1);
  const void* const here = reinterpret_cast<const void*>(&mmap);
  recorder.Begin(kKind, here, 1);
  recorder.Begin(kKind, here, 2);
  const TraceFile trace = recorder.Finish();
  ASSERT_EQ(trace.sites.size(), 1u);
  EXPECT_FALSE(trace.sites[0].object.empty());
  EXPECT_EQ(trace.sites[0].object.find('/'), std::string::npos);
  EXPECT_EQ(trace.calls[1].site, 0u);
}

}  // namespace
}  // namespace copse::tnbc
