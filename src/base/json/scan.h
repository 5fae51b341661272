/*
 * json_scan - finds the bytes of a string that need attention, many at a time.
 *
 * For readers and writers of JSON text. Most strings can be used or copied unchanged; these
 * functions return how far that holds. They touch only the given bytes. They use NEON or SSE2 if
 * available, else eight bytes in a register.
 */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "base/core/str.h"

/* White space between tokens. */
static inline bool json_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first match is the lowest bit");

#define JSON_SCAN_ALL(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Marks the high bit of each byte of x that is below `limit`, at most 128. A borrow may also mark
 * bytes above a true one, so only the lowest mark is reliable.
 */
static inline uint64_t json_scan_below(uint64_t x, unsigned limit)
{
	return (x - JSON_SCAN_ALL(limit)) & ~x & JSON_SCAN_ALL(0x80);
}

/* Marks in the same way the bytes that RFC 8259, section 7, requires to be escaped. */
static inline uint64_t json_scan_escaped8(uint64_t x)
{
	return json_scan_below(x ^ JSON_SCAN_ALL('"'), 1) |
	       json_scan_below(x ^ JSON_SCAN_ALL('\\'), 1) | json_scan_below(x, 0x20);
}

/*
 * JSON_SCAN_WIDTH bytes at p are examined together. json_scan_read() marks the bytes at which a
 * reader must stop: quotes, backslashes, control characters and non-ASCII bytes. json_scan_write()
 * marks the bytes that a writer must escape: the same without non-ASCII bytes. json_scan_index() is
 * the index of the first mark.
 */
#if defined(__ARM_NEON) && defined(__aarch64__)

#include <arm_neon.h>

enum { JSON_SCAN_WIDTH = 16 };

static inline uint64_t json_scan_pack(uint8x16_t stop)
{
	uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(stop), 4);

	return vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
}

static inline uint8x16_t json_scan_quotes(uint8x16_t c)
{
	return vorrq_u8(vceqq_u8(c, vdupq_n_u8('"')), vceqq_u8(c, vdupq_n_u8('\\')));
}

static inline uint64_t json_scan_read(const char *p)
{
	uint8x16_t c = vld1q_u8((const uint8_t *)p);
	/* As signed bytes, non-ASCII bytes are below the control characters. */
	uint8x16_t low = vcltq_s8(vreinterpretq_s8_u8(c), vdupq_n_s8(0x20));

	return json_scan_pack(vorrq_u8(json_scan_quotes(c), low));
}

static inline uint64_t json_scan_write(const char *p)
{
	uint8x16_t c = vld1q_u8((const uint8_t *)p);

	return json_scan_pack(vorrq_u8(json_scan_quotes(c), vcltq_u8(c, vdupq_n_u8(0x20))));
}

static inline unsigned json_scan_index(uint64_t marks)
{
	return (unsigned)__builtin_ctzll(marks) / 4;
}

#elif defined(__SSE2__)

#include <emmintrin.h>

enum { JSON_SCAN_WIDTH = 16 };

static inline __m128i json_scan_quotes(__m128i c)
{
	return _mm_or_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('"')),
			    _mm_cmpeq_epi8(c, _mm_set1_epi8('\\')));
}

static inline uint64_t json_scan_read(const char *p)
{
	__m128i c = _mm_loadu_si128((const __m128i *)(const void *)p);
	/* As signed bytes, non-ASCII bytes are below the control characters. */
	__m128i low = _mm_cmplt_epi8(c, _mm_set1_epi8(0x20));

	return (uint64_t)_mm_movemask_epi8(_mm_or_si128(json_scan_quotes(c), low));
}

static inline uint64_t json_scan_write(const char *p)
{
	__m128i c = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i low = _mm_cmpeq_epi8(_mm_min_epu8(c, _mm_set1_epi8(0x1f)), c);

	return (uint64_t)_mm_movemask_epi8(_mm_or_si128(json_scan_quotes(c), low));
}

static inline unsigned json_scan_index(uint64_t marks)
{
	return (unsigned)__builtin_ctzll(marks);
}

#else

enum { JSON_SCAN_WIDTH = 8 };

