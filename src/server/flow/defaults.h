/*
 * flow_defaults - the FlowSchemas and PriorityLevelConfigurations that every cluster has.
 *
 * As upstream, mandatory objects are restored if someone changes them. The others are
 * suggestions: they follow new releases unless their annotation apf.kubernetes.io/autoupdate-spec
 * is "false".
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
 * On the state's loop: creates missing objects, restores mandatory ones, and sets in the status
 * of each FlowSchema whether its level exists. A failed write is retried at the next change.
 */
void flow_defaults_ensure(struct server *s);

#endif
