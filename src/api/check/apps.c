/*
 * Workloads: the selector must match the pods of the template, the restart policy must suit the
 * kind, and fields that controllers rely on must not change.
 */
#include "api/check/checks.h"

#include "api/check/job.h"
#include "api/selector/label_selector.h"
#include "base/json/json.h"

static const char not_found_by_selector[] = "`selector` does not match template `labels`";

static void check_restart_policy(struct validation *v, const struct json *template,
				 const struct field_path *path, const struct str *allowed, size_t n)
{
	struct field_path spec_at = field_path_name(path, "spec");
	struct field_path at = field_path_name(&spec_at, "restartPolicy");
	struct str policy = json_text_at(json_getz(template, "spec"), "restartPolicy");

	for (size_t i = 0; i < n; i++)
		if (str_eq(policy, allowed[i]))
			return;
	field_errors_not_supported(v->errs, &at, FIELD_STR(policy), allowed, n);
}

static void check_labels_found(struct validation *v, const struct json *selector,
			       const struct json *template, const struct field_path *path)
{
	const struct json *labels = json_getz(json_getz(template, "metadata"), "labels");
	struct field_path meta_at = field_path_name(path, "metadata");
	struct field_path at = field_path_name(&meta_at, "labels");

	if (!label_selector_matches(selector, labels))
		field_errors_invalid(v->errs, &at, validate_shown(v, labels),
				     not_found_by_selector);
}

/* Upstream's word in an error; ReplicaSets share that of Deployments. */
static const char *apps_name_of(const struct validation *v)
{
	if (str_eqz(v->kind->kind, "StatefulSet"))
		return "statefulset";
	return str_eqz(v->kind->kind, "DaemonSet") ? "daemonset" : "deployment";
}

/* Upstream's words for all four kinds; a deployment shares those of its replica sets. */
static void check_no_deadline(struct validation *v, const struct json *template,
			      const struct field_path *path)
{
	struct field_path spec_at = field_path_name(path, "spec");
	struct field_path at = field_path_name(&spec_at, "activeDeadlineSeconds");
	struct str kind = v->kind->kind;

	if (str_eqz(kind, "Deployment"))
		kind = STR("ReplicaSet");
	if (json_getz(json_getz(template, "spec"), "activeDeadlineSeconds"))
		field_errors_forbidden(
			v->errs, &at,
			arena_printf(v->arena, "activeDeadlineSeconds in %.*s is not Supported",
				     STR_ARG(kind)));
}

/* Checks deployments, replica sets, daemon sets, stateful sets. */
void check_workload_spec(struct validation *v, const struct json *spec,
			 const struct field_path *path)
{
	static const struct str always[] = { { "Always", 6 } };
	const struct json *selector = json_getz(spec, "selector");
	const struct json *template = json_getz(spec, "template");
	struct field_path selector_at = field_path_name(path, "selector");
	struct field_path template_at = field_path_name(path, "template");

	if (!selector)
		return; /* required, which the table reports */
	if (label_selector_is_empty(selector))
		field_errors_addf(v->errs, FIELD_INVALID, &selector_at, validate_shown(v, selector),
				  "empty selector is invalid for %s", apps_name_of(v));
	check_labels_found(v, selector, template, &template_at);
	check_restart_policy(v, template, &template_at, always, ARRAY_SIZE(always));
	check_no_deadline(v, template, &template_at);
}

/* --- deployments and replica sets -------------------- */

static void check_rolling_update(struct validation *v, const struct json *rolling,
				 const struct field_path *path)
{
	const struct json *unavailable = json_getz(rolling, "maxUnavailable");
	const struct json *surge = json_getz(rolling, "maxSurge");
	struct field_path unavailable_at = field_path_name(path, "maxUnavailable");
	struct field_path surge_at = field_path_name(path, "maxSurge");

	if (!rolling)
		return;
	check_amount(v, unavailable, &unavailable_at);
	check_amount(v, surge, &surge_at);
	if (check_amount_of(unavailable) == 0 && check_amount_of(surge) == 0)
		field_errors_invalid(v->errs, &unavailable_at, validate_shown(v, unavailable),
				     "may not be 0 when `maxSurge` is 0");
	check_amount_at_most_all(v, unavailable, &unavailable_at);
}

