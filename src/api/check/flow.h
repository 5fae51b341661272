/*
 * check_flow - functions that the checks of FlowSchemas and PriorityLevelConfigurations share.
 */
#ifndef API_CHECK_FLOW_H
#define API_CHECK_FLOW_H

#include "api/check/flow_specs.h"
#include "api/validate/validate.h"

/*
 * Formats an object as upstream's errors do: all members, by their names in Go. `type` is the name
 * of its type in flowcontrol/v1.
 */
struct field_value check_flow_shown(struct validation *v, const char *type,
				    const struct json *object);

bool check_flow_known(struct str text, const struct str *known, size_t n);

/* Returns the spec that an object of this name must have; NULL if it is not mandatory. */
const struct json *check_flow_fixed(struct validation *v, enum flow_kind kind, struct str name);

#endif
