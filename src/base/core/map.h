/*
 * map - a hash map from text to pointers.
 *
 * Keys are borrowed: the owner of a value keeps its key's bytes alive and unchanged while it is in
 * the map, usually by storing the key inside the value. Values are never NULL. The order of
 * iteration is arbitrary and differs between processes; use an omap if order matters.
 *
 * The hash is keyed with a secret of the process, so nobody can send colliding keys on purpose. The
 * table doubles before it is more than 7/8 full and does not shrink; an entry costs 24 bytes times
 * that slack. The map has no limit of its own: its user limits the number of values.
 * Threads: one at a time.
 */
#ifndef BASE_CORE_MAP_H
#define BASE_CORE_MAP_H

#include "base/core/str.h"

struct map_slot;

struct map {
	struct map_slot *slots; /* NULL until the first entry */
	uint32_t n; /* entries */
	uint32_t mask; /* number of slots - 1, a power of two less one */
	uint64_t seed; /* 0: not chosen yet (only while empty) */
};

/* Allocates nothing; the first entry does. */
void map_init(struct map *m);

/* The same with the caller's seed, which makes iteration reproducible. */
void map_init_seeded(struct map *m, uint64_t seed);

/* Frees its memory. It is then empty, and may be filled again. */
void map_release(struct map *m);

/* The same, after freeing each value. */
void map_free_values(struct map *m);

/* Empties it and keeps the memory. */
void map_clear(struct map *m);

/* Makes room for `n` entries in total, so that adding them does not rehash. */
void map_reserve(struct map *m, size_t n);

/* The value, or NULL. */
void *map_get(const struct map *m, struct str key);

/*
 * Maps key to value (not NULL) and returns the old value, or NULL. The new key's bytes replace the
 * old one's, so the old value may be freed together with its key.
 */
void *map_put(struct map *m, struct str key, void *value);

/* Removes the entry and returns its value, or NULL. */
void *map_remove(struct map *m, struct str key);

/*
 * Iterates: set *at to 0 and call until false. The map must not change
 * meanwhile, not even by removing the current entry; map_put() of a key that
 * is already there is no change in this sense.
 *
 *	size_t at = 0;
 *	void *value;
 *
 *	while (map_next(&m, &at, &key, &value))
 */
bool map_next(const struct map *m, size_t *at, struct str *ret_key, void **ret_value);

static inline void map_release_cleanup(struct map *m)
{
	map_release(m);
}

/*
 * SipHash-1-3 of the bytes with a 64-bit seed: the same on every machine, and unpredictable without
 * the seed. Also used for sharding.
 */
uint64_t hash_bytes(struct str s, uint64_t seed);

/* A secret of this process to seed with; the same at every call. */
uint64_t hash_process_seed(void);

#endif
