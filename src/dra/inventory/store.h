/*
 * inventory_store - private data of an inventory, for the files of this folder.
 */
#ifndef DRA_INVENTORY_STORE_H
#define DRA_INVENTORY_STORE_H

#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "dra/inventory/content.h"

typedef VEC(struct inventory_slice *) inventory_slices;

struct inventory {
	struct inventory_features features;
	struct map slices; /* name -> struct inventory_slice */
	struct omap pools; /* "driver/pool" -> struct inventory_pool */
	struct map pool_keys; /* the same; a lookup touches less memory than in a tree */
	struct map claims; /* "namespace/name" -> struct inventory_claim */
	struct map classes; /* name -> struct inventory_class_entry */
	struct omap rules; /* name -> struct inventory_rule */
	struct map programs; /* text -> struct inventory_program */
	struct list programs_used; /* most recently used first */
	struct list dirty; /* pools whose slices changed */
	struct map nodes; /* name -> first slice that names the node; see slice->local */
	struct map existing; /* existing nodes: name -> struct inventory_existing */
	struct map lost; /* nodes that are dead: name -> struct inventory_lost; not in `existing` */
	bool nodes_known; /* `existing` is complete, see inventory_know_nodes() */
	struct map choices; /* text of a node selector in use -> struct inventory_choice */
	uint64_t matches_version; /* how often `matched` of some choice changed */
	uint64_t nodes_version; /* how often `existing` or nodes_known changed */
	/* Slices that are not tied to one node; sorted unless wide_unsorted. */
	inventory_slices wide;
	bool wide_unsorted;
	uint64_t ids; /* last ID given to a class, program or slice */
	struct inventory_answers *answers; /* NULL: no answer is cached yet */
	size_t program_bytes; /* of programs of claims' selectors */
	struct inventory_counts counts;
	size_t ndevices; /* of current generations */
	size_t bytes; /* of slices, claims, classes, rules and programs */
};

/* --- memory of one object ----------------------------------------------------------- */

/*
 * pack - builds an object as one block of memory.
 *
 * The same function reads a tree twice: first to measure, into scratch memory, then into a block of
 * exactly that size. Structs lie in front, text behind them. Repeated texts and names are stored
 * once.
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
/* Ends measuring and allocates the block. Everything allocated before becomes invalid. */
void pack_allocate(struct pack *p);
void pack_release(struct pack *p); /* not the block */

/* Returns zeroed memory. */
void *pack_alloc(struct pack *p, size_t n, size_t align);
struct str pack_text(struct pack *p, struct str s);
/*
 * The same for text that is read often: it lies in front, behind the struct that was allocated
 * last, and is not shared with equal texts.
 */
struct str pack_near(struct pack *p, struct str s);
struct str *pack_texts(struct pack *p, const struct json *array); /* NULL: empty */

/* Returns the key "a/b", in scratch memory. */
struct str pack_joined(struct pack *p, struct str a, struct str b);

#define PACK_NEW(p, type)      ((type *)pack_alloc((p), sizeof(type), _Alignof(type)))
#define PACK_ARRAY(p, type, n) ((type *)pack_alloc((p), sizeof(type) * (n), _Alignof(type)))

/* --- slices ------------------------------------------------------------------------- */

/* Reads a ResourceSlice into one block, *ret_slice. Does not set its pool. */
int inventory_slice_read(const struct inventory_features *features, const struct json *v,
			 struct inventory_slice **ret_slice, struct str *ret_driver,
			 struct str *ret_pool, struct error *err);

void inventory_taint_read(struct pack *p, const struct json *v, struct inventory_taint *ret_taint);

/* --- pools -------------------------------------------------------------------------- */

/* Drivers have no slash, so that keys of pools ("driver/pool") are unambiguous. */
static inline bool inventory_driver_valid(struct str driver)
{
	return driver.n > 0 && str_chr(driver, '/') < 0;
}

/* Returns the pool, or NULL. Does not settle. */
struct inventory_pool *inventory_pool_find(const struct inventory *inv, struct str driver,
					   struct str name);
struct inventory_pool *inventory_pool_need(struct inventory *inv, struct str driver,
					   struct str name);
void inventory_pool_dirty(struct inventory *inv, struct inventory_pool *pool);
/* Frees the pool if neither slices nor claims refer to it. */
void inventory_pool_drop(struct inventory *inv, struct inventory_pool *pool);
void inventory_pool_free(struct inventory_pool *pool);
/* Recomputes a dirty pool. */
void inventory_pool_settle(struct inventory *inv, struct inventory_pool *pool);

