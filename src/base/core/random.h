/*
 * random - unpredictable numbers, and reproducible ones.
 *
 * random_*() asks the kernel every time. Nothing is buffered, so a forked child never repeats its
 * parent, and there is no state to protect: any thread may call. Use it for secrets, identities and
 * seeds.
 *
 * struct prng is deterministic: the same seed gives the same numbers on every machine. Use it for
 * simulations, for jitter and in tests, never for secrets. A prng belongs to one thread.
 */
#ifndef BASE_CORE_RANDOM_H
#define BASE_CORE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Fills n bytes from getrandom(2). Blocks only while the kernel is still gathering its first
 * entropy. If the kernel fails, it aborts the process, because no caller could continue.
 */
void random_bytes(void *p, size_t n);
uint64_t random_u64(void);

/* Uniform in [0, n), without modulo bias. n > 0. */
uint64_t random_below(uint64_t n);

/* xoshiro256**; `s` is never all zero. */
struct prng {
	uint64_t s[4];
};

/* Any seed is good, including 0: it is spread over the whole state. */
void prng_init(struct prng *g, uint64_t seed);
void prng_bytes(struct prng *g, void *p, size_t n);
uint64_t prng_u64(struct prng *g);
uint64_t prng_below(struct prng *g, uint64_t n);

/* Uniform in [0, 1), all 53 bits of the mantissa used. */
double prng_unit(struct prng *g);

#endif
