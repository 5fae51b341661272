/*
 * write_ports - the node ports that a write under way has, over all of its tries.
 *
 * A write may be decided several times, and whoever was asked about it (a webhook) knows its
 * numbers: the next try takes the same again. What it does not take is given back.
 * Threads: the state's loop.
 */
#ifndef SERVER_SERVICES_WRITE_PORTS_H
#define SERVER_SERVICES_WRITE_PORTS_H

#include "api/services/port_set.h"
#include "base/core/arena.h"

struct services;

struct write_ports {
	struct services *services;
	struct arena *arena; /* outlives the tries */
	bool dry_run;
	struct port_set mine; /* reserved for this write */
	struct port_set used; /* in this try */
	struct port_set locked; /* of mine: in the record, for this write */
	struct port_set lost; /* this try took it, but somebody else was first */
	uint16_t *chosen; /* by place: what was chosen last, or 0 */
	size_t n;
	int64_t next_shown; /* of a dry run */
};

void write_ports_init(struct write_ports *p, struct services *services, struct arena *arena,
		      bool dry_run);

/* A try begins; its ports are at fewer than `n` places. */
void write_ports_begin(struct write_ports *p, size_t n);
/* All are chosen: gives back what an earlier try took and this one did not. */
void write_ports_settle(struct write_ports *p);
/*
 * The write is over: gives back all; what was written is counted by itself. `unknown`: nobody
 * knows whether it was.
 */
void write_ports_return(struct write_ports *p, bool unknown);

/* Whether this try has it. */
bool write_ports_uses(const struct write_ports *p, int64_t port);
/* Takes this one; false when it is in no range, or taken, by this try too. */
bool write_ports_take(struct write_ports *p, int64_t port);
/* Takes any for this place, the one it had before if it can; 0: all are taken. */
int64_t write_ports_take_any(struct write_ports *p, size_t place);

/* --- where several servers share the store ---------------------------------------------- */

/* What this try has and is not locked yet; what others locked meanwhile is lost. */
struct port_set write_ports_to_lock(struct write_ports *p);
/* These were. */
void write_ports_locked(struct write_ports *p, const struct port_set *got);
/* Whether it was chosen for this place, and not asked for. */
bool write_ports_chose(const struct write_ports *p, size_t place, int64_t port);

#endif
