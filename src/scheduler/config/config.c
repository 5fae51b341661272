/*
 * Reads the file strictly into the struct, adds upstream's defaults, then validates. All invalid
 * values are reported together.
 */
#include "scheduler/config/config.h"

#include "base/core/clock.h"
#include "base/yaml/yaml.h"
#include "scheduler/config/config_impl.h"

enum { CONFIG_MAX = 1 << 20 };

#define API_VERSION "kubescheduler.config.k8s.io/v1"

static void set_defaults(struct config *c)
{
	*c = (struct config){
		.initial_backoff_ms = 1000,
		.max_backoff_ms = 10000,
		.leader_elect = true,
		.lease_name = STR("kube-scheduler"),
		.lease_namespace = STR("kube-system"),
		.lease_duration_ms = 15000,
		.renew_deadline_ms = 10000,
		.retry_period_ms = 2000,
	};
	arena_init(&c->arena, 16 * CONFIG_MAX);
}

void config_init(struct config *c)
{
	set_defaults(c);
	c->profiles = ARENA_NEW(&c->arena, struct config_profile);
	c->nprofiles = 1;
	config_default_profile(&c->arena, c->profiles);
	c->profiles[0].percentage_of_nodes = c->percentage_of_nodes;
}

void config_release(struct config *c)
{
	arena_release(&c->arena);
}

/* --- fields -------------------------------------------------------------------------------- */

static int read_leader_election(struct config_reader *r, const struct json *v,
				const struct field_path *path, void *to UNUSED)
{
	static const struct config_field fields[] = {
		{ "leaderElect", config_bool, offsetof(struct config_reader, leader_elect) },
		{ "resourceName", config_text, offsetof(struct config_reader, lease_name) },
		{ "resourceNamespace", config_text,
		  offsetof(struct config_reader, lease_namespace) },
		{ "leaseDuration", config_duration,
		  offsetof(struct config_reader, lease_duration_ns) },
		{ "renewDeadline", config_duration,
		  offsetof(struct config_reader, renew_deadline_ns) },
		{ "retryPeriod", config_duration, offsetof(struct config_reader, retry_period_ns) },
		{ "resourceLock", config_text, offsetof(struct config_reader, resource_lock) },
		{ NULL, NULL, 0 },
	};

	return config_object(r, v, path, fields, r);
}

static int read_client_connection(struct config_reader *r, const struct json *v,
				  const struct field_path *path, void *to UNUSED)
{
	static const struct config_field fields[] = {
		{ "kubeconfig", config_text, offsetof(struct config, kubeconfig) },
		{ "qps", config_f64, offsetof(struct config, qps) },
		{ "burst", config_i32, offsetof(struct config, burst) },
		{ "acceptContentTypes", config_ignored, 0 },
		{ "contentType", config_ignored, 0 },
		{ NULL, NULL, 0 },
	};

	return config_object(r, v, path, fields, r->config);
}

static int read_percentage(struct config_reader *r, const struct json *v,
			   const struct field_path *path, void *to UNUSED)
{
	return config_i32(r, v, path, &r->config->percentage_of_nodes);
}

static int read_plugin_path(struct config_reader *r, const struct json *v,
			    const struct field_path *path, void *to)
{
	static const struct config_field fields[] = { { "path", config_text, 0 },
						      { NULL, NULL, 0 } };
	struct field_path at = field_path_name(path, "path");
	int rc = config_object(r, v, path, fields, to);

	if (rc == 0 && ((struct str *)to)->n == 0)
		field_errors_required(&r->faults, &at, NULL);
	return rc;
}

static int read_plugin_paths(struct config_reader *r, const struct json *v,
			     const struct field_path *path, void *to UNUSED)
{
	static const struct config_field element = { "", read_plugin_path, 0 };

	return config_array(r, v, path, &element, sizeof(struct str),
			    (void **)&r->config->plugin_paths, &r->config->nplugin_paths);
}

