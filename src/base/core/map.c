/*
 * Open addressing with linear probing in Robin Hood order: along a run of occupied slots the
 * entries are sorted by their home slot. So a search can stop at the first entry that is nearer to
 * its home than the search is, and a miss costs about as much as a hit even at 7/8 full. An
 * insertion shifts the rest of the run up by one, a removal shifts it back, and there are no
 * tombstones to slow down a map that lives for months.
 *
 * A slot keeps 32 bits of the hash. They determine the home slot, so growing never reads keys, and
 * they distinguish nearly all keys without following the pointer. Zero marks a free slot.
 */
#include "base/core/map.h"

#include <assert.h>
#include <sys/auxv.h>

#include "base/core/compiler.h"
#include "base/core/mem.h"

enum { MAP_FIRST = 8 };

struct map_slot {
	const char *key;
	uint32_t len;
	uint32_t hash; /* 0: the slot is free */
	void *value;
};

struct sip {
	uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

static inline void sip_round(struct sip *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = rotate(s->b, 13) ^ s->a;
	s->d = rotate(s->d, 16) ^ s->c;
	s->a = rotate(s->a, 32) + s->d;
	s->c += s->b;
	s->d = rotate(s->d, 21) ^ s->a;
	s->b = rotate(s->b, 17) ^ s->c;
	s->c = rotate(s->c, 32);
}

static inline void sip_absorb(struct sip *s, uint64_t word, int rounds)
{
	s->d ^= word;
	for (int i = 0; i < rounds; i++)
		sip_round(s);
	s->a ^= word;
}

/* The rounds are parameters only for a test against the published 2-4 vectors. */
static inline uint64_t sip_hash(struct str in, uint64_t k0, uint64_t k1, int rounds, int last)
{
	struct sip s = { .a = k0 ^ UINT64_C(0x736f6d6570736575),
			 .b = k1 ^ UINT64_C(0x646f72616e646f6d),
			 .c = k0 ^ UINT64_C(0x6c7967656e657261),
			 .d = k1 ^ UINT64_C(0x7465646279746573) };
	size_t left = in.n;
	uint64_t word;

	for (; left >= sizeof(word); left -= sizeof(word), in.p += sizeof(word)) {
		memcpy(&word, in.p, sizeof(word));
		sip_absorb(&s, word, rounds);
	}
	word = 0;
	if (left)
		memcpy(&word, in.p, left);
	sip_absorb(&s, word | (uint64_t)in.n << 56, rounds);
	s.c ^= 0xff;
	for (int i = 0; i < last; i++)
		sip_round(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}

uint64_t hash_bytes(struct str s, uint64_t seed)
{
	/* The second half of the key adds no secret; it only must differ from the first. */
	return sip_hash(s, seed, seed * UINT64_C(0x9e3779b97f4a7c15) + 1, 1, 3);
}

/*
 * The kernel gives every process 16 random bytes: a secret without state and without a system call.
 * The C library makes its stack guard from them, so they are hashed, and never used or shown
 * directly.
 */
uint64_t hash_process_seed(void)
{
	const void *random16 = (const void *)(uintptr_t)getauxval(AT_RANDOM);

	assert(random16); /* Linux has it since 2.6.29 */
	return hash_bytes(str_of(random16, 16), 0);
}

void map_init_seeded(struct map *m, uint64_t seed)
{
	*m = (struct map){ .seed = seed ? seed : 1 };
}

/* Many maps stay empty, so the seed is chosen at the first entry. */
void map_init(struct map *m)
{
	*m = (struct map){ 0 };
}

void map_release(struct map *m)
{
	free(m->slots);
	*m = (struct map){ .seed = m->seed };
}

void map_free_values(struct map *m)
{
	struct str key;
	size_t at = 0;
	void *value;

	while (map_next(m, &at, &key, &value))
		free(value);
	map_release(m);
}

void map_clear(struct map *m)
{
	if (m->n)
		memset(m->slots, 0, ((size_t)m->mask + 1) * sizeof(*m->slots));
	m->n = 0;
}

static uint32_t hash_of(const struct map *m, struct str key)
{
	uint32_t hash = (uint32_t)hash_bytes(key, m->seed);

	return hash ? hash : 1;
}

/* The distance of the entry in slot `at` from its home. */
static uint32_t distance(const struct map *m, uint32_t at)
{
	return (at - m->slots[at].hash) & m->mask;
}

/* Returns true with the entry's slot, or false with the slot where it belongs. */
static bool map_find(const struct map *m, struct str key, uint32_t hash, uint32_t *ret_at)
{
	uint32_t at = hash & m->mask;
	const struct map_slot *s = &m->slots[at];

	for (uint32_t d = 0; s->hash && distance(m, at) >= d; d++) {
		if (s->hash == hash && str_eq(str_of(s->key, s->len), key)) {
			*ret_at = at;
			return true;
		}
		at = (at + 1) & m->mask;
		s = &m->slots[at];
	}
	*ret_at = at;
	return false;
}

/* Puts an entry into slot `at`, where map_find() says that it belongs. */
static void map_insert(struct map *m, uint32_t at, struct map_slot entry)
{
	while (entry.hash) {
		struct map_slot displaced = m->slots[at];

		m->slots[at] = entry;
		entry = displaced;
		at = (at + 1) & m->mask;
	}
	m->n++;
}

/* The slot for an entry that is certainly new. */
static uint32_t map_place(const struct map *m, uint32_t hash)
{
	uint32_t at = hash & m->mask;

	for (uint32_t d = 0; m->slots[at].hash && distance(m, at) >= d; d++)
		at = (at + 1) & m->mask;
	return at;
}

static void resize(struct map *m, size_t slots)
{
	struct map old = *m;

	assert(slots <= UINT32_C(1) << 31);
	m->slots = xcalloc(slots, sizeof(*m->slots));
	m->mask = (uint32_t)(slots - 1);
	m->n = 0;
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].hash)
			map_insert(m, map_place(m, old.slots[i].hash), old.slots[i]);
	free(old.slots);
}