static void check_deployment_strategy(struct validation *v, const struct json *strategy,
				      const struct field_path *path)
{
	const struct json *rolling = json_getz(strategy, "rollingUpdate");
	struct field_path at = field_path_name(path, "rollingUpdate");

	if (!str_eqz(json_text_at(strategy, "type"), "Recreate"))
		check_rolling_update(v, rolling, &at);
	else if (rolling)
		field_errors_forbidden(v->errs, &at,
				       "may not be specified when strategy `type` is 'Recreate'");
}

void check_deployment_spec(struct validation *v, const struct json *spec,
			   const struct field_path *path)
{
	struct field_path strategy_at = field_path_name(path, "strategy");
	struct field_path deadline_at = field_path_name(path, "progressDeadlineSeconds");
	const struct json *deadline = json_getz(spec, "progressDeadlineSeconds");
	int64_t ready = json_i64_at(spec, "minReadySeconds", 0), seconds;

	check_workload_spec(v, spec, path);
	check_deployment_strategy(v, json_getz(spec, "strategy"), &strategy_at);
	if (json_i64(deadline, &seconds) && seconds <= ready)
		field_errors_invalid(v->errs, &deadline_at, validate_shown(v, deadline),
				     "must be greater than minReadySeconds");
}

/* Whether a count of a status exceeds another one. */
static void check_at_most(struct validation *v, const struct json *status,
			  const struct field_path *path, const char *name, const char *most,
			  const char *why)
{
	struct field_path at = field_path_name(path, name);

	if (json_i64_at(status, name, 0) > json_i64_at(status, most, 0))
		field_errors_invalid(v->errs, &at, validate_shown(v, json_getz(status, name)), why);
}

static void check_counts(struct validation *v, const struct json *status,
			 const struct field_path *path, const char *labeled)
{
	static const char too_many[] = "cannot be greater than status.replicas";

	check_at_most(v, status, path, labeled, "replicas", too_many);
	check_at_most(v, status, path, "readyReplicas", "replicas", too_many);
	check_at_most(v, status, path, "availableReplicas", "replicas", too_many);
	check_at_most(v, status, path, "availableReplicas", "readyReplicas",
		      "cannot be greater than readyReplicas");
}

void check_deployment_status(struct validation *v, const struct json *status,
			     const struct field_path *path)
{
	check_counts(v, status, path, "updatedReplicas");
}

void check_replica_set_status(struct validation *v, const struct json *status,
			      const struct field_path *path)
{
	check_counts(v, status, path, "fullyLabeledReplicas");
}

void check_deployment_status_update(struct validation *v, const struct json *deployment,
				    const struct json *old)
{
	struct field_path path = field_path_name(NULL, "status");
	struct field_path at = field_path_name(&path, "collisionCount");
	int64_t now = json_i64_at(json_getz(deployment, "status"), "collisionCount", 0);

	if (now < json_i64_at(json_getz(old, "status"), "collisionCount", 0))
		field_errors_invalid(v->errs, &at, FIELD_I64(now), "cannot be decremented");
}

/* --- jobs -------------------- */

static void check_job_template(struct validation *v, const struct json *spec,
			       const struct field_path *path)
{
	static const struct str allowed[] = { { "OnFailure", 9 }, { "Never", 5 } };
	struct field_path at = field_path_name(path, "template");

	check_restart_policy(v, json_getz(spec, "template"), &at, allowed, ARRAY_SIZE(allowed));
}

void check_cron_job_spec(struct validation *v, const struct json *spec,
			 const struct field_path *path)
{
	struct field_path template_at = field_path_name(path, "jobTemplate");
	struct field_path at = field_path_name(&template_at, "spec");

	check_job_template(v, json_getz(json_getz(spec, "jobTemplate"), "spec"), &at);
}

