// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/alu/alu.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"
#include "offload_emu/alu/alu_loops.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace copse::emu {
namespace {

// With three or more operands, intermediate results stay in the first-level cache, so each operand is read from
// memory once, and a target that is one of the operands is written only after that block of all of them was read.
constexpr size_t kBlockBytes = 2048;
static_assert(kBlockBytes % kElementBytesMax == 0);

bool IsLogical(ElementOp op) { return op == ElementOp::kLand || op == ElementOp::kLor || op == ElementOp::kLxor; }

const AluLoops& BestLoops() {
  static const AluLoops& best = FastAluLoops() != nullptr ? *FastAluLoops() : kBaselineAluLoops;
  return best;
}

}  // namespace

const AluLoops* FastAluLoops() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  // The check for AVX2 also covers that the kernel saves its registers.
  if (f16c && __builtin_cpu_supports("avx2")) return kAvx2AluLoops;
#endif
  return nullptr;
}

absl::Status AluReduce(ElementOp op, ElementType type, absl::Span<const uint8_t* const> operands, size_t count,
                       uint8_t* target) {
  if (operands.empty() || operands.size() > kAluOperandsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("reduction of ", operands.size(), " operands (limit 1 to ", kAluOperandsMax, ")"));
  }
  if (!IsDefined(op, type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", AbslView(ElementOpName(op)), " on type ", AbslView(ElementTypeName(type))));
  }
  const AluLoop loop = BestLoops().Of(op, type);
  const size_t element = ElementBytes(type);
  if (operands.size() == 1) {
    // The logical `and` of a value with itself is 0 or 1, as the result of every logical operation on one operand is.
    if (IsLogical(op)) {
      BestLoops().Of(ElementOp::kLand, type)(target, operands[0], operands[0], count);
    } else if (count > 0 && target != operands[0]) {
      std::memcpy(target, operands[0], count * element);
    }
    return absl::OkStatus();
  }
  if (operands.size() == 2) {
    loop(target, operands[0], operands[1], count);
    return absl::OkStatus();
  }
  alignas(64) uint8_t block[kBlockBytes];
  const size_t block_count = kBlockBytes / element;
  for (size_t first = 0; first < count; first += block_count) {
    const size_t n = std::min(block_count, count - first);
    const size_t offset = first * element;
    loop(block, operands[0] + offset, operands[1] + offset, n);
    for (size_t k = 2; k + 1 < operands.size(); ++k) loop(block, block, operands[k] + offset, n);
    loop(target + offset, block, operands.back() + offset, n);
  }
  return absl::OkStatus();
}

}  // namespace copse::emu