void map_reserve(struct map *m, size_t n)
{
	size_t have = m->slots ? (size_t)m->mask + 1 : 0;
	size_t want = MAX(have, (size_t)MAP_FIRST);

	while (n > want - want / 8)
		want *= 2;
	if (want > have)
		resize(m, want);
}

void *map_get(const struct map *m, struct str key)
{
	uint32_t at;

	if (m->n == 0 || !map_find(m, key, hash_of(m, key), &at))
		return NULL;
	return m->slots[at].value;
}

void *map_put(struct map *m, struct str key, void *value)
{
	uint32_t hash, at;
	struct map_slot entry;
	void *before;

	/*
	 * Two maps with the same seed would have the same order, and copying the larger into the
	 * smaller in that order builds a single endless run. So the map's address is part of it.
	 */
	if (UNLIKELY(!m->seed))
		m->seed = hash_process_seed() ^ (uintptr_t)m;
	hash = hash_of(m, key);
	entry = (struct map_slot){
		.key = key.p, .len = (uint32_t)key.n, .hash = hash, .value = value
	};
	assert(value && key.n <= UINT32_MAX);
	if (m->n && map_find(m, key, hash, &at)) {
		before = m->slots[at].value;
		m->slots[at] = entry;
		return before;
	}
	map_reserve(m, (size_t)m->n + 1);
	map_insert(m, map_place(m, hash), entry);
	return NULL;
}

void *map_remove(struct map *m, struct str key)
{
	uint32_t at, after;
	void *value;

	if (m->n == 0 || !map_find(m, key, hash_of(m, key), &at))
		return NULL;
	value = m->slots[at].value;
	/* The run ends at a free slot or at an entry in its home slot. */
	for (;; at = after) {
		after = (at + 1) & m->mask;
		if (!m->slots[after].hash || distance(m, after) == 0)
			break;
		m->slots[at] = m->slots[after];
	}
	m->slots[at].hash = 0;
	m->n--;
	return value;
}

bool map_next(const struct map *m, size_t *at, struct str *ret_key, void **ret_value)
{
	if (!m->slots)
		return false;
	for (; *at <= m->mask; ++*at) {
		const struct map_slot *s = &m->slots[*at];

		if (!s->hash)
			continue;
		*ret_key = str_of(s->key, s->len);
		*ret_value = s->value;
		++*at;
		return true;
	}
	return false;
}
