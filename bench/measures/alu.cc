// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/element_reference.h"
#include "base/string_view.h"
#include "offload_emu/alu/alu.h"

namespace copse::bench {
namespace {

constexpr size_t kBytes = 64 * 1024;
constexpr uint32_t kCallsOfASample = 40;  // some hundred microseconds

// Numbers as programs add them up: neither NaN nor subnormal, which some processors are slow at. Which of two values is
// greater cannot be foreseen.
std::vector<uint8_t> Numbers(ElementType type, uint64_t seed) {
  std::vector<uint8_t> bytes(kBytes);
  WithElementType(type, [&](auto zero) {
    using T = decltype(zero);
    uint64_t state = seed;
    for (size_t at = 0; at < kBytes; at += sizeof(T)) {
      state = state * 6364136223846793005 + 1442695040888963407;
      const int number = 1 + static_cast<int>(state >> 33) % 100;
      if constexpr (kIsPair<T>) {
        PutElement(T{static_cast<decltype(T::value)>(number), number}, &bytes[at]);
      } else {
        PutElement(T(number), &bytes[at]);
      }
    }
  });
  return bytes;
}

// 10^9 bytes of result a second.
template <typename Call>
double Rate(const Call& call) {
  const int64_t start = absl::GetCurrentTimeNanos();
  for (uint32_t i = 0; i < kCallsOfASample; ++i) call();
  const int64_t ns = absl::GetCurrentTimeNanos() - start;
  return static_cast<double>(kCallsOfASample) * kBytes / static_cast<double>(ns);
}

Row RowOf(const std::string& what, const std::string& system) {
  return {.bench = "alu", .what = what, .system = system, .bytes = kBytes};
}

}  // namespace

absl::Status RunAlu(const Options& options, const Contest&, const Reporter& report) {
  const int samples = options.quick ? 5 : 51;
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    const std::vector<uint8_t> a = Numbers(type, 1), b = Numbers(type, 2);
    std::vector<uint8_t> target(kBytes);
    const uint8_t* const operands[] = {a.data(), b.data()};
    const size_t count = kBytes / ElementBytes(type);
    for (int o = 0; o < kElementOpCount; ++o) {
      const auto op = static_cast<ElementOp>(o);
      const std::string what = absl::StrCat(AbslView(ElementTypeName(type)), " ", AbslView(ElementOpName(op)));
      if (!IsDefined(op, type) || !Wanted(options, RowOf(what, "copse"))) continue;
      const auto reduce = [&] {
        const absl::Status status = emu::AluReduce(op, type, absl::MakeConstSpan(operands), count, target.data());
        CHECK(status.ok());
      };
      const auto copy = [&] {
        std::memcpy(target.data(), a.data(), kBytes);
        asm volatile("" : : "r"(target.data()) : "memory");  // or the compiler leaves copies out that nobody reads
      };
      Rate(reduce);
      std::vector<double> rates, copies, times;
      for (int i = 0; i < samples; ++i) {
        rates.push_back(Rate(reduce));
        copies.push_back(Rate(copy));
        times.push_back(copies.back() / rates.back());
      }
      report(Figure(RowOf(what, "copse"), "rate", "GB/s", rates));
      report(Figure(RowOf(what, "memcpy"), "rate", "GB/s", copies));
      Row ratio = RowOf(what, "copse");
      ratio.peer = "memcpy";
      report(Figure(ratio, "ratio", "1", times));
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
