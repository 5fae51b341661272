/*
 * flow_defaults - the FlowSchemas and PriorityLevelConfigurations that every cluster has.
 *
 * As upstream's: mandatory ones are put back when somebody changes them; the others are
 * suggestions, which follow new releases until their annotation apf.kubernetes.io/autoupdate-spec
 * says "false".
 */
#ifndef SERVER_FLOW_DEFAULTS_H
#define SERVER_FLOW_DEFAULTS_H

#include "api/check/flow_specs.h"

struct arena;
struct json;
struct schema_kind;
struct server;

const struct schema_kind *flow_kind(enum flow_kind kind);

/* The whole object, in the arena. */
struct json *flow_default_tree(struct arena *a, enum flow_kind kind, const struct flow_default *d);

/*
 * Creates what is missing and puts back what must be, on the state's loop; and says in the status
 * of each FlowSchema whether its level exists. What cannot be written is tried again at the next
 * change.
 */
void flow_defaults_ensure(struct server *s);

#endif
