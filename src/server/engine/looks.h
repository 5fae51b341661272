/*
 * looks - the objects and lists that a decision on a lane has read.
 *
 * A lane may decide a write before the state sees it (verbs/draft.h), on committed objects. This
 * records what it read, with references. The state then compares addresses: an equal address is the
 * same object in the same state, because the reference keeps the address from being used again.
 *
 * A lane cannot walk the objects of a resource, because the state changes them. So the state shows
 * a resource: it publishes the complete list of its objects, which is immutable. The first change
 * of any object of that resource withdraws the list. Until the state shows the resource again,
 * lanes cannot list it. The state does that when it has to list the resource for a write, so only
 * such resources pay for it: once after each change, a copy of one pointer for each object. A list
 * is compared by address, too. It was chosen over a counter of changes because the reader needs the
 * objects anyway, and over a copy for each namespace because these resources (classes, limit
 * ranges) seldom change.
 *
 * Threads: looks_object() and looks_list() on the lane; resource_show() and looks_are_current() on
 * the state's loop; looks_release() on either.
 */
#ifndef SERVER_ENGINE_LOOKS_H
#define SERVER_ENGINE_LOOKS_H

#include "server/engine/state.h"

struct resource_snapshot;

enum { LOOKS_MAX = 8 };

/* One object, or one list. */
struct look {
	const struct resource *resource;
	struct str ns, name; /* of the object */
	struct object *object; /* a reference; NULL: not found */
	struct resource_snapshot *list; /* a reference; NULL: it is about an object */
};

/* Zero is empty. */
struct looks {
	size_t lane;
	/* More was needed than fits, or a list that is not shown: the decision must not be used. */
	bool failed;
	size_t n;
	struct look v[LOOKS_MAX];
};

/*
 * The committed object, borrowed from the record; NULL if not found. ns and name must live as
 * long as the record.
 */
struct object *looks_object(struct looks *l, const struct resource *r, struct str ns,
			    struct str name);

/*
 * The committed objects of a compiled-in kind in one namespace (empty: all), in key order, borrowed
 * from the record.
 */
size_t looks_list(struct looks *l, const struct resource *r, struct str ns,
		  struct object *const **ret_v);

/* Lets lanes list the resource until it changes. No-op for custom kinds, and without lanes. */
void resource_show(struct resource *r);

/* Whether all that was read is still committed, and no write of it is pending. */
bool looks_are_current(const struct looks *l);

/* Drops the references and empties the record. */
void looks_release(struct looks *l);

#endif
