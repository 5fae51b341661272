/*
 * quota_book - sums of what objects use of the quotas of their namespaces.
 *
 * Holds, for each object in a namespace that has quotas, what it adds to which sum, so that a
 * change costs what that object adds and no more, and taking it away undoes its adding, whatever
 * the time or other objects say by then. Where quotas come, change or go, the objects of the
 * namespace are put in anew. Pure: no I/O, no clock.
 */
#ifndef CONTROLLER_QUOTA_BOOK_H
#define CONTROLLER_QUOTA_BOOK_H

#include "api/quota/quota.h"

struct json;
struct quota_book;

struct quota_book *quota_book_new(void);
void quota_book_free(struct quota_book *b); /* NULL allowed */

/* Whether the namespace has quotas: the objects of others need not be put in. */
bool quota_book_has(const struct quota_book *b, struct str ns);

/*
 * A quota as its object is now; NULL: it is gone. True when what is counted changed: all objects of
 * the namespace have been forgotten and must be put in again.
 */
bool quota_book_set_quota(struct quota_book *b, struct str ns, struct str name,
			  const struct json *object);

/* Forgets the namespace's objects; sums are zero. */
void quota_book_clear(struct quota_book *b, struct str ns);

/* Hears which sums have become less or more, and by how much objects use less. */
struct quota_book_listener {
	void (*changed)(void *arg, struct str ns, struct str quota, bool less);
	void (*freed)(void *arg, struct str ns, struct str quota, const struct amount *amount);
	void *arg;
};

/*
 * An object as it is now (NULL: it is gone); `kind_id` tells kinds apart. The context is used
 * during the call.
 */
void quota_book_put(struct quota_book *b, unsigned kind_id, const struct quota_kind *k,
		    const struct quota_context *ctx, struct str ns, struct str name,
		    const struct json *object, const struct quota_book_listener *listener);

/* The sums of a quota, of all names that it limits; in the arena. False: there is none. */
bool quota_book_sums(const struct quota_book *b, struct str ns, struct str name, struct arena *a,
		     struct amount_list *ret_sums);

/* Objects that are held. */
size_t quota_book_count(const struct quota_book *b);

#endif
