/*
 * inventory_store - the inside of an inventory, for its own files.
 */
#ifndef DRA_INVENTORY_STORE_H
#define DRA_INVENTORY_STORE_H

#include "base/omap.h"
#include "base/vec.h"
#include "dra/inventory_impl.h"

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
	inventory_slices wide; /* that are not tied to one node, in order unless: */
	bool wide_unsorted;
	size_t ndevices; /* of current generations */
	size_t bytes; /* of slices, claims, classes, rules and programs */
};

/* A DeviceTaintRule. */
struct inventory_rule {
	struct str name;
	bool any; /* it has a selector; without one it matches nothing */
	struct str driver, pool, device; /* p NULL: any */
	struct inventory_taint taint;
	size_t block;
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
	struct map texts, names;
};

void pack_init(struct pack *p);
/* Ends measuring; what was made so far must not be used any more. */
void pack_allocate(struct pack *p);
void pack_release(struct pack *p); /* not the block */

/* Cleared. */
void *pack_alloc(struct pack *p, size_t n, size_t align);
struct str pack_text(struct pack *p, struct str s);
struct str *pack_texts(struct pack *p, const struct json *array); /* NULL: empty */

#define PACK_NEW(p, type)      ((type *)pack_alloc((p), sizeof(type), _Alignof(type)))
#define PACK_ARRAY(p, type, n) ((type *)pack_alloc((p), sizeof(type) * (n), _Alignof(type)))

/* --- slices ------------------------------------------------------------------------- */

/* Reads a ResourceSlice; *ret_slice is one block. Its pool is not set. */
int inventory_slice_read(const struct inventory_features *features, const struct json *v,
			 struct inventory_slice **ret_slice, struct str *ret_driver,
			 struct str *ret_pool, struct error *err);

void inventory_taint_read(struct pack *p, const struct json *v, struct inventory_taint *ret_taint);

/* --- pools -------------------------------------------------------------------------- */

struct inventory_pool *inventory_pool_need(struct inventory *inv, struct str driver,
					   struct str name);
void inventory_pool_dirty(struct inventory *inv, struct inventory_pool *pool);
/* Frees it when neither slices nor claims need it. */
void inventory_pool_drop(struct inventory *inv, struct inventory_pool *pool);
void inventory_pool_free(struct inventory_pool *pool);
/* Works out a dirty pool. */
void inventory_pool_settle(struct inventory *inv, struct inventory_pool *pool);
/* Duplicates and counters of some slices of a pool: the first fault, or empty, in the arena. */
struct str inventory_pool_fault(struct inventory_slice *const *names, size_t nnames,
				struct inventory_slice *const *all, size_t n, struct arena *a);

/*
 * The use of a device of a clean pool appeared, vanished, or began or ceased to hold: tells
 * the device, and charges its counters by `sign` (1, 0 or -1).
 */
void inventory_pool_use(struct inventory_pool *pool, struct inventory_use *use, bool linked,
			int sign);

/* The rules that may concern a pool. */
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

#endif
