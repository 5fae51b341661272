/*
 * services - addresses and node ports of services: which are free, and which service has the
 * others.
 *
 * An address belongs to the service that the IPAddress object of its name points to. Creating
 * that object locks the address, for this server and for others on the same store. It is created
 * before the service is written, and deleted after the service has released the address. A
 * periodic check repairs what a crash left in between: an IPAddress without its service is
 * deleted after a minute, and a service's address without an IPAddress gets one.
 *
 * Node ports are counted from the services themselves. A port that a pending write is about to
 * use is reserved. If several servers share the store, ports are also locked in one record
 * (port_record.h), which is changed before the service is written and after it has released the
 * port.
 *
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

/* Reads --service-cluster-ip-range and --service-node-port-range; NULL: upstream's defaults. */
int services_new(struct server *s, const struct server_opts *opts, struct services **ret_services,
		 struct error *err);

/* Sets the observers of services, IPAddresses, ServiceCIDRs and the record of node ports. */
void services_observe(struct services *sv, struct state_observer out[static SERVICES_OBSERVERS]);

/* Starts the periodic checks. Call it when the namespaces exist. */
void services_start(struct services *sv);
void services_stop(struct services *sv);
void services_free(struct services *sv); /* after the state has stopped */

/* --- addresses ---------------------------------------------------------------------- */

const struct service_families *services_families(const struct services *sv);

/*
 * The ranges from the flags, as a JSON array of strings; and the first address of the first
 * range.
 */
struct json *services_cidrs(const struct services *sv, struct arena *a);
struct address services_first(const struct services *sv);

/* Whether a range of the family is ready. */
bool services_has_family(const struct services *sv, bool is4);
/* Whether a range contains the address. */
bool services_has(const struct services *sv, const struct address *ip);
/* Whether an IPAddress object exists for it, pending ones included. */
bool services_is_taken(const struct services *sv, const struct address *ip);
/* Whether it is taken, but no longer in use: its service is gone or has another address. */
bool services_is_left(const struct services *sv, const struct address *ip);

/* Picks a free address of the family, never services_first(). Returns false if all are taken. */
bool services_pick(struct services *sv, bool is4, struct address *ret_ip);
/* The address that a dry run shows instead of a real one. */
struct address services_shown(const struct services *sv, bool is4);

/* Creates the IPAddress for a service; does nothing if one of that name exists. */
void services_lock(struct ensure *e, const struct address *ip, struct str ns, struct str name);

/*
 * Soon deletes the IPAddress, if it belongs to this service and the service no longer has the
 * address.
 */
void services_release(struct services *sv, struct str ip, struct str ns, struct str name);

/* --- node ports --------------------------------------------------------------------- */

/* The range as text, such as "30000-32767". */
const char *services_ports_text(const struct services *sv);
bool services_has_port(const struct services *sv, int64_t port);
/* Whether a service, a pending write or the record has it. */
bool services_is_port_taken(const struct services *sv, int64_t port);
/* Reserves the port for a pending write, so that others cannot take it; and returns it. */
void services_reserve_port(struct services *sv, int64_t port);
void services_return_port(struct services *sv, int64_t port);
/* A free port, not reserved yet; 0 if all are taken. */
int64_t services_pick_port(struct services *sv);

/*
 * Whether ports must also be locked, because other servers write to the store. The functions
 * below are for that case.
 */
bool services_locks_ports(const struct services *sv);

/* The ports that a write wants to have in the record. Alive until done(). */
struct port_lock {
	/* Reserved for the write; empty: only remove released ports from the record. */
	struct port_set wanted;
	int64_t deadline_ns; /* monotonic clock: no retries after that */
	/*
	 * Called once. err NULL: the ports in `wanted` are locked; those removed from it were
	 * already in the record.
	 */
	void (*done)(struct port_lock *l, const struct error *err);
	void *arg;
	/* Private. */
	struct list link;
};

/* Writes the record, again if another writer changed it first. May call done() immediately. */
void services_lock_ports(struct services *sv, struct port_lock *l);

/*
 * The write has ended or does not want the port. `unused`: it is certain that the service does
 * not have the port.
 */
void services_unlock_port(struct services *sv, int64_t port, bool unused);

/* Whether the record has it. */
bool services_is_port_recorded(const struct services *sv, int64_t port);
/*
 * Whether only the record has it, and is about to be changed. Port 0: whether any port is like
 * that.
 */
bool services_is_port_left(const struct services *sv, int64_t port);

#endif
