/*
 * garbage_decide - what to do with an object, given the state of its owners.
 *
 * The rule of upstream's garbage collector, separated from the requests that find out the facts.
 */
#ifndef CONTROLLER_GARBAGE_DECIDE_H
#define CONTROLLER_GARBAGE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

enum garbage_class {
	GARBAGE_SOLID, /* the owner exists and is not waiting for dependents */
	GARBAGE_DANGLING, /* the owner does not exist */
	GARBAGE_WAITING, /* the owner is being deleted and waits until its dependents are gone */
};

enum garbage_action {
	GARBAGE_KEEP,
	GARBAGE_UNREFER, /* keep it, but remove the references that are not solid */
	/* Delete in the foreground: an owner waits, and the object has dependents of its own. */
	GARBAGE_FOREGROUND,
	/* The same, after its references were made non-blocking: it may be part of a cycle. */
	GARBAGE_UNBLOCK_FOREGROUND,
	GARBAGE_DELETE, /* with the policy its finalizers ask for, else in the background */
};

struct garbage_facts {
	const enum garbage_class *owners; /* of the object's current owner references */
	size_t nowners;
	bool has_dependents;
	bool dependent_waits; /* one of the dependents is itself being deleted in the foreground */
};

enum garbage_action garbage_decide(const struct garbage_facts *f);

#endif