static inline uint64_t json_scan_read(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return json_scan_escaped8(x) | (x & JSON_SCAN_ALL(0x80));
}

static inline uint64_t json_scan_write(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return json_scan_escaped8(x);
}

static inline unsigned json_scan_index(uint64_t marks)
{
	return (unsigned)__builtin_ctzll(marks) / 8;
}

#endif

static inline bool json_scan_escaped(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* The first byte in [p, end) at which a reader must stop, or end. */
static inline const char *json_scan_text(const char *p, const char *end)
{
	uint64_t marks;

	for (; end - p >= JSON_SCAN_WIDTH; p += JSON_SCAN_WIDTH) {
		marks = json_scan_read(p);
		if (marks)
			return p + json_scan_index(marks);
	}
	while (p < end && !json_scan_escaped(*p) && (unsigned char)*p < 0x80)
		p++;
	return p;
}

/* The first byte in [p, end) that a writer must escape, or end. */
static inline const char *json_scan_plain(const char *p, const char *end)
{
	uint64_t marks;

	for (; end - p >= JSON_SCAN_WIDTH; p += JSON_SCAN_WIDTH) {
		marks = json_scan_write(p);
		if (marks)
			return p + json_scan_index(marks);
	}
	while (p < end && !json_scan_escaped(*p))
		p++;
	return p;
}

/* Up to 7 bytes, copied as two overlapping halves. */
static inline bool json_scan_copy_short(char *out, const char *p, size_t n)
{
	uint32_t low = 0, high = 0;

	if (n >= sizeof(low)) {
		memcpy(&low, p, sizeof(low));
		memcpy(&high, p + n - sizeof(high), sizeof(high));
		memcpy(out, &low, sizeof(low));
		memcpy(out + n - sizeof(high), &high, sizeof(high));
		return json_scan_escaped8((uint64_t)high << 32 | low) == 0;
	}
	for (size_t i = 0; i < n; i++) {
		out[i] = p[i];
		if (json_scan_escaped(p[i]))
			return false;
	}
	return true;
}

/*
 * Copies n bytes. Returns false if one of them must be escaped; the copy is then useless. The last
 * bytes are copied as one full piece that may overlap the piece before.
 */
static inline bool json_scan_copy(char *out, const char *p, size_t n)
{
	uint64_t marks = 0, first, last;
	size_t i = 0;

	if (n < sizeof(first))
		return json_scan_copy_short(out, p, n);
	if (n < JSON_SCAN_WIDTH) {
		memcpy(&first, p, sizeof(first));
		memcpy(&last, p + n - sizeof(last), sizeof(last));
		memcpy(out, &first, sizeof(first));
		memcpy(out + n - sizeof(last), &last, sizeof(last));
		return (json_scan_escaped8(first) | json_scan_escaped8(last)) == 0;
	}
	for (; n - i > JSON_SCAN_WIDTH; i += JSON_SCAN_WIDTH) {
		memcpy(out + i, p + i, JSON_SCAN_WIDTH);
		marks |= json_scan_write(p + i);
	}
	i = n - JSON_SCAN_WIDTH;
	memcpy(out + i, p + i, JSON_SCAN_WIDTH);
	return (marks | json_scan_write(p + i)) == 0;
}

/* True if none of the n bytes must be escaped. The last piece may overlap the one before. */
static inline bool json_scan_clean(const char *p, size_t n)
{
	uint64_t x, marks = 0;
	uint32_t low, high;

	if (n >= sizeof(x)) {
		for (const char *last = p + n - sizeof(x); p < last; p += sizeof(x)) {
			memcpy(&x, p, sizeof(x));
			marks |= json_scan_escaped8(x);
			n -= sizeof(x);
		}
		memcpy(&x, p + n - sizeof(x), sizeof(x));
		return (marks | json_scan_escaped8(x)) == 0;
	}
	if (n >= sizeof(low)) {
		memcpy(&low, p, sizeof(low));
		memcpy(&high, p + n - sizeof(high), sizeof(high));
		return json_scan_escaped8((uint64_t)high << 32 | low) == 0;
	}
	while (n && !json_scan_escaped(*p)) {
		p++;
		n--;
	}
	return n == 0;
}

#endif
