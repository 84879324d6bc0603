// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/path_choice.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

// The time of a call by `path`, the `index`-th of all.
using Cost = std::function<uint64_t(Path path, uint64_t index)>;

// Ranks that make calls together, and what they have taken.
class Ranks {
 public:
  Ranks(size_t ranks, Cost cost) : choices_(ranks), cost_(std::move(cost)) {}

  void Call(uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) CallOnce();
  }
  void Fail() { has_failed_ = true; }
  Path path() const { return choices_[0].path(); }
  bool is_settled() const { return choices_[0].is_settled(); }
  const PathMeans& compared() const { return choices_[0].compared(); }
  uint64_t spent() const { return spent_; }
  uint64_t by_mpi() const { return by_mpi_; }
  uint64_t decisions() const { return decisions_; }

 private:
  void CallOnce() {
    const Path path = choices_[0].path();
    const uint64_t cost = cost_(path, index_++);
    spent_ += cost;
    by_mpi_ += path == Path::kMpi;
    size_t waiting = 0;
    for (size_t rank = 0; rank < choices_.size(); ++rank) {
      ASSERT_EQ(choices_[rank].path(), path) << "rank " << rank << ", call " << index_;
      waiting += choices_[rank].Count(cost + rank * 100);  // ranks see different times
    }
    if (waiting == 0) return;
    ASSERT_EQ(waiting, choices_.size());
    Decide();
  }

  void Decide() {
    ++decisions_;
    spent_ += cost_(Path::kCopse, index_);
    PathTimes longest = choices_[0].times();
    for (const PathChoice& choice : choices_) {
      EXPECT_EQ(choice.times().copse.calls, longest.copse.calls);
      EXPECT_EQ(choice.times().mpi.calls, longest.mpi.calls);
      longest.copse.ns = std::max(longest.copse.ns, choice.times().copse.ns);
      longest.mpi.ns = std::max(longest.mpi.ns, choice.times().mpi.ns);
    }
    for (PathChoice& choice : choices_) choice.Decide(longest, has_failed_);
  }

  std::vector<PathChoice> choices_;
  const Cost cost_;
  bool has_failed_ = false;
  uint64_t index_ = 0, spent_ = 0, by_mpi_ = 0, decisions_ = 0;
};

Cost Fixed(uint64_t copse_ns, uint64_t mpi_ns) {
  return [=](Path path, uint64_t) { return path == Path::kCopse ? copse_ns : mpi_ns; };
}

void ExpectSettled(const Ranks& ranks, Path path) {
  EXPECT_TRUE(ranks.is_settled());
  EXPECT_EQ(ranks.path(), path);
}

