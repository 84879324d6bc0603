// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/ghash.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace copse::emu {
namespace {

#define COPSE_NARROW __attribute__((target("pclmul,ssse3")))
#define COPSE_WIDE __attribute__((target("avx512f,avx512bw,avx512vl,vpclmulqdq,pclmul")))

// x^128 + x^127 + x^126 + x^121 + 1 without its ends, as its bits are reflected here.
constexpr int64_t kPolynomial = static_cast<int64_t>(0xc200000000000000);

// So much is multiplied by all powers, and reduced together.
constexpr size_t kStrideBytes = Ghash::kPowers * Ghash::kBlockBytes;

// A Product has 256 bits, not yet reduced; `middle` overlaps both others.
struct Product {
  __m128i low, middle, high;
};

COPSE_NARROW __m128i Load(const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
COPSE_NARROW void Store(__m128i block, uint8_t* at) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), block); }

COPSE_NARROW __m128i Reversed(__m128i block) {
  return _mm_shuffle_epi8(block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

COPSE_NARROW Product Multiplied(__m128i a, __m128i b) {
  return {.low = _mm_clmulepi64_si128(a, b, 0x00),
          .middle = _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10)),
          .high = _mm_clmulepi64_si128(a, b, 0x11)};
}

// Takes `from`'s half of the product off by adding a multiple of the polynomial.
COPSE_NARROW __m128i TakenOff(__m128i from, __m128i rest) {
  const __m128i multiple = _mm_clmulepi64_si128(_mm_set1_epi64x(kPolynomial), from, 0x01);
  return _mm_xor_si128(rest, _mm_xor_si128(_mm_shuffle_epi32(from, 0x4e), multiple));
}

COPSE_NARROW __m128i Reduced(const Product& product) {
  return TakenOff(TakenOff(product.low, product.middle), product.high);
}

// Returns the sum `y` after `count` >= 1 blocks more; `powers` are those of the key from number `count` on.
COPSE_NARROW __m128i Added(__m128i y, const uint8_t* blocks, const uint8_t* powers, size_t count) {
  Product sum = Multiplied(_mm_xor_si128(y, Reversed(Load(blocks))), Load(powers));
  for (size_t i = 1; i < count; ++i) {
    const Product one =
        Multiplied(Reversed(Load(blocks + i * Ghash::kBlockBytes)), Load(powers + i * Ghash::kBlockBytes));
    sum = {.low = _mm_xor_si128(sum.low, one.low),
           .middle = _mm_xor_si128(sum.middle, one.middle),
           .high = _mm_xor_si128(sum.high, one.high)};
  }
  return Reduced(sum);
}

// Adds up the four blocks. gcc 12 warns of intrinsics that take a part of a vector.
COPSE_WIDE __m128i Folded(__m512i blocks) {
  const __m256i half = _mm256_xor_si256(__builtin_shufflevector(blocks, blocks, 0, 1, 2, 3),
                                        __builtin_shufflevector(blocks, blocks, 4, 5, 6, 7));
  return _mm_xor_si128(__builtin_shufflevector(half, half, 0, 1), __builtin_shufflevector(half, half, 2, 3));
}

// As Added, for blocks of `bytes` in all, as many at a time as there are powers. If `kCopies`, writes them to `copy`,
// too: what is summed is what was copied, even if others write to the blocks meanwhile.
template <bool kCopies>
COPSE_WIDE __m128i AddedWide(__m128i y, const uint8_t* blocks, const uint8_t* powers, size_t bytes, uint8_t* copy) {
  constexpr size_t kVector = 64;
  // So far ahead memory is fetched that is in no cache: without, a copy takes half as long again.
  constexpr size_t kAhead = 4096;
  constexpr int64_t kLow = 0x08090a0b0c0d0e0f, kHigh = 0x0001020304050607;
  const __m512i reverse = _mm512_set_epi64(kHigh, kLow, kHigh, kLow, kHigh, kLow, kHigh, kLow);
  for (size_t at = 0; at < bytes; at += kStrideBytes) {
    __m512i low = _mm512_setzero_si512(), middle = low, high = low;
    for (size_t i = 0; i < kStrideBytes; i += kVector) {
      const __m512i loaded = _mm512_loadu_si512(blocks + at + i);
      if constexpr (kCopies) {
        __builtin_prefetch(blocks + at + i + kAhead);
        __builtin_prefetch(copy + at + i + kAhead, /*rw=*/1);
        _mm512_storeu_si512(copy + at + i, loaded);
      }
      __m512i block = _mm512_shuffle_epi8(loaded, reverse);
      if (i == 0) block = _mm512_xor_si512(block, __m512i{y[0], y[1]});
      const __m512i power = _mm512_loadu_si512(powers + i);
      low = _mm512_xor_si512(low, _mm512_clmulepi64_epi128(block, power, 0x00));
      middle = _mm512_ternarylogic_epi64(middle, _mm512_clmulepi64_epi128(block, power, 0x01),
                                         _mm512_clmulepi64_epi128(block, power, 0x10), 0x96);  // exclusive or
      high = _mm512_xor_si512(high, _mm512_clmulepi64_epi128(block, power, 0x11));
    }
    y = Reduced({.low = Folded(low), .middle = Folded(middle), .high = Folded(high)});
  }
  return y;
}

// The key times x, so that products of reflected blocks need no shift.
COPSE_NARROW __m128i Shifted(__m128i key) {
  const __m128i carry = _mm_slli_si128(_mm_srli_epi64(key, 63), 8);
  const __m128i shifted = _mm_or_si128(_mm_slli_epi64(key, 1), carry);
  const __m128i top = _mm_shuffle_epi32(_mm_srai_epi32(key, 31), 0xff);
  return _mm_xor_si128(shifted, _mm_and_si128(top, _mm_set_epi64x(kPolynomial, 1)));
}

