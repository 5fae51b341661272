/*
 * port_record - the allocated node ports, as the servers on one store record them.
 *
 * One ConfigMap with a readable list: "30080,30443-30450". A change replaces the whole list, on
 * the condition that it is still the one that was read. So if two servers want the same port, one
 * is first and the other gets a conflict. Upstream uses a RangeAllocation, a kind of its own that
 * clients do not see.
 *
 * Threads: reading and printing on any thread, the rest on the state's loop.
 */
#ifndef SERVER_SERVICES_PORT_RECORD_H
#define SERVER_SERVICES_PORT_RECORD_H

#include "api/schema/schema.h"
#include "api/services/port_set.h"
#include "base/core/arena.h"
#include "base/json/json.h"

#define PORT_RECORD_NS   STR("kube-system")
#define PORT_RECORD_NAME STR("devplane-node-ports")
#define PORT_RECORD_KEY  STR("kube-system/devplane-node-ports")

struct ensure;

/* Returns false, and no ports, if the text is not such a list in ascending order. */
bool port_record_read(struct str text, struct port_set *ret_ports);
/* In the arena. */
struct str port_record_print(const struct port_set *ports, struct arena *a);

const struct schema_kind *port_record_kind(void);

/* The ports in the ConfigMap. */
bool port_record_of(const struct json *tree, struct port_set *ret_ports);

/* Creates the ConfigMap or changes it; does nothing if it already has these ports. */
void port_record_write(struct ensure *e, const struct port_set *ports);

#endif
