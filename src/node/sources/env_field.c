/*
 * The downward API: the fields of a pod that its containers can read. Paths and messages are
 * upstream's.
 */
#include "api/api_limits.h"
#include "api/schema/names.h"
#include "base/core/limits.h"
#include "base/json/quantity.h"
#include "base/text/print.h"
#include "node/sources/env.h"

/* --- fields --------------------------------------------------------------------------------- */

/* Splits "metadata.labels['x']" into path and key; returns false if it has no subscript. */
static bool split_subscript(struct str path, struct str *ret_path, struct str *ret_key)
{
	ptrdiff_t at = str_find(path, STR("['"));

	if (!str_ends(path, STR("']")) || at <= 0 || (size_t)at + 4 > path.n)
		return false;
	*ret_path = str_of(path.p, (size_t)at);
	*ret_key = str_of(path.p + at + 2, path.n - (size_t)at - 4);
	return true;
}

static int subscripted(const struct pod *pod, struct str whole, struct str path, struct str key,
		       struct arena *a, struct str *ret_value, struct error *err)
{
	bool labels = str_eqz(path, "metadata.labels");
	const char *fault;

	if (!labels && !str_eqz(path, "metadata.annotations"))
		return error_set(err, ERR_INVALID, "field label does not support subscript: %.*s",
				 STR_ARG(whole));
	fault = names_qualified(labels ? key : arena_lower(a, key));
	if (fault)
		return error_set(err, ERR_INVALID, "invalid key subscript in %.*s: %s",
				 STR_ARG(whole), fault);
	*ret_value = json_str(
		json_get(json_getz(pod->metadata, labels ? "labels" : "annotations"), key));
	return 0;
}

/* key="value" lines sorted by key, with values quoted as Go does. */
static int all_of(const struct json *map, struct arena *a, struct str *ret_value, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * ANNOTATIONS_MAX);
	struct json **v = json_sorted(a, map);

	for (size_t i = 0; i < json_count(map); i++) {
		if (i > 0)
			(void)buf_addc(&out, '\n');
		(void)buf_add_str(&out, json_key(v[i]));
		(void)buf_addc(&out, '=');
		(void)print_quoted(&out, json_str(v[i]));
	}
	if (out.overflow)
		return error_set(err, ERR_TOO_LARGE, "labels or annotations are too large");
	*ret_value = arena_str(a, buf_str(&out));
	return 0;
}

static bool is_v6(struct str ip)
{
	return str_chr(ip, ':') >= 0;
}

/* The addresses, the node's family first, joined by commas; or only the first. */
static struct str pod_ips(const struct env_context *c, struct arena *a, bool all)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * KIB);
	size_t first = 0;

	if (c->npod_ips == 0)
		return c->pod_ip;
	for (size_t i = c->npod_ips; i-- > 0 && c->host_ip.n > 0;) {
		if (is_v6(c->pod_ips[i]) == is_v6(c->host_ip))
			first = i;
	}
	if (!all)
		return c->pod_ips[first];
	(void)buf_add_str(&out, c->pod_ips[first]);
	for (size_t i = 0; i < c->npod_ips; i++) {
		if (i != first)
			(void)buf_printf(&out, ",%.*s", STR_ARG(c->pod_ips[i]));
	}
	return arena_str(a, buf_str(&out));
}

enum field {
	FIELD_ANNOTATIONS,
	FIELD_LABELS,
	FIELD_NAME,
	FIELD_NAMESPACE,
	FIELD_UID,
	FIELD_NODE,
	FIELD_ACCOUNT,
	FIELD_HOST_IP,
	FIELD_HOST_IPS,
	FIELD_POD_IP,
	FIELD_POD_IPS,
};

static const struct {
	const char *path;
	enum field field;
} fields[] = {
	{ "metadata.annotations", FIELD_ANNOTATIONS },
	{ "metadata.labels", FIELD_LABELS },
	{ "metadata.name", FIELD_NAME },
	{ "metadata.namespace", FIELD_NAMESPACE },
	{ "metadata.uid", FIELD_UID },
	{ "spec.nodeName", FIELD_NODE },
	{ "spec.host", FIELD_NODE },
	{ "spec.serviceAccountName", FIELD_ACCOUNT },
	{ "status.hostIP", FIELD_HOST_IP },
	{ "status.hostIPs", FIELD_HOST_IPS },
	{ "status.podIP", FIELD_POD_IP },
	{ "status.podIPs", FIELD_POD_IPS },
};

