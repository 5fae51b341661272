/*
 * quota_book - the usage of objects, summed up for the quotas of their namespaces.
 *
 * For each object in a namespace with quotas, it holds how much the object adds to which sum. So a
 * change costs only what that object adds. Removing an object undoes exactly what it added,
 * whatever the time or other objects have become. If the quotas of a namespace change, its objects
 * must be put in again. Pure: no I/O, no clock.
 */
#ifndef CONTROLLER_QUOTA_BOOK_H
#define CONTROLLER_QUOTA_BOOK_H

#include "api/quota/quota.h"

struct json;
struct quota_book;

struct quota_book *quota_book_new(void);
void quota_book_free(struct quota_book *b); /* NULL allowed */

/* Whether the namespace has quotas. Objects of other namespaces need not be put in. */
bool quota_book_has(const struct quota_book *b, struct str ns);

/*
 * Sets a quota to its current object; NULL: deleted. Returns true if the counted names changed:
 * then all objects of the namespace were dropped and must be put in again.
 */
bool quota_book_set_quota(struct quota_book *b, struct str ns, struct str name,
			  const struct json *object);

/* Drops the namespace's objects and resets its sums to zero. */
void quota_book_clear(struct quota_book *b, struct str ns);

/*
 * `changed` reports each sum that grew or shrank (`less`); `freed` reports by how much an object's
 * usage shrank.
 */
struct quota_book_listener {
	void (*changed)(void *arg, struct str ns, struct str quota, bool less);
	void (*freed)(void *arg, struct str ns, struct str quota, const struct amount *amount);
	void *arg;
};

/*
 * Sets an object to its current state (NULL: deleted). `kind_id` identifies the kind. `ctx` is
 * only used during the call.
 */
void quota_book_put(struct quota_book *b, unsigned kind_id, const struct quota_kind *k,
		    const struct quota_context *ctx, struct str ns, struct str name,
		    const struct json *object, const struct quota_book_listener *listener);

/*
 * The sums of all names that a quota limits, in the arena. Returns false if there is no such
 * quota.
 */
bool quota_book_sums(const struct quota_book *b, struct str ns, struct str name, struct arena *a,
		     struct amount_list *ret_sums);

/* The number of objects it holds. */
size_t quota_book_count(const struct quota_book *b);

#endif
