/*
 * services_impl - what the files of services share.
 */
#ifndef SERVER_SERVICES_SERVICES_IMPL_H
#define SERVER_SERVICES_SERVICES_IMPL_H

#include "api/services/port_set.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/vec.h"
#include "server/services/services.h"

/* An address that is in use, or has its object, or both. */
struct service_ip {
	char ip[ADDRESS_TEXT];
	char *user; /* "namespace/name" of the service that has it; or NULL */
	char *parent; /* the service that its IPAddress names; or NULL */
	bool foreign; /* the IPAddress is not ours to look after */
	bool queued;
	char *left; /* who let it go; or NULL */
	int64_t created_s; /* of the IPAddress */
};

/* A ServiceCIDR. */
struct service_cidr {
	char *name;
	struct service_range ranges[2];
	size_t n;
	bool ready;
};

/*
 * Node ports. What is behind `held` is of use only where several servers share the store: there
 * port_record.h's record says what is taken, by anybody.
 */
struct service_ports {
	int64_t first, last;
	char text[16];
	uint32_t *used, *reserved; /* how often, by number less `first` */
	struct port_set in_use, held; /* the same: at least once */
	struct port_set recorded; /* what the record has, as committed */
	struct port_set locked; /* of these: for writes under way here */
	struct port_set left; /* to be taken out, when nobody here has it */
	struct port_set suspects; /* nobody had it at the last look at all */
	bool damaged; /* the record cannot be read */
	/* One write of the record at a time, for all who wait when it begins. */
	struct list waiting, asked; /* struct port_lock */
	bool busy;
	int64_t base; /* revision of the record that is being changed; 0: there is none */
	struct job sync;
	struct loop_timer work;
};

struct services {
	struct server *server;
	struct address cidrs[2]; /* of the flags */
	size_t ncidrs;
	struct service_families families;
	VEC(struct service_cidr) known; /* in the order of names, "kubernetes" first */
	struct service_ports ports;
	struct map ips; /* struct service_ip, by their text */
	VEC(struct service_ip *) queue; /* to be looked at */
	struct loop_timer work, repair;
	bool started;
};

const struct schema_kind *services_kind(void);
const struct schema_kind *services_address_kind(void);

/* The entry of an address; made when there is none and `make` is set. */
struct service_ip *services_ip(struct services *sv, struct str ip, bool make);
/* Forgets an entry of which nothing is known any more. */
void services_ip_settle(struct services *sv, struct service_ip *e);

/* "namespace/name", to be freed. */
char *services_key(struct str ns, struct str name);

/* Looks at it at the end of this turn. */
void services_look_at(struct services *sv, struct service_ip *e);

/* Reads the flag; NULL: upstream's. */
int services_ports_init(struct services *sv, const char *text, struct error *err);
void services_ports_release(struct services *sv);

/* A service has these ports now; each of the two specs may be NULL. */
void services_ports_changed(struct services *sv, const struct json *now, const struct json *before);
void services_ports_reset(struct services *sv);

/* Observe ConfigMaps, for the record. */
void services_ports_on_record(void *arg, struct object *now, struct object *before);
void services_ports_on_record_reset(void *arg);

/* The look at all of them, from time to time. */
void services_ports_repair(struct services *sv);

void services_on_work(struct loop_timer *t);
void services_on_repair(struct loop_timer *t);

#endif
