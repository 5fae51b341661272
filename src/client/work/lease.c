/*
 * The whole object is written back with only its spec changed: labels and annotations of others
 * are preserved.
 */
#include "client/work/lease.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

void lease_record_release(struct lease_record *r)
{
	free(r->holder);
	*r = (struct lease_record){ NULL };
}

void lease_record_copy(struct lease_record *to, const struct lease_record *from)
{
	char *holder = xstrdup(from->holder ? from->holder : "");

	lease_record_release(to);
	*to = *from;
	to->holder = holder;
}

bool lease_record_held_by(const struct lease_record *r, const char *identity)
{
	return strcmp(r->holder ? r->holder : "", identity) == 0;
}

bool lease_record_equal(const struct lease_record *a, const struct lease_record *b)
{
	return lease_record_held_by(a, b->holder ? b->holder : "") &&
	       a->duration_s == b->duration_s && a->transitions == b->transitions &&
	       a->acquire_ns == b->acquire_ns && a->renew_ns == b->renew_ns;
}

static int64_t lease_read_time(const struct json *spec, const char *name)
{
	int64_t ns;

	if (timestamp_parse(json_text_at(spec, name), &ns, NULL) < 0)
		return 0;
	return ns;
}

static int64_t read_int(const struct json *spec, const char *name)
{
	int64_t v = 0;

	(void)json_i64(json_getz(spec, name), &v);
	return v;
}

int lease_record_read(struct str lease, struct lease_record *ret_record, struct error *err)
{
	struct arena a;
	struct json *tree, *spec;
	int r;

	arena_init(&a, REQUEST_WORK_MAX);
	r = json_parse(&a, lease, NULL, &tree, err);
	if (r < 0) {
		arena_release(&a);
		return error_set(err, ERR_PROTOCOL, "the lease is not a JSON object");
	}
	spec = json_getz(tree, "spec");
	lease_record_release(ret_record);
	*ret_record = (struct lease_record){
		.holder = str_dup(json_text_at(spec, "holderIdentity")),
		.duration_s = read_int(spec, "leaseDurationSeconds"),
		.transitions = read_int(spec, "leaseTransitions"),
		.acquire_ns = lease_read_time(spec, "acquireTime"),
		.renew_ns = lease_read_time(spec, "renewTime"),
	};
	arena_release(&a);
	return 0;
}

static void lease_set_text(struct arena *a, struct json *object, const char *name, struct str text)
{
	json_put_str(a, object, name, arena_str(a, text));
}

static void set_time(struct arena *a, struct json *spec, const char *name, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	lease_set_text(a, spec, name, timestamp_print(ns, TIMESTAMP_MICRO, text));
}

static struct json *new_lease(struct arena *a, const char *ns, const char *name)
{
	struct json *lease = json_make_object(a), *meta = json_make_object(a);

	lease_set_text(a, lease, "apiVersion", STR("coordination.k8s.io/v1"));
	lease_set_text(a, lease, "kind", STR("Lease"));
	json_setz(lease, "metadata", meta);
	lease_set_text(a, meta, "name", str_from(name));
	lease_set_text(a, meta, "namespace", str_from(ns));
	return lease;
}

static void set_spec(struct arena *a, struct json *lease, const struct lease_record *r)
{
	struct json *spec = json_getz(lease, "spec");

	if (!json_is(spec, JSON_OBJECT)) {
		spec = json_make_object(a);
		json_setz(lease, "spec", spec);
	}
	lease_set_text(a, spec, "holderIdentity", str_from(r->holder ? r->holder : ""));
	json_put_i64(a, spec, "leaseDurationSeconds", r->duration_s);
	set_time(a, spec, "acquireTime", r->acquire_ns);
	set_time(a, spec, "renewTime", r->renew_ns);
	json_put_i64(a, spec, "leaseTransitions", r->transitions);
}

int lease_record_write(const struct lease_record *r, struct str lease, const char *ns,
		       const char *name, struct buf *out, struct error *err)
{
	struct arena a;
	struct json *tree;
	int ret = 0;

	arena_init(&a, REQUEST_WORK_MAX);
	if (lease.n == 0)
		tree = new_lease(&a, ns, name);
	else
		ret = json_parse(&a, lease, NULL, &tree, err);
	if (ret == 0 && !json_is(tree, JSON_OBJECT))
		ret = error_set(err, ERR_PROTOCOL, "the lease is not a JSON object");
	if (ret == 0) {
		set_spec(&a, tree, r);
		ret = json_print(out, tree, NULL);
	}
	arena_release(&a);
	return ret;
}
