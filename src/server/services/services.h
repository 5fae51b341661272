/*
 * services - addresses and node ports of services: which are free, and who has the others.
 *
 * An address belongs to the service that the IPAddress object of its name points to. Making that
 * object is the lock, for this server and for others on the same store; it is made before the
 * service is written, and deleted after the service let the address go. What a crash left between
 * the two is found by a look at all of them, from time to time: an IPAddress without its service
 * goes after a minute, a service's address without one gets it.
 *
 * Node ports are counted from the services themselves; a port that a write under way is about to
 * take is reserved. Where several servers share the store, ports are locked as well, in one record
 * (port_record.h) that is changed before the service is written and after it let the port go.
 * Threads: the state's loop.
 */
#ifndef SERVER_SERVICES_SERVICES_H
#define SERVER_SERVICES_SERVICES_H

#include "api/services/port_set.h"
#include "api/services/service.h"
#include "base/core/list.h"
#include "server/engine/state.h"
#include "server/services/range.h"

struct ensure;
struct server;
struct server_opts;
struct services;

enum { SERVICES_OBSERVERS = 4 };

/* Reads the flags: --service-cluster-ip-range and --service-node-port-range; NULL: upstream's. */
int services_new(struct server *s, const struct server_opts *opts, struct services **ret_services,
		 struct error *err);

/* Fills in the observers of services, IPAddresses, ServiceCIDRs and the record of node ports. */
void services_observe(struct services *sv, struct state_observer out[static SERVICES_OBSERVERS]);

/* Begins to look after what is there; when the namespaces are. */
void services_start(struct services *sv);
void services_stop(struct services *sv);
void services_free(struct services *sv); /* when the state is stopped */

/* --- addresses ---------------------------------------------------------------------- */

const struct service_families *services_families(const struct services *sv);

/* The ranges of the flags, as an array of texts; and the first address of the first. */
struct json *services_cidrs(const struct services *sv, struct arena *a);
struct address services_first(const struct services *sv);

/* Whether there is a range of the family that is ready. */
bool services_has_family(const struct services *sv, bool is4);
/* Whether some range has it. */
bool services_has(const struct services *sv, const struct address *ip);
/* Whether there is an IPAddress of it, pending ones included. */
bool services_is_taken(const struct services *sv, const struct address *ip);
/* Whether it is taken by nobody any more: its service does not have it, or is not there. */
bool services_is_left(const struct services *sv, const struct address *ip);

/* A free address of the family, never services_first(); false when all are taken. */
bool services_pick(struct services *sv, bool is4, struct address *ret_ip);
/* What a dry run shows in place of one. */
struct address services_shown(const struct services *sv, bool is4);

/* The IPAddress of a service; nothing when there is one of that name. */
void services_lock(struct ensure *e, const struct address *ip, struct str ns, struct str name);

/* Soon deletes the IPAddress, if it is this service's and the service does not have the address. */
void services_release(struct services *sv, struct str ip, struct str ns, struct str name);

/* --- node ports --------------------------------------------------------------------- */

/* "30000-32767". */
const char *services_ports_text(const struct services *sv);
bool services_has_port(const struct services *sv, int64_t port);
/* By a service, a write under way, or as the record has it. */
bool services_is_port_taken(const struct services *sv, int64_t port);
/* Reserved for a write under way: not taken by others until it is given back. */
void services_reserve_port(struct services *sv, int64_t port);
void services_return_port(struct services *sv, int64_t port);
/* A free one, not reserved yet; 0 when all are taken. */
int64_t services_pick_port(struct services *sv);

/* Whether ports must be locked, too: others write to the store. What follows is for that. */
bool services_locks_ports(const struct services *sv);

/* What a write wants to have in the record. Alive until done(). */
struct port_lock {
	/* Reserved for the write; none: only what was let go is taken out of the record. */
	struct port_set wanted;
	int64_t deadline_ns; /* of the monotonic clock: then there is no use in trying on */
	/*
	 * Once. err NULL: what is in `wanted` is locked; what is no more in it was in the record
	 * before.
	 */
	void (*done)(struct port_lock *l, const struct error *err);
	void *arg;
	/* Private. */
	struct list link;
};

/* Writes the record, again when somebody else changed it first; done() may come from within. */
void services_lock_ports(struct services *sv, struct port_lock *l);

/* The write is over, or does not want it: `unused` when it is certain that it did not get it. */
void services_unlock_port(struct services *sv, int64_t port, bool unused);

/* Whether the record has it. */
bool services_is_port_recorded(const struct services *sv, int64_t port);
/* Whether it is taken by the record alone, which is about to be changed. 0: any port. */
bool services_is_port_left(const struct services *sv, int64_t port);

#endif
