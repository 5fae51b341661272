/*
 * services_impl - shared by the files of services.
 */
#ifndef SERVER_SERVICES_SERVICES_IMPL_H
#define SERVER_SERVICES_SERVICES_IMPL_H

#include "api/services/port_set.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/vec.h"
#include "server/services/services.h"

/* An address that a service uses, or that has an IPAddress, or both. */
struct service_ip {
	char ip[ADDRESS_TEXT];
	char *user; /* "namespace/name" of the service that uses it; or NULL */
	char *parent; /* the service that its IPAddress names; or NULL */
	bool foreign; /* another controller manages the IPAddress */
	bool queued;
	char *left; /* the service that released it; or NULL */
	int64_t created_s; /* creation time of the IPAddress, in seconds since 1970 */
};

/* A ServiceCIDR. */
struct service_cidr {
	char *name;
	struct service_range ranges[2];
	size_t n;
	bool ready;
};

/*
 * Node ports. The fields after `held` are used only if several servers share the store: then the
 * record (port_record.h) says which ports any server has taken.
 */
struct service_ports {
	int64_t first, last;
	char text[16];
	uint32_t *used, *reserved; /* use counts, indexed by port - first */
	struct port_set in_use, held; /* the same as sets: ports with a count above 0 */
	struct port_set recorded; /* ports in the committed record */
	struct port_set locked; /* recorded ports for pending writes of this server */
	struct port_set left; /* to be removed from the record, unless this server uses them */
	struct port_set suspects; /* unused at the last periodic check */
	bool damaged; /* the record cannot be parsed */
	/* The record is written once at a time, for all locks that wait when the write begins. */
	struct list waiting, asked; /* struct port_lock */
	bool busy;
	int64_t base; /* revision of the record that is being replaced; 0: it does not exist */
	struct job sync;
	struct loop_timer work;
};

struct services {
	struct server *server;
	struct address cidrs[2]; /* from the flags */
	size_t ncidrs;
	struct service_families families;
	VEC(struct service_cidr) known; /* sorted by name, "kubernetes" first */
	struct service_ports ports;
	struct map ips; /* text -> struct service_ip */
	VEC(struct service_ip *) queue; /* to be checked */
	struct loop_timer work, repair;
	bool started;
};

const struct schema_kind *services_kind(void);
const struct schema_kind *services_address_kind(void);

/* The entry of an address; created if `make` is set and it does not exist. */
struct service_ip *services_ip(struct services *sv, struct str ip, bool make);
/* Removes an entry that has no user, no IPAddress and no pending work. */
void services_ip_settle(struct services *sv, struct service_ip *e);

/* "namespace/name"; the caller frees it. */
char *services_key(struct str ns, struct str name);

/* Checks the address at the end of this turn. */
void services_look_at(struct services *sv, struct service_ip *e);

/* Parses the flag; NULL: upstream's default. */
int services_ports_init(struct services *sv, const char *text, struct error *err);
void services_ports_release(struct services *sv);

/* The ports of a service have changed; each of the two specs may be NULL. */
void services_ports_changed(struct services *sv, const struct json *now, const struct json *before);
void services_ports_reset(struct services *sv);

/* Observers of ConfigMaps, for the record. */
void services_ports_on_record(void *arg, struct object *now, struct object *before);
void services_ports_on_record_reset(void *arg);

/* The periodic check of all ports. */
void services_ports_repair(struct services *sv);

void services_on_work(struct loop_timer *t);
void services_on_repair(struct loop_timer *t);

#endif
