/*
 * managed_entry - the list metadata.managedFields, read into an array and printed again.
 * Layer-private, for managed_*.c.
 */
#ifndef API_MANAGED_ENTRY_H
#define API_MANAGED_ENTRY_H

#include "base/json/json.h"

struct managed_writer; /* api/managed/managed.h */

struct managed_entry {
	struct str manager, operation, api_version, subresource;
	struct str time; /* as printed; p NULL: none */
	int64_t seconds; /* of the time; 0: none */
	struct json *set;
	bool gone; /* not printed any more */
};

struct managed_entries {
	struct managed_entry *v;
	size_t n;
};

/*
 * Reads a list (may be NULL), whose sets then belong to the entries. There is room for two
 * more. False when any entry is none that upstream would read.
 */
bool managed_entries_read(struct arena *a, struct json *list, struct managed_entries *ret_entries);

/* In upstream's order: applied ones first, then by age and name. */
struct json *managed_entries_print(struct arena *a, struct managed_entries *entries);

static inline bool managed_is_update(const struct managed_entry *e)
{
	return str_eqz(e->operation, "Update");
}

/*
 * The entry of that operation and writer, or NULL. Who applies has one entry whatever the
 * version; who updates has one for each.
 */
struct managed_entry *managed_entries_find(const struct managed_entries *entries,
					   struct str operation,
					   const struct managed_writer *writer);

/* Adds one, now, with the set; the caller knows that there is none. */
struct managed_entry *managed_entries_add(struct arena *a, struct managed_entries *entries,
					  struct str operation, const struct managed_writer *writer,
					  struct json *set);

/* Makes the time of the entry the writer's. */
void managed_entry_touch(struct arena *a, struct managed_entry *e,
			 const struct managed_writer *writer);

/* More Update entries than are kept: the oldest are folded into "ancient-changes". */
void managed_entries_cap(struct arena *a, struct managed_entries *entries);

#endif