static int field_value(const struct pod *pod, enum field field, const struct env_context *c,
		       struct arena *a, struct str *ret_value, struct error *err)
{
	switch (field) {
	case FIELD_ANNOTATIONS:
		return all_of(json_getz(pod->metadata, "annotations"), a, ret_value, err);
	case FIELD_LABELS:
		return all_of(json_getz(pod->metadata, "labels"), a, ret_value, err);
	case FIELD_NAME:
		*ret_value = pod->name;
		break;
	case FIELD_NAMESPACE:
		*ret_value = pod->ns;
		break;
	case FIELD_UID:
		*ret_value = pod->uid;
		break;
	case FIELD_NODE:
		*ret_value = json_text_at(pod->spec, "nodeName");
		if (ret_value->n == 0)
			*ret_value = c->node_name;
		break;
	case FIELD_ACCOUNT:
		*ret_value = json_text_at(pod->spec, "serviceAccountName");
		break;
	case FIELD_HOST_IP:
	case FIELD_HOST_IPS:
		*ret_value = c->host_ip;
		break;
	case FIELD_POD_IP:
	case FIELD_POD_IPS:
		*ret_value = pod_ips(c, a, field == FIELD_POD_IPS);
		break;
	}
	return 0;
}

int env_field(const struct pod *pod, struct str path, const struct env_context *c, struct arena *a,
	      struct str *ret_value, struct error *err)
{
	struct str base, key;

	if (split_subscript(path, &base, &key))
		return subscripted(pod, path, base, key, a, ret_value, err);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (str_eqz(path, fields[i].path))
			return field_value(pod, fields[i].field, c, a, ret_value, err);
	}
	return error_set(err, ERR_INVALID, "field label not supported: %.*s", STR_ARG(path));
}

/* --- resources ------------------------------------------------------------------------------ */

static struct quantity env_field_read_quantity(const struct json *v)
{
	struct quantity q = { 0 };

	(void)quantity_read(v, &q);
	return q;
}

/* The value of a limit that is not set: the pod's, else the node's allocatable. */
static struct quantity default_limit(const struct pod *pod, struct str name,
				     const struct env_context *c)
{
	const struct json *limits = json_getz(json_getz(pod->spec, "resources"), "limits");
	bool cpu = str_eqz(name, "cpu"), memory = str_eqz(name, "memory");
	struct quantity q = { 0 };

	if (cpu || memory)
		q = env_field_read_quantity(json_get(limits, name));
	if (q.nano != 0)
		return q;
	if (cpu)
		q = quantity_of_milli(c->node_cpu_milli);
	else if (memory)
		q = quantity_of(c->node_memory, QUANTITY_DECIMAL_SI);
	else if (str_eqz(name, "ephemeral-storage"))
		q = quantity_of(c->node_storage, QUANTITY_DECIMAL_SI);
	return q;
}

static bool is_known(struct str name)
{
	return str_eqz(name, "cpu") || str_eqz(name, "memory") ||
	       str_eqz(name, "ephemeral-storage") || str_starts(name, STR("hugepages-"));
}

/* Rounded up. As upstream, both are rounded first: cpu in thousandths, the rest in whole units. */
static int64_t divided(struct quantity q, struct quantity divisor, bool cpu)
{
	int64_t n = cpu ? quantity_milli(q) : quantity_value(q);
	int64_t by = cpu ? quantity_milli(divisor) : quantity_value(divisor);

	if (by <= 0)
		by = cpu ? 1000 : 1;
	return n / by + (n % by > 0);
}

static struct json *container_named(const struct pod *pod, struct str name)
{
	enum pod_container_kind kind;
	struct json *found = pod_container(pod, name, &kind);

	return found && kind != POD_EPHEMERAL ? found : NULL;
}

int env_resource(const struct pod *pod, const struct json *container, const struct json *ref,
		 const struct env_context *c, struct arena *a, struct str *ret_value,
		 struct error *err)
{
	struct str what = json_text_at(ref, "resource"), name = json_text_at(ref, "containerName");
	bool limits = str_starts(what, STR("limits."));
	const struct json *list;
	struct quantity q;

	if (name.n > 0)
		container = container_named(pod, name);
	if (!container)
		return error_set(err, ERR_INVALID, "container %.*s not found", STR_ARG(name));
	name = str_skip(what, limits ? strlen("limits.") : strlen("requests."));
	if ((!limits && !str_starts(what, STR("requests."))) || !is_known(name))
		return error_set(err, ERR_INVALID, "unsupported container resource : %.*s",
				 STR_ARG(what));
	list = json_getz(json_getz(container, "resources"), limits ? "limits" : "requests");
	q = env_field_read_quantity(json_get(list, name));
	if (limits && q.nano == 0)
		q = default_limit(pod, name, c);
	*ret_value = str_from(arena_printf(
		a, "%lld",
		(long long)divided(q, env_field_read_quantity(json_getz(ref, "divisor")),
				   str_eqz(name, "cpu"))));
	return 0;
}
