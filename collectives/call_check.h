// SPDX-License-Identifier: Apache-2.0
//
// The one check of a call's arguments: the library runs it before it posts a call, and the daemon again on the
// entries of a client's queue, which it does not trust. Each of the two checks the place of the buffers itself; this
// file checks their content. C++ without any library.
#ifndef COPSE_COLLECTIVES_CALL_CHECK_H_
#define COPSE_COLLECTIVES_CALL_CHECK_H_

#include <cstdint>
#include <string>

#include "base/failure.h"
#include "collectives/call_arguments.h"

namespace copse {

// The reason why a call is refused: kInvalidArgument, or kNotSupported if it is only too long. `text` names the
// thing, its value and the limit.
struct CallDefect {
  Failure failure = Failure::kNone;
  std::string text;
  explicit operator bool() const { return failure != Failure::kNone; }
};

// The caller's numbers, unchecked.
struct RawArguments {
  int64_t collective = 0;
  int64_t type = 0;
  int64_t op = 0;
  bool has_own_op = false;  // the caller combines values itself: `op` is ignored
  uint8_t options = 0;      // options without a meaning for the collective are dropped
  uint64_t count = 0;       // ignored where ranks' counts differ; CheckCount takes it
  uint32_t root = 0;
};

// Sets *arguments to the arguments that all ranks of a team of `size` share, except those that come from lists
// (counts_hash, and the count of CountsAllBlocks); fields without a meaning for the collective are zero. No rank's
// buffer may be longer than `bytes_max`, as far as that is known without lists; a length that one rank may not have
// is refused at all ranks.
CallDefect CheckArguments(const RawArguments& raw, uint32_t size, uint64_t bytes_max, CallArguments* arguments);

// Checks that `count` elements of a rank's own buffer, or of each of its blocks where these are equal, are not too
// many.
CallDefect CheckCount(const CallArguments& arguments, uint64_t count, uint32_t size, uint64_t bytes_max);

// Checks the blocks of one side of an irregular call, one after another.
class BlockSums {
 public:
  // `side`: "send" or "receive"; must outlive this object.
  BlockSums(const char* side, ElementType type, uint64_t bytes_max) : side_(side), type_(type), bytes_max_(bytes_max) {}

  // Adds rank `rank`'s block. It must be whole elements, addressable, and the total not more than `bytes_max`.
  CallDefect Add(uint32_t rank, const Block& block);

  uint64_t total_bytes() const { return total_bytes_; }
  // Bytes from the buffer's begin to the end of the last block that is not empty.
  uint64_t span_bytes() const { return span_bytes_; }

 private:
  const char* const side_;
  const ElementType type_;
  const uint64_t bytes_max_;
  uint64_t total_bytes_ = 0;
  uint64_t span_bytes_ = 0;
};

// Checks that the `count` that rank `rank` gives for its own buffer equals its block in the list.
CallDefect CheckOwnCount(uint32_t rank, uint64_t count, const Block& listed, ElementType type);

}  // namespace copse

#endif  // COPSE_COLLECTIVES_CALL_CHECK_H_
