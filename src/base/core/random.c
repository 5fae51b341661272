/*
 * The kernel's generator and a seeded one with the same functions. Both draw bounded numbers by
 * multiplication: the high word of u64 * n is uniform once the few low words that would favour some
 * results are drawn again.
 */
#include "base/core/random.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "base/core/compiler.h"

static uint64_t next_random(void *unused UNUSED)
{
	return random_u64();
}

static uint64_t next_prng(void *g)
{
	return prng_u64(g);
}

static uint64_t core_random_below(uint64_t (*next)(void *), void *g, uint64_t n)
{
	unsigned __int128 wide;
	uint64_t reject;

	assert(n > 0);
	wide = (unsigned __int128)next(g) * n;
	if (LIKELY((uint64_t)wide >= n))
		return (uint64_t)(wide >> 64);
	reject = (0 - n) % n;
	while ((uint64_t)wide < reject)
		wide = (unsigned __int128)next(g) * n;
	return (uint64_t)(wide >> 64);
}

void random_bytes(void *p, size_t n)
{
	char *at = p;
	ssize_t got;

	while (n > 0) {
		got = getrandom(at, n, 0);
		if (got < 0) {
			if (errno != EINTR)
				abort();
			continue;
		}
		at += got;
		n -= (size_t)got;
	}
}

uint64_t random_u64(void)
{
	uint64_t v;

	random_bytes(&v, sizeof(v));
	return v;
}

uint64_t random_below(uint64_t n)
{
	return core_random_below(next_random, NULL, n);
}

/* SplitMix64: its outputs for successive states are distinct, so the four words are never all 0. */
static uint64_t random_split(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void prng_init(struct prng *g, uint64_t seed)
{
	for (size_t i = 0; i < ARRAY_SIZE(g->s); i++)
		g->s[i] = random_split(&seed);
}

static uint64_t rotate(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

uint64_t prng_u64(struct prng *g)
{
	uint64_t *s = g->s;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate(s[3], 45);
	return result;
}

void prng_bytes(struct prng *g, void *p, size_t n)
{
	unsigned char *at = p;
	uint64_t word = 0;

	for (size_t i = 0; i < n; i++, word >>= 8) {
		if (i % sizeof(word) == 0)
			word = prng_u64(g);
		at[i] = (unsigned char)word;
	}
}

uint64_t prng_below(struct prng *g, uint64_t n)
{
	return core_random_below(next_prng, g, n);
}

double prng_unit(struct prng *g)
{
	return (double)(prng_u64(g) >> 11) * 0x1p-53;
}
