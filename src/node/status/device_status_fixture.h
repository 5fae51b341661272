/*
 * device_status_fixture - for tests: reads device health in a Pod's status. Include cmocka first.
 */
#ifndef NODE_STATUS_DEVICE_STATUS_FIXTURE_H
#define NODE_STATUS_DEVICE_STATUS_FIXTURE_H

#include "base/core/limits.h"
#include "node/pod/pod_condition.h"
#include "node/status/device_status.h"

#define FIELD "allocatedResourcesStatus"

static inline const char *text_of(struct arena *a, const struct json *v)
{
	struct buf b = BUF_INIT(MIB);
	char *copy;

	assert_int_equal(json_print(&b, v, NULL), 0);
	copy = arena_strdup(a, buf_str(&b));
	buf_release(&b);
	return copy;
}

/* The entries of a container; `list` is containerStatuses or its like. */
static inline struct json *container_field(const struct json *status, const char *list,
					   const char *name)
{
	JSON_FOREACH (it, json_getz(status, list)) {
		if (str_eqz(json_text_at(it, "name"), name))
			return json_getz(it, FIELD);
	}
	return NULL;
}

/* The DevicesHealthy condition or NULL; asserts that there is at most one. */
static inline const struct json *condition(const struct json *status)
{
	const struct json *found = NULL;

	JSON_FOREACH (it, json_getz(status, "conditions")) {
		if (!str_eqz(json_text_at(it, "type"), DEVICES_HEALTHY_CONDITION))
			continue;
		assert_null(found);
		found = it;
	}
	return found;
}

#endif