static int read_devplane(struct config_reader *r, const struct json *v,
			 const struct field_path *path, void *to)
{
	static const struct config_field fields[] = { { "plugins", read_plugin_paths, 0 },
						      { NULL, NULL, 0 } };

	return config_object(r, v, path, fields, to);
}

static int read_extenders(struct config_reader *r, const struct json *v,
			  const struct field_path *path, void *to UNUSED)
{
	if (json_count(v))
		field_errors_forbidden(&r->faults, path,
				       "extenders are not supported, use devplane.plugins");
	return 0;
}

static int read_top(struct config_reader *r, const struct json *v)
{
	static const struct config_field fields[] = {
		{ "apiVersion", config_ignored, 0 },
		{ "kind", config_ignored, 0 },
		{ "parallelism", config_i64, offsetof(struct config_reader, parallelism) },
		{ "leaderElection", read_leader_election, 0 },
		{ "clientConnection", read_client_connection, 0 },
		{ "enableProfiling", config_ignored, 0 },
		{ "enableContentionProfiling", config_ignored, 0 },
		{ "percentageOfNodesToScore", read_percentage, 0 },
		{ "podInitialBackoffSeconds", config_i64,
		  offsetof(struct config_reader, initial_backoff_s) },
		{ "podMaxBackoffSeconds", config_i64,
		  offsetof(struct config_reader, max_backoff_s) },
		{ "profiles", config_profiles, 0 },
		{ "extenders", read_extenders, 0 },
		{ "delayCacheUntilActive", config_ignored, 0 },
		{ "devplane", read_devplane, 0 },
		{ NULL, NULL, 0 },
	};

	return config_object(r, v, NULL, fields, r);
}

/* --- validation ---------------------------------------------------------------------------- */

static void check_positive(struct config_reader *r, const struct field_path *parent,
			   const char *name, int64_t ns)
{
	struct field_path at = field_path_name(parent, name);

	if (ns <= 0)
		field_errors_invalid(&r->faults, &at, FIELD_I64(ns), "must be greater than zero");
}

static void check_leader_election(struct config_reader *r)
{
	struct field_path path = field_path_name(NULL, "leaderElection");
	struct field_path duration = field_path_name(&path, "leaseDuration");
	struct field_path lock = field_path_name(&path, "resourceLock");

	if (!r->leader_elect)
		return;
	check_positive(r, &path, "leaseDuration", r->lease_duration_ns);
	check_positive(r, &path, "renewDeadline", r->renew_deadline_ns);
	check_positive(r, &path, "retryPeriod", r->retry_period_ns);
	if (r->lease_duration_ns <= r->renew_deadline_ns)
		field_errors_invalid(&r->faults, &duration, FIELD_I64(r->lease_duration_ns),
				     "must be greater than `RenewDeadline`");
	if (!str_eqz(r->resource_lock, "leases"))
		field_errors_invalid(&r->faults, &lock, FIELD_STR(r->resource_lock),
				     "resourceLock value must be \"leases\"");
}

static void check_percentage(struct config_reader *r, const struct field_path *parent,
			     int32_t percentage)
{
	struct field_path at = field_path_name(parent, "percentageOfNodesToScore");

	if (percentage < 0 || percentage > 100)
		field_errors_invalid(&r->faults, &at, FIELD_I64(percentage),
				     "not in valid range [0-100]");
}

static bool same_sets(const struct config_set *a, const struct config_set *b)
{
	if (a->nenabled != b->nenabled || a->ndisabled != b->ndisabled)
		return false;
	for (size_t i = 0; i < a->nenabled; i++) {
		if (!str_eq(a->enabled[i].name, b->enabled[i].name))
			return false;
	}
	for (size_t i = 0; i < a->ndisabled; i++) {
		if (!str_eq(a->disabled[i].name, b->disabled[i].name))
			return false;
	}
	return true;
}

