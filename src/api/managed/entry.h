/*
 * managed_entry - reads the list metadata.managedFields into an array and prints it again.
 * Layer-private, for managed/.
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
	bool gone; /* no longer printed */
};

struct managed_entries {
	struct managed_entry *v;
	size_t n;
};

/*
 * Reads a list (may be NULL). Its sets then belong to the entries. The array has space for two
 * more. Returns false if upstream could not read one of the entries.
 */
bool managed_entries_read(struct arena *a, struct json *list, struct managed_entries *ret_entries);

/* Prints the list in upstream's order: Apply entries first, then by age and name. */
struct json *managed_entries_print(struct arena *a, struct managed_entries *entries);

static inline bool managed_is_update(const struct managed_entry *e)
{
	return str_eqz(e->operation, "Update");
}

/*
 * Returns the entry of that operation and writer, or NULL. An applier has one entry for all
 * versions; an updater has one per version.
 */
struct managed_entry *managed_entries_find(const struct managed_entries *entries,
					   struct str operation,
					   const struct managed_writer *writer);

/* Adds an entry with the set and the writer's time. The caller knows that it does not exist. */
struct managed_entry *managed_entries_add(struct arena *a, struct managed_entries *entries,
					  struct str operation, const struct managed_writer *writer,
					  struct json *set);

/* Sets the time of the entry to the writer's. */
void managed_entry_touch(struct arena *a, struct managed_entry *e,
			 const struct managed_writer *writer);

/* If there are too many Update entries, merges the oldest into "ancient-changes". */
void managed_entries_cap(struct arena *a, struct managed_entries *entries);

#endif