COPSE_NARROW void ComputePowers(const uint8_t* key, uint8_t* powers) {
  const __m128i first = Shifted(Reversed(Load(key)));
  __m128i power = first;
  for (size_t i = Ghash::kPowers; i-- > 0;) {
    Store(power, powers + i * Ghash::kBlockBytes);
    power = Reduced(Multiplied(power, first));
  }
}

// Returns the sum `y` after the message, whose last block is filled up with zeros. `copy` null: it is not copied.
COPSE_NARROW __m128i Extended(__m128i y, absl::Span<const uint8_t> message, const uint8_t* powers, bool wide,
                              uint8_t* copy) {
  constexpr size_t kBlock = Ghash::kBlockBytes;
  const auto take = [&](size_t bytes) {
    message.remove_prefix(bytes);
    if (copy != nullptr) copy += bytes;
  };
  if (const size_t bytes = message.size() / kStrideBytes * kStrideBytes; wide && bytes > 0) {
    y = copy == nullptr ? AddedWide<false>(y, message.data(), powers, bytes, nullptr)
                        : AddedWide<true>(y, message.data(), powers, bytes, copy);
    take(bytes);
  }
  while (message.size() >= kBlock) {
    const size_t bytes = std::min(message.size() / kBlock * kBlock, kStrideBytes);
    if (copy != nullptr) std::memcpy(copy, message.data(), bytes);
    y = Added(y, copy == nullptr ? message.data() : copy, powers + kStrideBytes - bytes, bytes / kBlock);
    take(bytes);
  }
  if (message.empty()) return y;
  uint8_t last[kBlock] = {};
  std::memcpy(last, message.data(), message.size());
  if (copy != nullptr) std::memcpy(copy, last, message.size());
  return Added(y, last, powers + kStrideBytes - kBlock, 1);
}

// Returns the sum with the message's lengths, in bits: of what is sent as it is, and of what is encrypted.
COPSE_NARROW Ghash::Block Finished(__m128i y, uint64_t plain, uint64_t encrypted, const uint8_t* powers) {
  const __m128i lengths = _mm_set_epi64x(static_cast<int64_t>(plain), static_cast<int64_t>(encrypted));
  const __m128i key = Load(powers + kStrideBytes - Ghash::kBlockBytes);
  Ghash::Block sum;
  Store(Reversed(Reduced(Multiplied(_mm_xor_si128(y, lengths), key))), sum.data());
  return sum;
}

COPSE_NARROW Ghash::Block Summed(absl::Span<const uint8_t> message, bool encrypted, const uint8_t* powers, bool wide) {
  const uint64_t bits = 8 * uint64_t{message.size()};
  return Finished(Extended(_mm_setzero_si128(), message, powers, wide, nullptr), encrypted ? 0 : bits,
                  encrypted ? bits : 0, powers);
}

COPSE_NARROW Ghash::Block SummedCopy(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body,
                                     const uint8_t* powers, bool wide, uint8_t* out) {
  constexpr size_t kBlock = Ghash::kBlockBytes;
  const uint64_t bits = 8 * (uint64_t{head.size()} + body.size());
  // A block may have the end of one and the beginning of the other.
  const size_t whole = head.size() / kBlock * kBlock, rest = head.size() - whole;
  const size_t joined = rest == 0 ? 0 : std::min(body.size(), kBlock - rest);
  __m128i y = Extended(_mm_setzero_si128(), head.subspan(0, whole), powers, wide, out);
  std::copy_n(body.begin(), joined, std::copy(head.begin() + whole, head.end(), out + whole));
  y = Extended(y, {out + whole, rest + joined}, powers, wide, nullptr);
  y = Extended(y, body.subspan(joined), powers, wide, out + whole + rest + joined);
  return Finished(y, bits, 0, powers);
}

}  // namespace

bool Ghash::IsSupported() { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3"); }

bool Ghash::IsWideSupported() {
  return IsSupported() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq");
}

Ghash::Ghash(const Block& hash_key, bool wide) : wide_(wide) {
  CHECK(IsSupported());
  ComputePowers(hash_key.data(), powers_.data());
}

Ghash::Block Ghash::OfPlain(absl::Span<const uint8_t> message) const {
  return Summed(message, /*encrypted=*/false, powers_.data(), wide_);
}

Ghash::Block Ghash::OfEncrypted(absl::Span<const uint8_t> message) const {
  return Summed(message, /*encrypted=*/true, powers_.data(), wide_);
}

Ghash::Block Ghash::OfCopied(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint8_t* out) const {
  return SummedCopy(head, body, powers_.data(), wide_, out);
}

}  // namespace copse::emu

#else

namespace copse::emu {

bool Ghash::IsSupported() { return false; }
bool Ghash::IsWideSupported() { return false; }
Ghash::Ghash(const Block&, bool wide) : wide_(wide) { CHECK(IsSupported()); }
Ghash::Block Ghash::OfPlain(absl::Span<const uint8_t>) const { return {}; }
Ghash::Block Ghash::OfEncrypted(absl::Span<const uint8_t>) const { return {}; }
Ghash::Block Ghash::OfCopied(absl::Span<const uint8_t>, absl::Span<const uint8_t>, uint8_t*) const { return {}; }

}  // namespace copse::emu

#endif

namespace copse::emu {

Ghash::~Ghash() { OPENSSL_cleanse(powers_.data(), powers_.size()); }

}  // namespace copse::emu