/* One queue: all profiles sort it the same way. */
static void check_queue_sort(struct config_reader *r, const struct field_path *profile, size_t i)
{
	const struct config_profile *v = r->config->profiles;
	const struct config_set *first = &v[0].points[POINT_QUEUE_SORT];
	struct field_path plugins = field_path_name(profile, "plugins");
	struct field_path sort = field_path_name(&plugins, "queueSort");
	struct field_path enabled = field_path_name(&sort, "Enabled");

	if (i == 0 && first->nenabled > 1)
		field_errors_invalid(&r->faults, &enabled, FIELD_I64((int64_t)first->nenabled),
				     "only one queue sort plugin can be enabled");
	if (!same_sets(first, &v[i].points[POINT_QUEUE_SORT]))
		field_errors_invalid(&r->faults, &sort, FIELD_OMITTED,
				     "must be the same for all profiles");
}

static bool name_is_taken(const struct config_profile *v, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (str_eq(v[k].name, v[i].name))
			return true;
	}
	return false;
}

static void check_profiles(struct config_reader *r)
{
	struct field_path profiles = field_path_name(NULL, "profiles");
	const struct config_profile *v = r->config->profiles;

	for (size_t i = 0; i < r->config->nprofiles; i++) {
		struct field_path path = field_path_index(&profiles, i);
		struct field_path name = field_path_name(&path, "schedulerName");

		if (v[i].name.n == 0)
			field_errors_required(&r->faults, &name, NULL);
		else if (name_is_taken(v, i))
			field_errors_duplicate(&r->faults, &name, FIELD_STR(v[i].name));
		check_percentage(r, &path, v[i].percentage_of_nodes);
		check_queue_sort(r, &path, i);
	}
}

static void check_rest(struct config_reader *r)
{
	struct field_path connection = field_path_name(NULL, "clientConnection");
	struct field_path burst = field_path_name(&connection, "burst");
	struct field_path parallelism = field_path_name(NULL, "parallelism");
	struct field_path initial = field_path_name(NULL, "podInitialBackoffSeconds");
	struct field_path max = field_path_name(NULL, "podMaxBackoffSeconds");

	if (r->config->burst < 0)
		field_errors_invalid(&r->faults, &burst, FIELD_I64(r->config->burst),
				     "must be non-negative");
	if (r->parallelism <= 0)
		field_errors_invalid(&r->faults, &parallelism, FIELD_I64(r->parallelism),
				     "should be an integer value greater than zero");
	if (r->initial_backoff_s <= 0 || r->initial_backoff_s > INT32_MAX)
		field_errors_invalid(&r->faults, &initial, FIELD_I64(r->initial_backoff_s),
				     "must be greater than 0");
	if (r->max_backoff_s < r->initial_backoff_s || r->max_backoff_s > INT32_MAX)
		field_errors_invalid(&r->faults, &max, FIELD_I64(r->max_backoff_s),
				     "must be greater than or equal to PodInitialBackoffSeconds");
}

/* --- all of it ----------------------------------------------------------------------------- */

static int config_parse(struct config *c, struct str text, struct json **ret_tree,
			struct error *err)
{
	struct json_report report = { 0 };
	struct error why;
	int r;

	if (text.n > CONFIG_MAX)
		return error_set(err, ERR_INVALID, "longer than %d bytes", CONFIG_MAX);
	if (yaml_is_json(text))
		r = json_parse(&c->arena, arena_str(&c->arena, text),
			       &(struct json_options){ .report = &report }, ret_tree, &why);
	else
		r = yaml_parse(&c->arena, text, &(struct yaml_options){ .report = &report },
			       ret_tree, &why);
	if (r < 0)
		return error_set(err, ERR_INVALID, "%s", why.msg);
	if (report.duplicates)
		return error_set(err, ERR_INVALID,
				 "strict decoding error: key \"%.*s\" already set in map",
				 STR_ARG(report.duplicates->key));
	return 0;
}

