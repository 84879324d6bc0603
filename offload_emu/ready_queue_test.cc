// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/ready_queue.h"

#include <vector>

#include "gtest/gtest.h"
#include "offload_emu/sequence.h"

namespace copse::emu {
namespace {

class ReadyQueueTest : public testing::Test {
 protected:
  ~ReadyQueueTest() override {
    for (Sequence* sequence : made_) pool_.Free(sequence);
  }
  Sequence* Make(uint8_t priority) {
    const Descriptor descriptor{};
    Sequence* sequence = pool_.New({descriptor});
    sequence->priority = priority;
    made_.push_back(sequence);
    return sequence;
  }
  Sequence* Pop() {
    ReadyJob* job = queue_.Turn();
    if (job == nullptr) return nullptr;
    Sequence* sequence = job->sequences.front();
    queue_.Remove(job, sequence);
    return sequence;
  }

  SequencePool pool_;
  std::vector<Sequence*> made_;
  ReadyQueue queue_{100};
};

TEST_F(ReadyQueueTest, HigherPriorityFirstElseInOrder) {
  ReadyJob* job = queue_.AddPort(1);
  Sequence* low = Make(1);
  Sequence* first = Make(2);
  Sequence* second = Make(2);
  Sequence* high = Make(3);
  for (Sequence* sequence : {low, first, second, high}) queue_.Push(job, sequence);
  EXPECT_EQ(Pop(), high);
  EXPECT_EQ(Pop(), first);
  queue_.PushInterrupted(job, first);  // before its equals
  EXPECT_EQ(Pop(), first);
  Sequence* const later = Make(3);
  queue_.Push(job, later);
  queue_.PushInterrupted(job, first);  // behind what has become ready meanwhile with a higher priority
  EXPECT_EQ(Pop(), later);
  EXPECT_EQ(Pop(), first);
  EXPECT_EQ(Pop(), second);
  EXPECT_EQ(Pop(), low);
  EXPECT_EQ(Pop(), nullptr);
  queue_.RemovePort(job);
}

TEST_F(ReadyQueueTest, JobsTakeTurnsOfOneQuantum) {
  ReadyJob* one = queue_.AddPort(1);
  ReadyJob* two = queue_.AddPort(2);
  EXPECT_EQ(queue_.AddPort(2), two);
  for (int i = 0; i < 3; ++i) queue_.Push(one, Make(0));
  queue_.Push(two, Make(0));
  EXPECT_EQ(queue_.Turn(), one);
  queue_.Charge(one, 60);
  EXPECT_EQ(queue_.LeftOfTurn(*one), 40u);
  EXPECT_EQ(queue_.Turn(), one);
  queue_.Charge(one, 40);
  EXPECT_EQ(queue_.Turn(), two);
  Pop();
  EXPECT_EQ(queue_.Turn(), one);  // the other job has nothing left
  EXPECT_EQ(queue_.LeftOfTurn(*one), 100u);
  for (int i = 0; i < 3; ++i) Pop();
  queue_.RemovePort(two);
  queue_.RemovePort(two);
  queue_.RemovePort(one);
}

TEST_F(ReadyQueueTest, AJobGetsAsManyQuantaInATurnAsItsWeight) {
  ReadyJob* const light = queue_.AddPort(1);
  ReadyJob* const heavy = queue_.AddPort(2);
  queue_.SetWeight(2, 3);
  queue_.SetWeight(3, 5);  // a job without ports
  queue_.Push(light, Make(0));
  queue_.Push(heavy, Make(0));
  uint64_t light_bytes = 0, heavy_bytes = 0;
  for (int i = 0; i < 80; ++i) {
    ReadyJob* const turn = queue_.Turn();
    (turn == light ? light_bytes : heavy_bytes) += 50;
    queue_.Charge(turn, 50);
  }
  EXPECT_EQ(light_bytes, 1000u);
  EXPECT_EQ(heavy_bytes, 3000u);
  queue_.SetWeight(2, 1);
  while (queue_.Turn() != heavy) queue_.Charge(light, 50);
  EXPECT_EQ(queue_.LeftOfTurn(*heavy), 100u);
  Pop();
  Pop();
  queue_.RemovePort(light);
  queue_.RemovePort(heavy);
}

TEST_F(ReadyQueueTest, AJobMayLeaveWhileItIsQueued) {
  ReadyJob* jobs[3] = {queue_.AddPort(1), queue_.AddPort(2), queue_.AddPort(3)};
  Sequence* sequences[3];
  for (int i = 0; i < 3; ++i) queue_.Push(jobs[i], sequences[i] = Make(0));
  queue_.Remove(jobs[1], sequences[1]);
  queue_.RemovePort(jobs[1]);
  EXPECT_EQ(Pop(), sequences[0]);
  queue_.RemovePort(jobs[0]);
  EXPECT_EQ(Pop(), sequences[2]);
  queue_.RemovePort(jobs[2]);
  EXPECT_EQ(queue_.Turn(), nullptr);
}

TEST_F(ReadyQueueTest, JobsQueueBehindOthersWhicheverHasLeft) {
  for (uint32_t leaver = 0; leaver < 3; ++leaver) {
    ReadyJob* jobs[4];
    Sequence* sequences[4];
    for (uint32_t i = 0; i < 4; ++i) {
      jobs[i] = queue_.AddPort(i);
      sequences[i] = Make(0);
      if (i < 3) queue_.Push(jobs[i], sequences[i]);
    }
    queue_.Remove(jobs[leaver], sequences[leaver]);
    queue_.RemovePort(jobs[leaver]);
    queue_.Push(jobs[3], sequences[3]);
    for (uint32_t i = 0; i < 4; ++i) {
      if (i == leaver) continue;
      EXPECT_EQ(Pop(), sequences[i]) << "leaver=" << leaver << " i=" << i;
      queue_.RemovePort(jobs[i]);
    }
    EXPECT_EQ(queue_.Turn(), nullptr);
  }
}

TEST(SequencePoolTest, ReusesMemoryOfTheSameSizeClass) {
  SequencePool pool;
  const std::vector<Descriptor> five(5);
  const std::vector<Descriptor> eight(8);
  Sequence* first = pool.New(five);
  EXPECT_EQ(first->count, 5);
  pool.Free(first);
  Sequence* second = pool.New(eight);
  EXPECT_EQ(second, first);
  EXPECT_EQ(second->count, 8);
  EXPECT_FALSE(second->dropped);
  pool.Free(second);
  // These are more sequences than the pool keeps.
  std::vector<Sequence*> many;
  for (int i = 0; i < 1000; ++i) many.push_back(pool.New(eight));
  for (Sequence* sequence : many) pool.Free(sequence);
}

TEST(SequenceListTest, InsertsAndRemovesAnywhere) {
  SequencePool pool;
  const Descriptor descriptor{};
  Sequence* s[4];
  for (Sequence*& each : s) each = pool.New({descriptor});
  SequenceList list;
  list.PushBack(s[1]);
  list.InsertAfter(nullptr, s[0]);
  list.PushBack(s[3]);
  list.InsertAfter(s[1], s[2]);
  EXPECT_EQ(list.front(), s[0]);
  EXPECT_EQ(list.back(), s[3]);
  list.Remove(s[1]);
  EXPECT_EQ(s[0]->next, s[2]);
  EXPECT_EQ(s[2]->previous, s[0]);
  list.Remove(s[3]);
  EXPECT_EQ(list.back(), s[2]);
  list.Remove(s[0]);
  list.Remove(s[2]);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.back(), nullptr);
  for (Sequence* each : s) pool.Free(each);
}

}  // namespace
}  // namespace copse::emu
