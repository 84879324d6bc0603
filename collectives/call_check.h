// SPDX-License-Identifier: Apache-2.0
//
// Checks a call's arguments. The library runs these checks before it posts a call, and the daemon runs them again on
// the entries of a client's queue, which it does not trust. Each of the two also checks where the buffers lie, which
// is not done here. This file uses no library but the language's.
#ifndef COPSE_COLLECTIVES_CALL_CHECK_H_
#define COPSE_COLLECTIVES_CALL_CHECK_H_

#include <cstdint>
#include <string>

#include "base/failure.h"
#include "collectives/call_arguments.h"

namespace copse {

// A CallDefect is the reason why a call is refused: kInvalidArgument, or kNotSupported if it is only too long. `text`
// names the thing, its value and the limit. The default, kNone, means that the check has passed.
struct CallDefect {
  Failure failure = Failure::kNone;
  std::string text;
  explicit operator bool() const { return failure != Failure::kNone; }
};

// RawArguments are the caller's numbers, unchecked.
struct RawArguments {
  int64_t collective = 0;
  int64_t type = 0;
  int64_t op = 0;
  bool has_own_op = false;  // the caller's process reduces by an operation of its own: `op` is ignored
  uint8_t options = 0;      // CallOptions; those without a meaning for the collective are dropped
  uint64_t count = 0;       // ignored if irregular, except with kPairsBounded: CheckCount takes it
  uint32_t root = 0;
};

// Sets `*arguments` to the arguments that all ranks of a team of `size` share, except those that come from lists
// (counts_hash, and the count of CountsAllBlocks); fields without a meaning for the collective have their defaults.
// Refuses unknown numbers, a root that is no rank, an operation that is not defined on the type, and a count with which
// any rank's buffer would exceed `bytes_max`, even if this rank has no such buffer; then `*arguments` is unchanged.
CallDefect CheckArguments(const RawArguments& raw, uint32_t size, uint64_t bytes_max, CallArguments* arguments);

// Refuses a `count` of elements with which the buffer would exceed `bytes_max`, or kPairBoundMax if kPairsBounded. The
// buffer has `size` blocks of `count` elements if a regular collective has blocks, else `count` elements. `arguments`
// must come from CheckArguments.
CallDefect CheckCount(const CallArguments& arguments, uint64_t count, uint32_t size, uint64_t bytes_max);

// BlockSums checks the blocks of one side of an irregular call, which are added one after another.
class BlockSums {
 public:
  // `side` is "send" or "receive", and must outlive this object.
  BlockSums(const char* side, ElementType type, uint64_t bytes_max) : side_(side), type_(type), bytes_max_(bytes_max) {}

  // Adds rank `rank`'s block. Refuses one that is not a multiple of the element size, whose end overflows 64 bits, or
  // with which the total exceeds `bytes_max`; `rank` is for the text only. After a refusal no sums are valid.
  CallDefect Add(uint32_t rank, const Block& block);

  uint64_t total_bytes() const { return total_bytes_; }
  // Returns the bytes from the buffer's begin to the highest end of a block that is not empty; 0 if all are.
  uint64_t span_bytes() const { return span_bytes_; }

 private:
  const char* const side_;
  const ElementType type_;
  const uint64_t bytes_max_;
  uint64_t total_bytes_ = 0;
  uint64_t span_bytes_ = 0;
};

// Refuses (kInvalidArgument) a `count` for rank `rank`'s own buffer that differs from that rank's block in the list.
CallDefect CheckOwnCount(uint32_t rank, uint64_t count, const Block& listed, ElementType type);

}  // namespace copse

#endif  // COPSE_COLLECTIVES_CALL_CHECK_H_