void check_job(struct validation *v, const struct json *job)
{
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path at = field_path_name(&path, "template");
	const struct json *spec = json_getz(job, "spec");

	check_job_identity(v, job);
	check_job_template(v, spec, &path);
	if (json_getz(spec, "selector"))
		check_labels_found(v, json_getz(spec, "selector"), json_getz(spec, "template"),
				   &at);
}

static bool apps_same(const struct json *a, const struct json *b)
{
	return validate_is_unset(a) ? validate_is_unset(b) : b && json_equal(a, b);
}

static void check_unchanged(struct validation *v, const struct json *spec, const struct json *old,
			    const struct field_path *path, const char *name)
{
	struct field_path at = field_path_name(path, name);

	if (!apps_same(json_getz(spec, name), json_getz(old, name)))
		field_errors_invalid(v->errs, &at, validate_shown(v, json_getz(spec, name)),
				     "field is immutable");
}

/* Whether members other than these differ between `spec` and `old`. */
static bool differs_beside(const struct json *spec, const struct json *old,
			   const char *const *names, size_t n)
{
	JSON_FOREACH (member, spec) {
		bool free = false;

		for (size_t i = 0; i < n; i++)
			free = free || str_eqz(json_key(member), names[i]);
		if (!free && !apps_same(member, json_get(old, json_key(member))))
			return true;
	}
	return false;
}

/*
 * A suspended job that has not started may still change where its pods run and which resources they
 * get; job queues do that before they start one.
 */
static bool template_may_become(const struct json *template, const struct json *old)
{
	static const char *const parts[] = { "metadata", "spec" };
	static const char *const directives[] = { "nodeSelector",    "affinity",   "tolerations",
						  "schedulingGates", "containers", "initContainers",
						  "resources" };
	const struct json *spec = json_getz(template, "spec");
	const struct json *was = json_getz(old, "spec");

	return !differs_beside(template, old, parts, ARRAY_SIZE(parts)) &&
	       !differs_beside(spec, was, directives, ARRAY_SIZE(directives)) &&
	       !differs_beside(was, spec, directives, ARRAY_SIZE(directives)) &&
	       json_count(json_getz(spec, "containers")) ==
		       json_count(json_getz(was, "containers"));
}

static void check_job_completions(struct validation *v, const struct json *spec,
				  const struct json *old, const struct field_path *path)
{
	const struct json *completions = json_getz(spec, "completions");
	struct field_path at = field_path_name(path, "completions");

	if (!str_eqz(json_text_at(spec, "completionMode"), "Indexed"))
		check_unchanged(v, spec, old, path, "completions");
	else if (completions && !apps_same(completions, json_getz(old, "completions")) &&
		 !apps_same(completions, json_getz(spec, "parallelism")))
		field_errors_invalid(v->errs, &at, validate_shown(v, completions),
				     "can only be modified in tandem with spec.parallelism");
}

static bool has_no_pods(const struct json *status)
{
	const struct json *c = json_find(json_getz(status, "conditions"), "type", STR("Suspended"));
	bool started = json_getz(status, "startTime") != NULL;

	return (!started || str_eqz(json_text_at(c, "status"), "True")) &&
	       json_i64_at(status, "active", 0) == 0;
}

void check_job_update(struct validation *v, const struct json *job, const struct json *old_job)
{
	static const char *const fixed[] = { "selector",         "completionMode",
					     "podFailurePolicy", "backoffLimitPerIndex",
					     "managedBy",        "successPolicy" };
	struct field_path path = field_path_name(NULL, "spec");
	const struct json *spec = json_getz(job, "spec"), *old = json_getz(old_job, "spec");
	bool waits = json_true_at(old, "suspend") && has_no_pods(json_getz(old_job, "status"));

	check_job_completions(v, spec, old, &path);
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		check_unchanged(v, spec, old, &path, fixed[i]);
	if (!waits || !template_may_become(json_getz(spec, "template"), json_getz(old, "template")))
		check_unchanged(v, spec, old, &path, "template");
}
