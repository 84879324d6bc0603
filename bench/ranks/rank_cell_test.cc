// SPDX-License-Identifier: Apache-2.0
//
// Every collective, by what it means, on the data of all ranks at once.
#include "bench/ranks/rank_cell.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

struct Rank {
  rank_data data = {};
  std::vector<char> send, receive;
};

std::vector<Rank> AllRanks(const std::string& text, uint32_t size) {
  rank_cell cell;
  EXPECT_TRUE(rank_parse_cell(text.c_str(), &cell)) << text;
  std::vector<Rank> ranks(size);
  for (uint32_t i = 0; i < size; ++i) {
    Rank& rank = ranks[i];
    rank_plan_data(&cell, i, size, &rank.data);
    rank.send.resize(rank.data.send_bytes);
    rank.receive.resize(rank.data.receive_bytes);
    rank.data.send = rank.send.data();
    rank.data.receive = rank.receive.data();
    rank_fill(&rank.data);
  }
  return ranks;
}

uint64_t BlockBegin(const Rank& rank, uint32_t index) {
  return rank.data.displacements != nullptr ? rank.data.displacements[index] : index * rank.data.cell.bytes;
}
uint64_t BlockBytes(const Rank& rank, uint32_t index) {
  return rank.data.counts != nullptr ? rank.data.counts[index] : rank.data.cell.bytes;
}

void Copy(const Rank& from, uint64_t at, uint64_t bytes, Rank* to, uint64_t there) {
  ASSERT_LE(at + bytes, from.send.size());
  ASSERT_LE(there + bytes, to->receive.size());
  if (bytes > 0) std::memcpy(to->receive.data() + there, from.send.data() + at, bytes);
}

// The result of element `i`: of the contributions of ranks [0, end).
double Sum(const std::vector<Rank>& ranks, uint32_t end, uint64_t i) {
  double sum = 0;
  for (uint32_t rank = 0; rank < end; ++rank) sum += reinterpret_cast<const double*>(ranks[rank].send.data())[i];
  return sum;
}

// `end` by rank, `first` by rank: where in the contributions its result begins.
void Reduce(std::vector<Rank>* ranks, uint32_t rank, uint32_t end, uint64_t first) {
  std::vector<char>& receive = (*ranks)[rank].receive;
  for (uint64_t i = 0; i < receive.size() / sizeof(double); ++i) {
    reinterpret_cast<double*>(receive.data())[i] = Sum(*ranks, end, first + i);
  }
}

void Call(std::vector<Rank>* ranks) {
  const auto size = static_cast<uint32_t>(ranks->size());
  for (uint32_t i = 0; i < size; ++i) {
    Rank& rank = (*ranks)[i];
    switch (rank.data.cell.collective) {
      case COPSE_COLL_BCAST:
        rank.receive = (*ranks)[0].receive;
        break;
      case COPSE_COLL_GATHER:
      case COPSE_COLL_GATHERV:
      case COPSE_COLL_ALLGATHER:
      case COPSE_COLL_ALLGATHERV:
        if (rank.receive.empty()) break;
        for (uint32_t j = 0; j < size; ++j) {
          ASSERT_EQ((*ranks)[j].send.size(), BlockBytes(rank, j));
          Copy((*ranks)[j], 0, BlockBytes(rank, j), &rank, BlockBegin(rank, j));
        }
        break;
      case COPSE_COLL_SCATTER:
      case COPSE_COLL_SCATTERV:
        Copy((*ranks)[0], BlockBegin((*ranks)[0], i), BlockBytes((*ranks)[0], i), &rank, 0);
        break;
      case COPSE_COLL_ALLTOALL:
      case COPSE_COLL_ALLTOALLV:
        for (uint32_t j = 0; j < size; ++j) {
          ASSERT_EQ(BlockBytes((*ranks)[j], i), BlockBytes(rank, j));
          Copy((*ranks)[j], BlockBegin((*ranks)[j], i), BlockBytes(rank, j), &rank, BlockBegin(rank, j));
        }
        break;
      case COPSE_COLL_REDUCE_SCATTER:
        Reduce(ranks, i, size, i * rank.data.cell.bytes / sizeof(double));
        break;
      case COPSE_COLL_REDUCE_SCATTERV:
        Reduce(ranks, i, size, rank.data.displacements[i]);
        break;
      case COPSE_COLL_SCAN:
        Reduce(ranks, i, i + 1, 0);
        break;
      case COPSE_COLL_EXSCAN:
        Reduce(ranks, i, i, 0);
        break;
      default:
        Reduce(ranks, i, size, 0);
        break;
    }
  }
}

const char* const kNames[] = {"bcast",           "reduce",   "allreduce", "gather",     "scatter",
                              "allgather",       "alltoall", "scan",      "exscan",     "reduce_scatter",
                              "reduce_scatterv", "gatherv",  "scatterv",  "allgatherv", "alltoallv"};

TEST(RankCellTest, RightResultsAreRightAndEveryWrongByteIsFound) {
  for (const std::string name : kNames) {
    for (const char* pattern : {"equal", "heavy", "random", "empty"}) {
      for (const uint32_t size : {1u, 2u, 5u, 9u}) {
        std::vector<Rank> ranks = AllRanks("latency:" + name + ":40:" + pattern, size);
        bool any_wrong = false;
        for (Rank& rank : ranks) any_wrong |= rank_find_wrong(&rank.data) != SIZE_MAX;
        EXPECT_TRUE(any_wrong || (size == 1 && (name == "bcast" || name == "exscan"))) << name << " " << size;
        Call(&ranks);
        for (Rank& rank : ranks) {
          const std::string where = name + " " + pattern + " " + std::to_string(rank.data.rank);
          EXPECT_EQ(rank_find_wrong(&rank.data), SIZE_MAX) << where;
          if (name == "exscan" && rank.data.rank == 0) continue;
          for (size_t at = 0; at < rank.receive.size(); ++at) {
            rank.receive[at] ^= 0x11;
            const size_t found = rank_find_wrong(&rank.data);
            EXPECT_TRUE(found <= at && at < found + sizeof(double)) << where << " byte " << at << " found " << found;
            rank.receive[at] ^= 0x11;
          }
        }
        for (Rank& rank : ranks) rank_free_plan(&rank.data);
      }
    }
  }
}

TEST(RankCellTest, CellsAreReadAsWritten) {
  rank_cell cell;
  ASSERT_TRUE(rank_parse_cell("together:gatherv:8192:random:known:registered", &cell));
  EXPECT_EQ(cell.mode, kTogether);
  EXPECT_EQ(cell.collective, COPSE_COLL_GATHERV);
  EXPECT_EQ(cell.bytes, 8192u);
  EXPECT_EQ(cell.pattern, kRandom);
  EXPECT_TRUE(cell.counts_known && cell.registered);
  ASSERT_TRUE(rank_parse_cell("latency:allreduce:47", &cell));
  EXPECT_EQ(cell.bytes, 40u);  // whole doubles
  EXPECT_FALSE(cell.counts_known || cell.registered);
  for (const char* wrong : {"", "latency", "latency:bcast", "latency:bcast:", "latency:bcast:x", "latency:bcast:8:odd",
                            "late:bcast:8", "latency:cast:8", "latency:bcast:8:", "latency:bcast:8x"}) {
    EXPECT_FALSE(rank_parse_cell(wrong, &cell)) << wrong;
  }
}

}  // namespace
