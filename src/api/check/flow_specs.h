/*
 * flow_specs - the default FlowSchemas and PriorityLevelConfigurations of upstream's clusters.
 *
 * Mandatory ones come first: validation rejects changes to their specs.
 */
#ifndef API_CHECK_FLOW_SPECS_H
#define API_CHECK_FLOW_SPECS_H

#include <stdbool.h>
#include <stddef.h>

enum flow_kind { FLOW_SCHEMA, FLOW_LEVEL };
enum { FLOW_MANDATORY = 2 }; /* of each kind */

struct flow_default {
	const char *name;
	bool mandatory;
	const char *spec; /* JSON */
};

const struct flow_default *flow_defaults(enum flow_kind kind, size_t *ret_n);

#endif
