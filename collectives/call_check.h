// SPDX-License-Identifier: Apache-2.0
//
// The one check of a call's arguments: the library makes it before it posts a call, and the daemon again of what it
// reads from a client's queue, which it does not trust. Where buffers lie is for each of the two to say; what must be
// in them is said here. C++ without any library.
#ifndef COPSE_COLLECTIVES_CALL_CHECK_H_
#define COPSE_COLLECTIVES_CALL_CHECK_H_

#include <cstdint>
#include <string>

#include "base/failure.h"
#include "collectives/call_arguments.h"

namespace copse {

// Why a call is refused: kInvalidArgument, or kNotSupported if it is only too long. `text` names the thing, its value
// and the limit.
struct CallDefect {
  Failure failure = Failure::kNone;
  std::string text;
  explicit operator bool() const { return failure != Failure::kNone; }
};

// Numbers as a caller gives them, none of which need mean anything.
struct RawArguments {
  int64_t collective = 0;
  int64_t type = 0;
  int64_t op = 0;
  bool has_own_op = false;  // the caller combines values itself: `op` is not looked at
  uint8_t options = 0;      // those that mean nothing to the collective are dropped
  uint64_t count = 0;       // not looked at where ranks' counts differ: for CheckCount
  uint32_t root = 0;
};

// Sets *arguments to what all ranks of a team of `size` give alike, but for what lists say (counts_hash, and the count
// of CountsAllBlocks); fields without a meaning for the collective are zero. No rank's buffer may be longer than
// `bytes_max`, where that can be known without lists; what one rank may not have, all may not, so that all are refused.
CallDefect CheckArguments(const RawArguments& raw, uint32_t size, uint64_t bytes_max, CallArguments* arguments);

// Whether `count` elements of a rank's own buffer, or of each of its blocks where these are equal, are not too many.
CallDefect CheckCount(const CallArguments& arguments, uint64_t count, uint32_t size, uint64_t bytes_max);

// The blocks of one side of an irregular call, seen one after another.
class BlockSums {
 public:
  // `side`: "send" or "receive"; lives as long as this object.
  BlockSums(const char* side, ElementType type, uint64_t bytes_max) : side_(side), type_(type), bytes_max_(bytes_max) {}

  // Adds rank `rank`'s block: whole elements, addressable, and together not more than `bytes_max`.
  CallDefect Add(uint32_t rank, const Block& block);

  uint64_t total_bytes() const { return total_bytes_; }
  // From the buffer's begin to the end of the last block that is not empty.
  uint64_t span_bytes() const { return span_bytes_; }

 private:
  const char* const side_;
  const ElementType type_;
  const uint64_t bytes_max_;
  uint64_t total_bytes_ = 0;
  uint64_t span_bytes_ = 0;
};

// Whether the `count` elements that rank `rank` gives for its own buffer are what the list says of its block.
CallDefect CheckOwnCount(uint32_t rank, uint64_t count, const Block& listed, ElementType type);

}  // namespace copse

#endif  // COPSE_COLLECTIVES_CALL_CHECK_H_