static int config_check_type(const struct json *tree, struct error *err)
{
	struct str version = json_text_at(tree, "apiVersion"), kind = json_text_at(tree, "kind");

	if (!json_is(tree, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "not an object");
	if (kind.n == 0)
		return error_set(err, ERR_INVALID, "Object 'Kind' is missing");
	if (version.n == 0)
		return error_set(err, ERR_INVALID, "Object 'apiVersion' is missing");
	if (!str_eqz(version, API_VERSION) || !str_eqz(kind, "KubeSchedulerConfiguration"))
		return error_set(err, ERR_INVALID,
				 "no kind \"%.*s\" is registered for version \"%.*s\", expected "
				 "KubeSchedulerConfiguration of " API_VERSION,
				 STR_ARG(kind), STR_ARG(version));
	return 0;
}

/* Adds the defaults. Empty or zero values count as unset, as in upstream's Go structs. */
static void config_complete(struct config_reader *r)
{
	struct config *c = r->config;

	if (c->nprofiles == 0) {
		c->profiles = ARENA_NEW(&c->arena, struct config_profile);
		c->profiles[0].percentage_of_nodes = INT32_MIN;
		c->nprofiles = 1;
	}
	if (c->nprofiles == 1 && !c->profiles[0].name.p)
		c->profiles[0].name = STR("default-scheduler");
	for (size_t i = 0; i < c->nprofiles; i++) {
		struct config_profile *p = &c->profiles[i];

		config_merge_defaults(&c->arena, p);
		if (p->percentage_of_nodes == INT32_MIN)
			p->percentage_of_nodes = c->percentage_of_nodes;
	}
	c->leader_elect = r->leader_elect;
	if (r->lease_name.n)
		c->lease_name = r->lease_name;
	if (r->lease_namespace.n)
		c->lease_namespace = r->lease_namespace;
	if (r->resource_lock.n == 0)
		r->resource_lock = STR("leases");
	r->lease_duration_ns = r->lease_duration_ns ? r->lease_duration_ns : 15 * CLOCK_SEC;
	r->renew_deadline_ns = r->renew_deadline_ns ? r->renew_deadline_ns : 10 * CLOCK_SEC;
	r->retry_period_ns = r->retry_period_ns ? r->retry_period_ns : 2 * CLOCK_SEC;
}

static int read_config(struct config_reader *r, struct str text)
{
	CLEANUP(buf_release) struct buf faults = BUF_INIT(4096);
	struct config *c = r->config;
	struct json *tree = NULL;
	int rc = config_parse(c, text, &tree, r->err);

	if (rc == 0)
		rc = config_check_type(tree, r->err);
	if (rc == 0)
		rc = read_top(r, tree);
	if (rc < 0)
		return rc;
	config_complete(r);
	check_leader_election(r);
	check_rest(r);
	check_profiles(r);
	check_percentage(r, NULL, c->percentage_of_nodes);
	if (field_errors_any(&r->faults)) {
		(void)field_errors_aggregate(&r->faults, &faults);
		return error_set(r->err, ERR_INVALID, "%.*s", STR_ARG(buf_str(&faults)));
	}
	c->initial_backoff_ms = r->initial_backoff_s * 1000;
	c->max_backoff_ms = r->max_backoff_s * 1000;
	c->lease_duration_ms = r->lease_duration_ns / CLOCK_MS;
	c->renew_deadline_ms = r->renew_deadline_ns / CLOCK_MS;
	c->retry_period_ms = r->retry_period_ns / CLOCK_MS;
	return 0;
}

int config_read(struct config *c, struct str text, struct error *err)
{
	struct error local;
	struct config read;
	struct config_reader r = { .config = &read,
				   .err = err ? err : &local,
				   .leader_elect = true,
				   .parallelism = 16,
				   .initial_backoff_s = 1,
				   .max_backoff_s = 10 };
	int rc;

	set_defaults(&read);
	field_errors_init(&r.faults, &read.arena);
	rc = read_config(&r, text);
	if (rc < 0) {
		config_release(&read);
		return rc;
	}
	config_release(c);
	*c = read;
	return 0;
}

const struct json *config_args(const struct config_profile *p, struct str plugin)
{
	for (size_t i = 0; i < p->nargs; i++) {
		if (str_eq(p->args[i].name, plugin))
			return p->args[i].args;
	}
	return NULL;
}