/* --- faults, of some slices of a pool ----------------------------------------------- */

/* Return the first fault in upstream's words, in the arena, or an empty text. */
struct str inventory_name_fault(struct inventory_slice *const *slices, size_t n, struct arena *a);
struct str inventory_counter_fault(struct inventory_slice *const *slices, size_t n,
				   const struct inventory_counter *counters, uint32_t ncounters,
				   struct arena *a);

/*
 * Returns the counters of the slices, sorted by set and name, on the heap, or NULL without
 * counters.
 */
struct inventory_counter *inventory_counters(struct inventory_slice *const *slices, size_t n,
					     uint32_t *ret_n);
/* Returns the index of the counter, or UINT32_MAX if not found. */
uint32_t inventory_counter_find(const struct inventory_counter *list, uint32_t n,
				const struct inventory_consumption *c);

/*
 * The faults that make a pool unusable for a node. As upstream: a pool is complete for a node that
 * sees the expected number of slices, and only names of devices that the node sees count as
 * duplicates. If the node sees enough slices though there are more, the others are not checked.
 */
struct inventory_checks {
	bool incomplete; /* the node sees too few slices: unusable */
	bool names; /* unusable if two devices that the node sees have the same name */
	bool pool_counters; /* unusable if the pool has a counter_fault */
	bool seen_counters; /* unusable if the slices that the node sees have such a fault */
};

/* For a node that sees n slices of a pool, `first` being the first by name. All false: usable. */
struct inventory_checks inventory_checks(const struct inventory *inv,
					 const struct inventory_slice *first, size_t n);

/* Which nodes can use a faulty pool (inventory/verdict.c). NULL allowed. */
size_t inventory_verdicts_bytes(const struct inventory_verdicts *v);
void inventory_verdicts_free(struct inventory_verdicts *v);

/* Whether a sum may have saturated. Then nothing can be subtracted from it. */
static inline bool inventory_full(struct quantity q)
{
	const __int128 enough = (__int128)INT64_MAX * INT64_MAX;

	return q.nano > enough || q.nano < -enough;
}

/*
 * Call this when the use of a device of a clean pool appears (`linked`), vanishes, or starts or
 * stops holding the device. Updates the device, and charges its counters by `sign` (1, 0 or -1).
 * Returns false if a counter is saturated: then the pool must be recomputed.
 */
bool inventory_pool_use(struct inventory_pool *pool, struct inventory_use *use, bool linked,
			int sign);

/* Sets the rules that may apply to a new pool. */
void inventory_pool_rules(const struct inventory *inv, struct inventory_pool *pool);

/* --- nodes -------------------------------------------------------------------------- */

void inventory_index_add(struct inventory *inv, struct inventory_slice *slice);
void inventory_index_remove(struct inventory *inv, struct inventory_slice *slice);
void inventory_index_release(struct inventory *inv);
size_t inventory_index_bytes(const struct inventory *inv);

/* --- existing nodes and node selectors ---------------------------------------------- */

/*
 * A node selector that indexed slices, or their devices, use: the existing nodes that it matches.
 * It is evaluated for all nodes when its first user comes, and then only for nodes that change.
 */
struct inventory_choice {
	struct str text;
	struct node_selector selector;
	uint32_t users;
	struct map matched; /* name -> struct inventory_existing */
	uint64_t version; /* how often `matched` changed */
	struct arena arena;
};

/* Counts a slice, which is added to the index or removed, as user of its selectors. */
void inventory_choices_add(struct inventory *inv, const struct inventory_slice *slice);
void inventory_choices_remove(struct inventory *inv, const struct inventory_slice *slice);
/* Returns NULL if `nodes` is no node selector, or no indexed slice uses it. */
const struct inventory_choice *inventory_choice(const struct inventory *inv,
						const struct inventory_nodes *nodes);
/* Whether `nodes` is a node selector, and the node is the only existing one that it matches. */
bool inventory_only_node(const struct inventory *inv, const struct inventory_nodes *nodes,
			 struct str node);
void inventory_existing_release(struct inventory *inv);

/* The node is not lost, or not any more. */
void inventory_found_node(struct inventory *inv, struct str name);
void inventory_lost_release(struct inventory *inv);
size_t inventory_existing_bytes(const struct inventory *inv);

/* --- claims, classes ---------------------------------------------------------------- */

void inventory_claims_release(struct inventory *inv);
void inventory_classes_release(struct inventory *inv);
/* Frees programs that were not used lately. */
void inventory_programs_trim(struct inventory *inv);

void inventory_answers_release(struct inventory *inv);

#endif