TEST(PathChoiceTest, AFewCallsTellWhatIsFarApart) {
  Ranks near_memory(4, Fixed(60'000, 3'000));
  near_memory.Call(10);
  ExpectSettled(near_memory, Path::kMpi);
  Ranks polling(4, Fixed(60'000, 20'000'000));
  polling.Call(10);
  ExpectSettled(polling, Path::kCopse);
}

TEST(PathChoiceTest, MoreCallsTellWhatIsNear) {
  Ranks ranks(2, Fixed(60'000, 50'000));
  ranks.Call(10);
  EXPECT_FALSE(ranks.is_settled());
  ranks.Call(90);
  ExpectSettled(ranks, Path::kMpi);
}

TEST(PathChoiceTest, AShortTrialTellsWhatIsHalfAsMuchAgain) {
  uint64_t by_copse = 0;
  Ranks ranks(2, [&](Path path, uint64_t) -> uint64_t {
    by_copse += path == Path::kCopse;
    return path == Path::kCopse ? 200'000 : 100'000;
  });
  ranks.Call(400);
  ExpectSettled(ranks, Path::kMpi);
  EXPECT_LE(by_copse, 5u + 11u + ranks.decisions());
}

TEST(PathChoiceTest, ATrialOfLongCallsIsShort) {
  Ranks ranks(2, Fixed(8'000'000, 6'000'000));
  ranks.Call(24);
  ExpectSettled(ranks, Path::kMpi);
}

TEST(PathChoiceTest, CopseMayTakeALittleLonger) {
  Ranks ranks(2, Fixed(61'000, 60'000));
  ranks.Call(110);
  ExpectSettled(ranks, Path::kCopse);
}

TEST(PathChoiceTest, AChoiceWithinTheAllowanceIsCheckedAgain) {
  constexpr uint64_t kChange = 200;
  Ranks ranks(2, [](Path path, uint64_t index) -> uint64_t {
    if (path == Path::kCopse) return 61'000;
    return index < kChange ? 60'000 : 20'000;
  });
  ranks.Call(kChange);
  ExpectSettled(ranks, Path::kCopse);
  ranks.Call(2'000);
  EXPECT_EQ(ranks.path(), Path::kMpi);
}

TEST(PathChoiceTest, OneSlowCallTellsNothing) {
  for (const uint64_t slow : {2, 4, 8}) {
    Ranks ranks(2, [=](Path path, uint64_t index) -> uint64_t {
      if (index == slow) return 200'000'000;
      return path == Path::kCopse ? 1'000'000 : 5'000'000;
    });
    ranks.Call(10);
    ExpectSettled(ranks, Path::kCopse);
  }
}

TEST(PathChoiceTest, BothPathsAreComparedByTheSlowestRank) {
  Ranks ranks(3, Fixed(60'000, 3'000));
  ranks.Call(9);
  EXPECT_EQ(ranks.compared().copse, 0);
  EXPECT_EQ(ranks.compared().mpi, 0);
  ranks.Call(1);
  EXPECT_EQ(ranks.compared().copse, 60'200);
  EXPECT_EQ(ranks.compared().mpi, 3'200);
}

// Ranks that come late make calls long by either path.
TEST(PathChoiceTest, WaitingForOthersChangesNothing) {
  Ranks ranks(4, [](Path path, uint64_t index) -> uint64_t {
    return (index % 50 == 49 ? 2'000'000'000 : 0) + (path == Path::kCopse ? 1'000'000 : 5'000'000);
  });
  ranks.Call(3000);
  EXPECT_EQ(ranks.path(), Path::kCopse);
  EXPECT_LT(ranks.compared().copse, ranks.compared().mpi);
  EXPECT_LT(ranks.by_mpi(), 60u);
}

TEST(PathChoiceTest, TheFirstCallAfterAChangeDoesNotCount) {
  Path last = Path::kMpi;
  Ranks ranks(2, [&](Path path, uint64_t) -> uint64_t {
    const bool changed = path != last;
    last = path;
    return path == Path::kCopse && changed ? 100'000'000 : path == Path::kCopse ? 10'000 : 60'000;
  });
  ranks.Call(10);
  ExpectSettled(ranks, Path::kCopse);
}

// Whatever the times are: a hundredth in the long run, and a trial at the start.
TEST(PathChoiceTest, LookingAgainCostsLittle) {
  constexpr uint64_t kCalls = 200'000;
  for (const uint64_t other_ns : {10'000, 11'000, 15'000, 19'000, 21'000, 50'000, 1'000'000, 20'000'000}) {
    for (const bool mpi_is_faster : {false, true}) {
      Ranks ranks(2, mpi_is_faster ? Fixed(other_ns, 10'000) : Fixed(10'000, other_ns));
      ranks.Call(kCalls);
      const double least = 10'000.0 * kCalls;
      EXPECT_LE(static_cast<double>(ranks.spent()), 1.035 * least + 36.0 * static_cast<double>(other_ns))
          << other_ns << " ns, " << mpi_is_faster << ", " << ranks.decisions() << " decisions";
    }
  }
}

TEST(PathChoiceTest, FollowsWhatChanges) {
  constexpr uint64_t kChange = 5'000;  // others want the processors from there
  Ranks ranks(4, [](Path path, uint64_t index) -> uint64_t {
    if (path == Path::kCopse) return 30'000;
    return index < kChange ? 10'000 : 3'000'000;
  });
  ranks.Call(kChange);
  EXPECT_EQ(ranks.path(), Path::kMpi);
  ranks.Call(kChange);
  EXPECT_EQ(ranks.path(), Path::kCopse);
}

TEST(PathChoiceTest, NoticesSoonThatALuckyChoiceWasWrong) {
  constexpr uint64_t kLucky = 60;
  Ranks ranks(4, [](Path path, uint64_t index) -> uint64_t {
    if (path == Path::kCopse) return 400'000;
    return index < kLucky ? 50'000 : 6'000'000;
  });
  ranks.Call(kLucky);
  EXPECT_EQ(ranks.path(), Path::kMpi);
  ranks.Call(250);
  EXPECT_EQ(ranks.path(), Path::kCopse);
  EXPECT_LT(ranks.by_mpi(), 250u);
}

TEST(PathChoiceTest, AfterAFailureAllGoesToCopse) {
  Ranks ranks(2, Fixed(60'000, 1'000));
  ranks.Call(5);
  ranks.Fail();
  ranks.Call(5);
  EXPECT_EQ(ranks.path(), Path::kCopse);
  const uint64_t by_mpi = ranks.by_mpi(), decisions = ranks.decisions();
  ranks.Call(100'000);
  EXPECT_EQ(ranks.by_mpi(), by_mpi);
  EXPECT_EQ(ranks.decisions(), decisions);
}

}  // namespace
}  // namespace copse::mpi
