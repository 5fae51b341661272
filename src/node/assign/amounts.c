/*
 * The CPU and memory amounts that a pod's containers request, as the static policies count them.
 */
#include "base/json/quantity.h"
#include "node/assign/admit.h"

void pod_amount_add(struct pod_amount *sum, enum pod_container_kind kind, int64_t amount)
{
	if (kind == POD_SIDECAR)
		sum->sidecars += amount;
	else if (kind == POD_INIT)
		sum->init = MAX(sum->init, sum->sidecars + amount);
	else if (kind == POD_MAIN)
		sum->mains += amount;
}

int64_t pod_amount_total(const struct pod_amount *sum)
{
	return MAX(sum->init, sum->mains + sum->sidecars);
}

/* Limits amounts, so that sums of impossibly large ones do not overflow. */
static const int64_t amount_max = INT64_C(1) << 56;

/* Parses a quantity, in thousandths; -1 if it is not usable. */
static int64_t milli(const struct json *v)
{
	struct quantity q;
	int64_t n;

	if (!quantity_read(v, &q))
		return -1;
	n = quantity_milli(q);
	return n < 0 || n > amount_max ? -1 : n;
}

static int64_t bytes(const struct json *v)
{
	struct quantity q;

	return quantity_read(v, &q) ? MAX(INT64_C(0), MIN(quantity_value(q), amount_max)) : 0;
}

/* Whether a limit is set, and the request equals it or is not set. */
static bool has_both(const struct json *container, const char *name)
{
	const struct json *resources = json_getz(container, "resources");
	const struct json *limit = json_getz(json_getz(resources, "limits"), name);
	const struct json *request = json_getz(json_getz(resources, "requests"), name);

	return milli(limit) > 0 && (!request || milli(request) == milli(limit));
}

/* Uses the API server's qosClass; for a pod without one, computes it. */
static bool is_guaranteed_class(const struct pod *pod)
{
	struct str said = json_text_at(pod->status, "qosClass");
	struct pod_containers c = pod_containers(pod);

	if (said.n > 0)
		return str_eqz(said, "Guaranteed");
	while (pod_containers_next(&c)) {
		if (c.kind != POD_EPHEMERAL &&
		    (!has_both(c.container, "cpu") || !has_both(c.container, "memory")))
			return false;
	}
	return true;
}

bool assign_is_guaranteed(const struct pod *pod)
{
	/* As upstream, pods with pod-level resources get nothing exclusively. */
	return json_count(json_getz(json_getz(pod->spec, "resources"), "requests")) == 0 &&
	       json_count(json_getz(json_getz(pod->spec, "resources"), "limits")) == 0 &&
	       is_guaranteed_class(pod);
}

static const struct json *requests_of(const struct json *container)
{
	const struct json *resources = json_getz(container, "resources");
	const struct json *requests = json_getz(resources, "requests");

	return json_count(requests) > 0 ? requests : json_getz(resources, "limits");
}

int64_t assign_cpus_wanted(const struct admitting *in, const struct json *container)
{
	int64_t cpus;

	if (!in->s->static_cpus || !in->guaranteed)
		return 0;
	cpus = milli(json_getz(requests_of(container), "cpu"));
	return cpus > 0 && cpus % 1000 == 0 ? cpus / 1000 : 0;
}

/* "memory" is 0, "hugepages-2Mi" is 2 MiB; returns -1 for other names. */
static int64_t page_of(struct str name)
{
	struct quantity q;

	if (str_eqz(name, "memory"))
		return 0;
	if (!str_starts(name, STR("hugepages-")))
		return -1;
	if (quantity_parse(str_skip(name, strlen("hugepages-")), &q, NULL) < 0)
		return -1;
	return quantity_value(q);
}

size_t assign_memory_wanted(const struct admitting *in, const struct json *container,
			    const struct memory_amount **ret_amounts)
{
	const struct json *requests = requests_of(container);
	struct memory_amount *v = ARENA_ARRAY(in->a, struct memory_amount, json_count(requests));
	size_t n = 0;

	*ret_amounts = v;
	if (!in->s->static_memory || !in->guaranteed)
		return 0;
	JSON_FOREACH (it, requests) {
		int64_t page = page_of(json_key(it)), size = bytes(it);

		if (page >= 0 && size > 0)
			v[n++] = (struct memory_amount){ .page = page, .bytes = size };
	}
	return n;
}
