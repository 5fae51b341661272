/*
 * Converts requests and limits to kernel settings, with upstream's formulas and bounds.
 */
#include "base/json/quantity.h"
#include "node/container/config_impl.h"

enum {
	SHARES_MIN = 2,
	SHARES_MAX = 262144,
	SHARES_PER_CPU = 1024,
	QUOTA_PERIOD_US = 100000,
	QUOTA_MIN_US = 1000,
	OOM_GUARANTEED = -997,
	OOM_BEST_EFFORT = 1000,
};

static bool config_limits_amount(const struct json *container, const char *list,
				 const char *resource, struct quantity *ret)
{
	const struct json *v = json_getz(json_getz(container, "resources"), list);

	return quantity_read(json_getz(v, resource), ret);
}

static int64_t bytes(const struct json *container, const char *list)
{
	struct quantity q;

	return config_limits_amount(container, list, "memory", &q) ? quantity_value(q) : 0;
}

static int64_t shares_of(int64_t cpu_milli)
{
	__int128 v = (__int128)cpu_milli * SHARES_PER_CPU / 1000;

	return v < SHARES_MIN ? SHARES_MIN : v > SHARES_MAX ? SHARES_MAX : (int64_t)v;
}

static int64_t quota_of(int64_t cpu_milli)
{
	__int128 v = (__int128)cpu_milli * QUOTA_PERIOD_US / 1000;

	if (cpu_milli == 0)
		return 0;
	return v < QUOTA_MIN_US ? QUOTA_MIN_US : v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* --- OOM score ------------------------------------------------------------------------------ */

static bool is_best_effort(const struct pod *pod)
{
	struct str class = json_text_at(pod->status, "qosClass");
	struct pod_containers c = pod_containers(pod);

	if (class.n > 0)
		return str_eqz(class, "BestEffort");
	while (pod_containers_next(&c)) {
		const struct json *r = json_getz(c.container, "resources");

		if (json_count(json_getz(r, "requests")) + json_count(json_getz(r, "limits")) > 0)
			return false;
	}
	return true;
}

static int64_t burstable_score(int64_t request, int64_t capacity)
{
	return 1000 - (int64_t)((__int128)1000 * request / capacity);
}

/* A sidecar must not be killed before any of the containers that it serves. */
static int64_t sidecar_score(const struct pod *pod, int64_t score, int64_t capacity)
{
	int64_t least = INT64_MAX;

	JSON_FOREACH (c, json_getz(pod->spec, "containers"))
		least = MIN(least, bytes(c, "requests"));
	return least == INT64_MAX ? score : MIN(score, burstable_score(least, capacity));
}

static int64_t oom_score(const struct pod *pod, const struct json *container, int64_t capacity)
{
	enum pod_container_kind kind = POD_MAIN;
	int64_t score;

	if (str_eqz(json_text_at(pod->spec, "priorityClassName"), "system-node-critical") ||
	    str_eqz(json_text_at(pod->status, "qosClass"), "Guaranteed"))
		return OOM_GUARANTEED;
	if (is_best_effort(pod) || capacity <= 0)
		return OOM_BEST_EFFORT;
	score = burstable_score(bytes(container, "requests"), capacity);
	(void)pod_container(pod, json_text_at(container, "name"), &kind);
	if (kind == POD_SIDECAR)
		score = sidecar_score(pod, score, capacity);
	if (score < 1000 + OOM_GUARANTEED)
		return 1000 + OOM_GUARANTEED;
	return score >= OOM_BEST_EFFORT ? OOM_BEST_EFFORT - 1 : score;
}

/* --- huge pages ----------------------------------------------------------------------------- */

/* "2Mi" in the kernel's spelling: "2MB". */
static struct str page_size(struct str size, struct arena *a)
{
	static const char units[] = "KMG";
	struct quantity q;
	int64_t v;
	size_t unit = 0;

	if (quantity_parse(size, &q, NULL) < 0)
		return STR_NULL;
	v = quantity_value(q) / 1024;
	while (v >= 1024 && v % 1024 == 0 && unit < sizeof(units) - 2) {
		v /= 1024;
		unit++;
	}
	return str_from(arena_printf(a, "%lld%cB", (long long)v, units[unit]));
}

static void put_huge_pages(const struct json *container, struct arena *a, struct runtime_limits *l)
{
	const struct json *limits = json_getz(json_getz(container, "resources"), "limits");
	struct runtime_huge_pages *v = ARENA_ARRAY(a, struct runtime_huge_pages,
						   json_count(limits) + 1);

	JSON_FOREACH (it, limits) {
		struct quantity q;

		if (!str_starts(json_key(it), STR("hugepages-")) || !quantity_read(it, &q))
			continue;
		v[l->nhuge_pages++] = (struct runtime_huge_pages){
			.page_size = page_size(str_skip(json_key(it), strlen("hugepages-")), a),
			.bytes = quantity_value(q),
		};
	}
	l->huge_pages = v;
}

void config_limits(const struct pod *pod, const struct json *container,
		   const struct container_parts *parts, struct arena *a, struct runtime_limits *ret)
{
	struct quantity q;
	int64_t limit = config_limits_amount(container, "limits", "cpu", &q) ? quantity_milli(q)
									     : 0;
	int64_t request = config_limits_amount(container, "requests", "cpu", &q) ? quantity_milli(q)
										 : limit;

	*ret = (struct runtime_limits){
		.cpu_shares = shares_of(request),
		.cpu_quota = quota_of(limit),
		.cpu_period = QUOTA_PERIOD_US,
		.memory_bytes = bytes(container, "limits"),
		.oom_score_adj = oom_score(pod, container, parts->node_memory),
		.cpus = parts->cpus,
		.mems = parts->mems,
	};
	/* As upstream, a container with exclusive CPUs may use all of them without a quota. */
	if (parts->cpus.n > 0 && limit > 0 &&
	    str_eqz(json_text_at(pod->status, "qosClass"), "Guaranteed") && limit % 1000 == 0)
		ret->cpu_quota = -1;
	put_huge_pages(container, a, ret);
}
