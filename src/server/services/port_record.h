/*
 * port_record - the node ports that are given out, as the servers on one store keep them.
 *
 * One ConfigMap, which has a list that people can read: "30080,30443-30450". Whoever changes it
 * writes all of it, on what there was: so of two who want the same port one is first, and the
 * other is told. Upstream's is a RangeAllocation, a kind of its own that no client sees.
 * Threads: what reads and prints, any; else the state's loop.
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

/* False, and no ports, when the text is no such list, in order. */
bool port_record_read(struct str text, struct port_set *ret_ports);
/* In the arena. */
struct str port_record_print(const struct port_set *ports, struct arena *a);

const struct schema_kind *port_record_kind(void);

/* What the ConfigMap says. */
bool port_record_of(const struct json *tree, struct port_set *ret_ports);

/* Makes it, or changes the one that is there; nothing when it says that already. */
void port_record_write(struct ensure *e, const struct port_set *ports);

#endif
