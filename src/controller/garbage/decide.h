/*
 * garbage_decide - what is to become of an object, given its owners.
 *
 * The rule of upstream's garbage collector, apart from how the answers were found out.
 */
#ifndef CONTROLLER_GARBAGE_DECIDE_H
#define CONTROLLER_GARBAGE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

enum garbage_class {
	GARBAGE_SOLID, /* the owner exists and stays, as far as we are concerned */
	GARBAGE_DANGLING, /* it does not exist */
	GARBAGE_WAITING, /* it is being deleted and waits for its dependents to be gone */
};

enum garbage_action {
	GARBAGE_KEEP,
	GARBAGE_UNREFER, /* keep it, without the references that are not solid */
	/* Delete in the foreground, as an owner is: it has dependents of its own. */
	GARBAGE_FOREGROUND,
	/* The same, with its references made non-blocking first: it may be part of a cycle. */
	GARBAGE_UNBLOCK_FOREGROUND,
	GARBAGE_DELETE, /* as its finalizers say, else in the background */
};

struct garbage_facts {
	const enum garbage_class *owners; /* of the object as it is now */
	size_t nowners;
	bool has_dependents;
	bool dependent_waits; /* one of them is itself deleted in the foreground */
};

enum garbage_action garbage_decide(const struct garbage_facts *f);

#endif
