/*
 * services_impl - what the files of services share.
 */
#ifndef SERVER_SERVICES_IMPL_H
#define SERVER_SERVICES_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "server/services.h"

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

struct services {
	struct server *server;
	struct address cidrs[2]; /* of the flags */
	size_t ncidrs;
	struct service_families families;
	VEC(struct service_cidr) known; /* in the order of names, "kubernetes" first */
	int64_t port_first, port_last;
	char ports_text[16];
	uint32_t *ports_used, *ports_reserved; /* how often, by number less port_first */
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

void services_on_work(struct loop_timer *t);
void services_on_repair(struct loop_timer *t);

#endif
