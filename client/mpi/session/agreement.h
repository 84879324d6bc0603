// SPDX-License-Identifier: Apache-2.0
//
// Combines several agreements among all ranks of a job into one reduction.
#ifndef COPSE_CLIENT_MPI_SESSION_AGREEMENT_H_
#define COPSE_CLIENT_MPI_SESSION_AGREEMENT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace copse::mpi {

// An Agreement gathers questions to all ranks, which one MPI_Allreduce with MPI_MIN answers: the least value of a
// setting, whether all ranks have the same value, and the first rank for which something holds.
//
// Calls follow Add* Settle Take*. All ranks add the same questions in the same order, and take the answers in that
// order; the answers are equal on all ranks.
class Agreement {
 public:
  Agreement(int rank, int size) : rank_(rank), size_(size) {}

  // Asks for the least value of all ranks.
  void AddLeast(long long mine) { numbers_.push_back(mine); }
  // Asks whether all ranks have the same value. ~x falls as x grows, so the minima of x and ~x are the least value and
  // the complement of the greatest one; all values are equal if these two are.
  void AddCommon(long long mine) {
    numbers_.push_back(mine);
    numbers_.push_back(~mine);
  }
  // Asks for the first rank on which `holds` is true; the answer is the number of ranks if there is none.
  void AddFirstRank(bool holds) { numbers_.push_back(holds ? rank_ : size_); }

  // numbers() is this rank's contribution to an MPI_Allreduce with MPI_MIN, whose result is passed to Settle.
  std::span<const long long> numbers() const { return numbers_; }
  void Settle(std::span<const long long> minima) { numbers_.assign(minima.begin(), minima.end()); }

  long long TakeLeast() { return numbers_[next_++]; }
  std::optional<long long> TakeCommon() {
    const long long least = TakeLeast(), greatest = ~TakeLeast();
    return least == greatest ? std::optional(least) : std::nullopt;
  }
  int TakeFirstRank() { return static_cast<int>(TakeLeast()); }

 private:
  const int rank_, size_;
  std::vector<long long> numbers_;
  size_t next_ = 0;  // index of the next number to take
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_AGREEMENT_H_
