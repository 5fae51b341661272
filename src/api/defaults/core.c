/*
 * Defaults of other core kinds, workloads and jobs that depend on more than the field itself.
 */
#include "api/defaults/defaults.h"

#include "api/validate/validate.h"
#include "base/json/index.h"

static bool is_unset(const struct json *object, const char *name)
{
	return validate_is_unset(json_getz(object, name));
}

/* Sets a number only if it is absent: zero is a valid choice. */
static void set_number(struct arena *a, struct json *object, const char *name, int64_t n)
{
	if (!json_getz(object, name))
		json_put_i64(a, object, name, n);
}

void fill_service_port(struct arena *a, struct json *port, int64_t now_ns)
{
	int64_t n;

	(void)now_ns;
	if (is_unset(port, "targetPort") && json_i64(json_getz(port, "port"), &n))
		json_put_i64(a, port, "targetPort", n);
}

static void fill_session_affinity(struct arena *a, struct json *spec)
{
	if (str_eqz(json_text_at(spec, "sessionAffinity"), "None"))
		json_remove(spec, STR("sessionAffinityConfig"));
	else if (str_eqz(json_text_at(spec, "sessionAffinity"), "ClientIP"))
		set_number(a,
			   json_need_object(a, json_need_object(a, spec, "sessionAffinityConfig"),
					    "clientIP"),
			   "timeoutSeconds", 10800);
}

void fill_service_spec(struct arena *a, struct json *spec, int64_t now_ns)
{
	struct str type = json_text_at(spec, "type");
	bool balanced = str_eqz(type, "LoadBalancer");
	bool external = balanced || str_eqz(type, "NodePort") ||
			(str_eqz(type, "ClusterIP") && json_count(json_getz(spec, "externalIPs")));

	(void)now_ns;
	fill_session_affinity(a, spec);
	if (external && is_unset(spec, "externalTrafficPolicy"))
		json_put_str(a, spec, "externalTrafficPolicy", STR("Cluster"));
	if (str_eqz(type, "ExternalName"))
		json_remove(spec, STR("internalTrafficPolicy"));
	else if (is_unset(spec, "internalTrafficPolicy"))
		json_put_str(a, spec, "internalTrafficPolicy", STR("Cluster"));
	if (balanced && !json_getz(spec, "allocateLoadBalancerNodePorts"))
		json_put_bool(a, spec, "allocateLoadBalancerNodePorts", true);
}

/* Adds the amounts of `from` that `to` lacks. */
static void add_amounts(struct arena *a, struct json *to, const struct json *from)
{
	CLEANUP(json_index_release) struct json_index has;

	json_index_init(&has, to, NULL);
	JSON_FOREACH (amount, from) {
		if (!json_index_get(&has, json_key(amount)))
			json_add(to, json_key(amount), json_make_str(a, json_str(amount)));
	}
}

void fill_node_status(struct arena *a, struct json *status, int64_t now_ns)
{
	const struct json *capacity = json_getz(status, "capacity");

	(void)now_ns;
	if (json_count(capacity) && !json_getz(status, "allocatable"))
		add_amounts(a, json_need_object(a, status, "allocatable"), capacity);
}

void fill_limit_range_item(struct arena *a, struct json *item, int64_t now_ns)
{
	struct json *initial, *request;

	(void)now_ns;
	if (!str_eqz(json_text_at(item, "type"), "Container"))
		return;
	initial = json_need_object(a, item, "default");
	request = json_need_object(a, item, "defaultRequest");
	add_amounts(a, initial, json_getz(item, "max"));
	add_amounts(a, request, initial);
	add_amounts(a, request, json_getz(item, "min"));
}

/* --- workloads ------------------------------------------------------------------------ */

static bool is_rolling(const struct json *strategy)
{
	return str_eqz(json_text_at(strategy, "type"), "RollingUpdate");
}

static void set_percent(struct arena *a, struct json *object, const char *name)
{
	if (!json_getz(object, name))
		json_put_str(a, object, name, STR("25%"));
}

void fill_deployment_strategy(struct arena *a, struct json *strategy, int64_t now_ns)
{
	struct json *rolling;

	(void)now_ns;
	if (!is_rolling(strategy))
		return;
	rolling = json_need_object(a, strategy, "rollingUpdate");
	set_percent(a, rolling, "maxUnavailable");
	set_percent(a, rolling, "maxSurge");
}

void fill_daemon_set_strategy(struct arena *a, struct json *strategy, int64_t now_ns)
{
	struct json *rolling;

	(void)now_ns;
	if (!is_rolling(strategy))
		return;
	rolling = json_need_object(a, strategy, "rollingUpdate");
	set_number(a, rolling, "maxUnavailable", 1);
	set_number(a, rolling, "maxSurge", 0);
}

void fill_stateful_set_spec(struct arena *a, struct json *spec, int64_t now_ns)
{
	struct json *strategy = json_need_object(a, spec, "updateStrategy");
	struct json *retention = json_need_object(a, spec, "persistentVolumeClaimRetentionPolicy");

	(void)now_ns;
	if (is_unset(strategy, "type"))
		json_put_str(a, strategy, "type", STR("RollingUpdate"));
	if (is_rolling(strategy))
		set_number(a, json_need_object(a, strategy, "rollingUpdate"), "partition", 0);
	if (is_unset(retention, "whenDeleted"))
		json_put_str(a, retention, "whenDeleted", STR("Retain"));
	if (is_unset(retention, "whenScaled"))
		json_put_str(a, retention, "whenScaled", STR("Retain"));
}

/*
 * A job that sets neither runs one pod once; one that sets only completions runs one at a time.
 * With a limit for each index the limit for all is off. A failure policy judges pods that have
 * ended, so it needs them before they are replaced.
 */
void fill_job_spec(struct arena *a, struct json *spec, int64_t now_ns)
{
	bool each = json_getz(spec, "backoffLimitPerIndex") != NULL;
	bool judges = json_getz(spec, "podFailurePolicy") != NULL;

	(void)now_ns;
	if (!json_getz(spec, "parallelism"))
		set_number(a, spec, "completions", 1);
	set_number(a, spec, "parallelism", 1);
	set_number(a, spec, "backoffLimit", each ? INT32_MAX : 6);
	if (is_unset(spec, "podReplacementPolicy"))
		json_put_str(a, spec, "podReplacementPolicy",
			     judges ? STR("Failed") : STR("TerminatingOrFailed"));
}
