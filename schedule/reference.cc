// SPDX-License-Identifier: Apache-2.0
#include "schedule/reference.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/element_reference.h"
#include "base/hash.h"

namespace copse::schedule {
namespace {

int SmallNumber(uint64_t random) { return static_cast<int>(random % 19) - 9; }

// Returns a factor such that products are exact and have no zero component, as the sign of a zero would depend on the
// order of factors. The factors of ranks 0 and 1 are complex, the others are 1 or 2.
template <typename Complex>
Complex ComplexFactor(uint32_t rank, uint64_t random) {
  using T = typename Complex::value_type;
  const bool odd = random % 2 != 0;
  if (rank == 0) return {T{3}, odd ? T{1} : T{-1}};
  if (rank == 1) return odd ? Complex{2, 1} : Complex{1, 2};
  return {odd ? T{1} : T{2}, T{0}};
}

template <typename T>
T Element(const CallArguments& a, uint32_t rank, uint64_t seed, uint64_t i) {
  const uint64_t random = Mix64(seed * 0x9e3779b97f4a7c15 + rank * 1000003 + i);
  const bool product = Reduces(a.collective) && a.op == ElementOp::kProd;
  if constexpr (std::is_integral_v<T>) {
    if (product) return static_cast<T>(1 + random % 3);
    if (Reduces(a.collective) && (a.op == ElementOp::kLand || a.op == ElementOp::kBand)) {
      return static_cast<T>(random % 17 == 0 ? 0 : random | 1);  // mostly not zero, so that results differ
    }
    return static_cast<T>(random);
  } else if constexpr (kIsComplex<T>) {
    if (product) return ComplexFactor<T>(rank, random);
    using Part = typename T::value_type;
    return {static_cast<Part>(SmallNumber(random)), static_cast<Part>(SmallNumber(random >> 32))};
  } else if constexpr (kIsPair<T>) {
    // There are few distinct values, so that some are equal and the lower index decides.
    return {static_cast<decltype(T::value)>(SmallNumber(random)), static_cast<int32_t>(random >> 32) % 100};
  } else {
    if (product) return T(random % 2 == 0 ? 1 : 2);
    // bfloat16 represents integers exactly only up to 256, so that sums have to stay small.
    return T(std::is_same_v<T, Bfloat16> ? static_cast<int>(random % 3) - 1 : SmallNumber(random));
  }
}

// Contributions repeat after this many elements, so that long ones cost little. The period is prime, so it divides no
// length by which messages are cut, and data at the same offset of another segment or chunk differs.
constexpr uint64_t kPeriod = 5003;

// Returns elements [begin, begin + count) of the sequence element(0), element(1), ..., which repeats after kPeriod.
template <typename T, typename ElementAt>
std::vector<uint8_t> Fill(uint64_t begin, uint64_t count, const ElementAt& element) {
  std::vector<uint8_t> bytes(count * sizeof(T));
  const uint64_t period_bytes = kPeriod * sizeof(T);
  for (uint64_t i = 0; i < std::min(count, kPeriod); ++i) {
    PutElement<T>(element((begin + i) % kPeriod), bytes.data() + i * sizeof(T));
  }
  for (uint64_t at = period_bytes; at < bytes.size(); at += period_bytes) {
    std::memcpy(bytes.data() + at, bytes.data(), std::min<uint64_t>(period_bytes, bytes.size() - at));
  }
  return bytes;
}

}  // namespace

std::vector<uint8_t> ContributionRange(const CallArguments& a, uint32_t rank, uint64_t seed, uint64_t begin,
                                       uint64_t count) {
  return WithElementType(a.type, [&](auto zero) {
    using T = decltype(zero);
    return Fill<T>(begin, count, [&](uint64_t i) { return Element<T>(a, rank, seed, i); });
  });
}

std::vector<uint8_t> CombinedRange(const CallArguments& a, uint32_t ranks, uint64_t seed, uint64_t begin,
                                   uint64_t count) {
  return WithElementType(a.type, [&](auto zero) {
    using T = decltype(zero);
    return Fill<T>(begin, count, [&](uint64_t i) {
      // With a single rank, logical operations leave its value unchanged, as in MPI.
      T value = Element<T>(a, 0, seed, i);
      for (uint32_t r = 1; r < ranks; ++r) value = CombineElements<T>(a.op, value, Element<T>(a, r, seed, i));
      return value;
    });
  });
}

std::vector<uint8_t> Contribution(const CallArguments& a, uint32_t rank, uint64_t seed) {
  if (a.collective == Collective::kBarrier) return {};
  return ContributionRange(a, rank, seed, 0, a.count);
}

std::vector<uint8_t> ExpectedResult(const CallArguments& a, uint32_t rank, uint32_t size, uint64_t seed) {
  // rank_data.h has the other collectives.
  if (a.collective == Collective::kBcast) return Contribution(a, a.root, seed);
  const bool gets_sum =
      a.collective == Collective::kAllreduce || (a.collective == Collective::kReduce && rank == a.root);
  return gets_sum ? CombinedRange(a, size, seed, 0, a.count) : std::vector<uint8_t>();
}

}  // namespace copse::schedule
