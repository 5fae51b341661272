/*
 * server_facts - for fuzz targets: facts about a server that hold whatever its clients do.
 *
 * A client remembers the answers that it got, and compares them with the committed state. If two
 * writes of one kind were under way together, or one got no answer, their outcome is not certain,
 * and nothing is concluded from them.
 *
 *  - An acknowledged object exists with its uid until somebody deletes it; a deleted one does not.
 *  - Each created object has a higher resourceVersion than every write acknowledged before its
 *    request was sent. A list is at least as new. Events of a watch come in the order of their
 *    resourceVersions.
 *  - No request succeeds for a user without the right; a watch ends 30 s after its user lost the
 *    right.
 *  - Accounted memory is within the limits of the open connections, and the heap within that and a
 *    constant. When all connections are gone, no memory is accounted, no request is open and the
 *    heap is as before.
 *  - Compiling expressions stays within the budget of each write, and no step takes more turns than
 *    its time allows.
 */
#ifndef FUZZ_SERVER_FACTS_H
#define FUZZ_SERVER_FACTS_H

#include "server_world.h"

struct metrics_counter;
struct metrics_gauge;

enum { FACTS_NAMES = 4 };
enum facts_used { FACTS_NOBODY, FACTS_STRANGERS, FACTS_USERS };
enum facts_there { FACTS_UNKNOWN, FACTS_PRESENT, FACTS_ABSENT };

struct facts_right {
	bool revoked;
	int64_t since_ms; /* of the acknowledged revocation */
	unsigned grants;
};

struct facts_kind {
	unsigned under_way; /* writes */
	int64_t unsure_until_ms; /* a write without an answer may still happen until then */
	enum facts_there there[FACTS_NAMES];
	char uid[FACTS_NAMES][48];
};

struct facts {
	struct world *w;
	struct facts_right rights[WORLD_USERS];
	struct facts_kind kinds[WORLD_KINDS];
	enum facts_used used_by[WORLD_CONNS]; /* connections, since they were opened */
	int64_t revision; /* the highest one acknowledged */
	size_t heap; /* at the beginning */
	struct metrics_gauge *memory;
	struct metrics_counter *compiled;
	double compiled_before;
	uint64_t turns_before;
	int64_t ms_before;
	unsigned writes, definitions; /* since the last step, and those under way */
};

/* A request of a client. The owner sets what is above the line, and sends `ask`. */
struct facts_ask {
	struct world_ask ask; /* first: it is freed as this */
	struct facts *f;
	enum world_user user;
	enum world_kind kind;
	unsigned name;
	char verb; /* create, patch of any form, delete, Delete a collection, get, list, watch */
	bool plain; /* its query says nothing about versions */
	/* --- */
	bool overlapped;
	struct facts_right right; /* when it was sent */
	int64_t revision;
	int64_t seen; /* by a watch */
	bool changed; /* a watch got an event that is not part of the initial state */
};

void facts_name(enum world_kind kind, unsigned name, char *buf, size_t size);

void facts_begin(struct facts *f, struct world *w);

/* The ask is about to be sent on this connection; sets its callbacks. */
void facts_sent(struct facts_ask *k, unsigned conn);

void facts_revoke(struct facts *f, enum world_user user);
void facts_grant(struct facts *f, enum world_user user);

/* After each step; at the end, when all connections have been cut for a second. */
void facts_check(struct facts *f);
void facts_check_end(struct facts *f);

#endif
