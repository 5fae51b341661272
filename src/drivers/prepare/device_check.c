/* The gates of the server are unknown here, so all are on: a server drops fields that it lacks. */
#include "drivers/prepare/device_check.h"

#include "api/schema/gates.h"
#include "api/validate/validate.h"
#include "base/core/limits.h"

enum { CHECK_MAX = 16 * MIB };

/* The rest of the spec, valid in any case. */
static struct json *check_whole(struct arena *a, struct str pool, const struct json *spec)
{
	struct json *whole = NULL, *at;

	(void)json_copy(a, spec, &whole, NULL);
	json_put_str(a, whole, "driver", STR("driver"));
	at = json_need_object(a, whole, "pool");
	json_put_str(a, at, "name", pool);
	json_put_i64(a, at, "generation", 1);
	json_put_i64(a, at, "resourceSliceCount", 1);
	return whole;
}

int device_check_slice(struct str pool, const struct json *spec, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	CLEANUP(arena_release) struct arena a;
	struct field_errors errs;
	struct gates gates;
	struct validation v = { .errs = &errs, .arena = &a, .gates = &gates };
	int r = 0;

	arena_init(&a, CHECK_MAX);
	field_errors_init(&errs, &a);
	gates_init(&gates);
	for (size_t i = 0; i < GATE_COUNT; i++)
		gates.on[i] = true;
	v.kind = schema_find_kind(STR("resource.k8s.io/v1"), STR("ResourceSlice"));
	v.object = check_whole(&a, pool, spec);
	validate_type(&v, v.object,
		      schema_type_find(STR("io.k8s.api.resource.v1.ResourceSliceSpec")), NULL);
	if (field_errors_any(&errs)) {
		(void)field_error_print_body(errs.first, &text);
		r = error_set(err, ERR_INVALID, "%.*s: %.*s", STR_ARG(errs.first->path),
			      STR_ARG(buf_str(&text)));
	}
	return r;
}
