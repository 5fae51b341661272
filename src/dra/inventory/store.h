/*
 * inventory_store - the inside of an inventory, for its own files.
 */
#ifndef DRA_INVENTORY_STORE_H
#define DRA_INVENTORY_STORE_H

#include "base/core/omap.h"
#include "base/core/vec.h"
#include "dra/inventory/inventory_impl.h"

typedef VEC(struct inventory_slice *) inventory_slices;

struct inventory {
	struct inventory_features features;
	struct map slices; /* name -> struct inventory_slice */
	struct omap pools; /* "driver/pool" -> struct inventory_pool */
	struct map claims; /* "namespace/name" -> struct inventory_claim */
	struct map classes; /* name -> struct inventory_class_entry */
	struct omap rules; /* name -> struct inventory_rule */
	struct map programs; /* text -> struct inventory_program */
	struct list programs_used; /* the latest first */
	struct list dirty; /* pools whose slices changed */
	struct map nodes; /* name -> struct inventory_local */
	struct map existing; /* nodes: name -> its own text */
	bool nodes_known; /* all that exist are in it */
	uint64_t nodes_version; /* how often that changed */
	inventory_slices wide; /* that are not tied to one node, in order unless: */
	bool wide_unsorted;
	uint64_t ids; /* of classes, programs and slices: given so far */
	struct inventory_answers *answers; /* NULL: there are none yet */
	size_t program_bytes; /* of programs of claims' selectors */
	struct inventory_counts counts;
	size_t ndevices; /* of current generations */
	size_t bytes; /* of slices, claims, classes, rules and programs */
};

/* --- memory of one object ----------------------------------------------------------- */

/*
 * pack - an object as one block of memory.
 *
 * What is read from a tree is read twice by the same function: first to measure, into
 * scratch memory, then into a block of exactly that size. Structs lie in front, text behind
 * them; text and names that come again are there once.
 */
struct pack {
	struct cel_device_memory memory; /* for cel_device_read_in() */
	struct arena scratch;
	char *block; /* NULL: measuring */
	size_t front, back; /* bytes of structs and of text so far */
	size_t split; /* where text begins */
	struct map texts, names, shared;
};

void pack_init(struct pack *p);
/* Ends measuring; what was made so far must not be used any more. */
void pack_allocate(struct pack *p);
void pack_release(struct pack *p); /* not the block */

/* Cleared. */
void *pack_alloc(struct pack *p, size_t n, size_t align);
struct str pack_text(struct pack *p, struct str s);
struct str *pack_texts(struct pack *p, const struct json *array); /* NULL: empty */

/* "a/b", in scratch memory: the key of something with two names. */
struct str pack_joined(struct pack *p, struct str a, struct str b);

#define PACK_NEW(p, type)      ((type *)pack_alloc((p), sizeof(type), _Alignof(type)))
#define PACK_ARRAY(p, type, n) ((type *)pack_alloc((p), sizeof(type) * (n), _Alignof(type)))

/* --- slices ------------------------------------------------------------------------- */

/* Reads a ResourceSlice; *ret_slice is one block. Its pool is not set. */
int inventory_slice_read(const struct inventory_features *features, const struct json *v,
			 struct inventory_slice **ret_slice, struct str *ret_driver,
			 struct str *ret_pool, struct error *err);

void inventory_taint_read(struct pack *p, const struct json *v, struct inventory_taint *ret_taint);

/* --- pools -------------------------------------------------------------------------- */

/* What keys of pools rest on. */
static inline bool inventory_driver_valid(struct str driver)
{
	return driver.n > 0 && str_chr(driver, '/') < 0;
}

struct inventory_pool *inventory_pool_need(struct inventory *inv, struct str driver,
					   struct str name);
void inventory_pool_dirty(struct inventory *inv, struct inventory_pool *pool);
/* Frees it when neither slices nor claims need it. */
void inventory_pool_drop(struct inventory *inv, struct inventory_pool *pool);
void inventory_pool_free(struct inventory_pool *pool);
/* Works out a dirty pool. */
void inventory_pool_settle(struct inventory *inv, struct inventory_pool *pool);

/* --- faults, of some slices of a pool ----------------------------------------------- */

/* The first one, or empty, in the arena. */
struct str inventory_name_fault(struct inventory_slice *const *slices, size_t n, struct arena *a);
struct str inventory_counter_fault(struct inventory_slice *const *slices, size_t n,
				   const struct inventory_counter *counters, uint32_t ncounters,
				   struct arena *a);

/* The counters that slices share, by set and name, on the heap; NULL: none. */
struct inventory_counter *inventory_counters(struct inventory_slice *const *slices, size_t n,
					     uint32_t *ret_n);
/* Its place, or UINT32_MAX. */
uint32_t inventory_counter_find(const struct inventory_counter *list, uint32_t n,
				const struct inventory_consumption *c);

/* What nodes make of a pool (inventory/verdict.c); NULL allowed. */
size_t inventory_verdicts_bytes(const struct inventory_verdicts *v);
void inventory_verdicts_free(struct inventory_verdicts *v);

/* A sum that may have reached its end: parts cannot be taken away from it. */
static inline bool inventory_full(struct quantity q)
{
	const __int128 enough = (__int128)INT64_MAX * INT64_MAX;

	return q.nano > enough || q.nano < -enough;
}

/*
 * The use of a device of a clean pool appeared, vanished, or began or ceased to hold: tells
 * the device, and charges its counters by `sign` (1, 0 or -1). False: a counter is too
 * full for that, and the pool must be worked out anew.
 */
bool inventory_pool_use(struct inventory_pool *pool, struct inventory_use *use, bool linked,
			int sign);

/* Finds the rules that may concern a new pool. */
void inventory_pool_rules(const struct inventory *inv, struct inventory_pool *pool);

/* --- nodes -------------------------------------------------------------------------- */

void inventory_index_add(struct inventory *inv, struct inventory_slice *slice);
void inventory_index_remove(struct inventory *inv, struct inventory_slice *slice);
void inventory_index_release(struct inventory *inv);
size_t inventory_index_bytes(const struct inventory *inv);

/* --- claims, classes ---------------------------------------------------------------- */

void inventory_claims_release(struct inventory *inv);
void inventory_classes_release(struct inventory *inv);
/* Forgets programs that were not used lately. */
void inventory_programs_trim(struct inventory *inv);

void inventory_answers_release(struct inventory *inv);

#endif
