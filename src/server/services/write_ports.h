/*
 * write_ports - the node ports that a pending write holds, over all of its tries.
 *
 * A write may be decided several times, and a webhook that was called for it has seen its port
 * numbers. So the next try takes the same ports again. Ports that it no longer uses are returned.
 *
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
	struct port_set used; /* by the current try */
	struct port_set locked; /* those of `mine` that the record has for this write */
	struct port_set lost; /* the current try wanted it, but another writer was first */
	uint16_t *chosen; /* by place: the port chosen last, or 0 */
	size_t n;
	int64_t next_shown; /* for a dry run */
};

void write_ports_init(struct write_ports *p, struct services *services, struct arena *arena,
		      bool dry_run);

/* Begins a try. Its ports have places below `n`. */
void write_ports_begin(struct write_ports *p, size_t n);
/* All ports are chosen: returns those that earlier tries took and this one does not use. */
void write_ports_settle(struct write_ports *p);
/*
 * The write is over: returns all ports; those that were written are counted through the service.
 * `unknown`: the outcome of the write is not known.
 */
void write_ports_return(struct write_ports *p, bool unknown);

/* Whether the current try uses it. */
bool write_ports_uses(const struct write_ports *p, int64_t port);
/* Takes this port. Returns false if it is outside the range, or taken (also by this try). */
bool write_ports_take(struct write_ports *p, int64_t port);
/* Takes any port for this place, if possible the previous one; 0: all are taken. */
int64_t write_ports_take_any(struct write_ports *p, size_t place);

/* --- if several servers share the store ------------------------------------------------- */

/*
 * The ports of this try that are not locked yet. Ports that other servers have locked meanwhile
 * become lost.
 */
struct port_set write_ports_to_lock(struct write_ports *p);
/* These ports were locked. */
void write_ports_locked(struct write_ports *p, const struct port_set *got);
/* Whether the port was chosen for this place, and not requested by the client. */
bool write_ports_chose(const struct write_ports *p, size_t place, int64_t port);

#endif
