/*
 * Eight bytes per instruction where the processor has it; four bits at a time elsewhere.
 */
#include "store/journal/crc32c.h"

static const uint32_t nibbles[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_portable(uint32_t before, struct str s)
{
	uint32_t crc = ~before;

	for (size_t i = 0; i < s.n; i++) {
		crc ^= (unsigned char)s.p[i];
		crc = crc >> 4 ^ nibbles[crc & 15];
		crc = crc >> 4 ^ nibbles[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)

static bool has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before, struct str s)
{
	uint64_t crc = ~before, word;
	size_t i = 0;

	for (; i + sizeof(word) <= s.n; i += sizeof(word)) {
		memcpy(&word, s.p + i, sizeof(word));
		crc = __builtin_ia32_crc32di(crc, word);
	}
	for (; i < s.n; i++)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, (unsigned char)s.p[i]);
	return ~(uint32_t)crc;
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

enum { HAS_CRC32 = 1 << 7 }; /* HWCAP_CRC32 */

static bool has_instruction(void)
{
	return (getauxval(AT_HWCAP) & HAS_CRC32) != 0;
}

__attribute__((target("+crc"))) static uint32_t by_instruction(uint32_t before, struct str s)
{
	uint32_t crc = ~before;
	uint64_t word;
	size_t i = 0;

	for (; i + sizeof(word) <= s.n; i += sizeof(word)) {
		memcpy(&word, s.p + i, sizeof(word));
		crc = __builtin_aarch64_crc32cx(crc, word);
	}
	for (; i < s.n; i++)
		crc = __builtin_aarch64_crc32cb(crc, (unsigned char)s.p[i]);
	return ~crc;
}

#else

static bool has_instruction(void)
{
	return false;
}

static uint32_t by_instruction(uint32_t before, struct str s)
{
	return crc32c_portable(before, s);
}

#endif

uint32_t crc32c(uint32_t before, struct str s)
{
	return has_instruction() ? by_instruction(before, s) : crc32c_portable(before, s);
}
