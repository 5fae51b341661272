/*
 * Users can change annotations of pods: an invalid number counts as absent.
 */
#include "controller/job/pod.h"

#include "controller/job/backoff.h"
#include "controller/job/view.h"
#include "controller/pods/owned.h"
#include "controller/pods/pod_state.h"
#include "controller/pods/pod_template.h"

#define INDEX_ENV "JOB_COMPLETION_INDEX"

enum { GENERATED_MAX = 58 /* the server's limit for the part before the random letters */ };

/* --- reading --------------------------------------------------------------------------------- */

static int64_t number_of(const struct json *annotations, const char *name, int64_t absent)
{
	int64_t n;

	if (!str_to_i64(json_text_at(annotations, name), &n) || n < 0 || n > INT32_MAX)
		return absent;
	return n;
}

static int64_t restarts_of(const struct json *statuses)
{
	int64_t n = 0;

	JSON_FOREACH (it, statuses) {
		int64_t count = json_i64_at(it, "restartCount", 0);

		n += count > 0 && count <= INT32_MAX ? count : 0;
	}
	return n;
}

static bool phase_is(const struct json *tree, const char *phase)
{
	return str_eqz(json_text_at(json_getz(tree, "status"), "phase"), phase);
}

/*
 * A pod that is being deleted counts as failed, because it may never reach that phase. The
 * replacement policy Failed waits until it does.
 */
static bool counts_as_failed(const struct job_spec *spec, const struct json *tree)
{
	bool deleting = json_text_at(json_getz(tree, "metadata"), "deletionTimestamp").n > 0;

	if (phase_is(tree, "Failed"))
		return true;
	return !spec->replace_failed_only && deleting && !phase_is(tree, "Succeeded");
}

struct job_pod job_pod_read(struct arena *a, const struct job_spec *spec, const struct json *tree)
{
	const struct json *meta = json_getz(tree, "metadata"), *status = json_getz(tree, "status");
	const struct json *annotations = json_getz(meta, "annotations");
	struct job_pod p = {
		.uid = json_text_at(meta, "uid"),
		.name = json_text_at(meta, "name"),
		.index = number_of(annotations, JOB_INDEX, JOB_UNKNOWN_INDEX),
		.index_failures = number_of(annotations, JOB_INDEX_FAILURES, 0),
		.index_ignored = number_of(annotations, JOB_INDEX_IGNORED, 0),
		.end_ns = job_backoff_pod_end(tree),
		.active = pod_state_active(tree),
		.terminating = pod_state_terminating(tree),
		.ready = pod_state_ready(tree),
		.succeeded = phase_is(tree, "Succeeded"),
		.failed = counts_as_failed(spec, tree),
		.finalizer = json_has_text(json_getz(meta, "finalizers"), STR(JOB_FINALIZER)),
	};

	if (phase_is(tree, "Running") || phase_is(tree, "Pending"))
		p.restarts = restarts_of(json_getz(status, "initContainerStatuses")) +
			     restarts_of(json_getz(status, "containerStatuses"));
	/* Pods that only end with the Job are judged, too, when they are counted. */
	if (spec->failure_policy && !p.succeeded)
		p.verdict = job_failure_policy(a, spec->failure_policy, tree);
	return p;
}

/* --- making ---------------------------------------------------------------------------------- */

static void env_add(struct arena *a, struct json *containers)
{
	JSON_FOREACH (it, containers) {
		struct json *env = json_need_array(a, it, "env"), *var, *from;

		if (json_find(env, "name", STR(INDEX_ENV)))
			continue;
		var = json_make_object(a);
		json_put_str(a, var, "name", STR(INDEX_ENV));
		from = json_need_object(a, json_need_object(a, var, "valueFrom"), "fieldRef");
		json_put_str(a, from, "fieldPath", STR("metadata.labels['" JOB_INDEX "']"));
		json_append(env, var);
	}
}

static void put_number(struct arena *a, struct json *map, const char *name, int64_t n)
{
	json_put_str(a, map, name, str_from(arena_printf(a, "%lld", (long long)n)));
}

/* The failures of the index so far; `replaced` is the last one. */
static void failures_add(struct arena *a, struct json *annotations, const struct job_pod *replaced)
{
	int64_t failures = replaced ? replaced->index_failures : 0;
	int64_t ignored = replaced ? replaced->index_ignored : 0;

	if (replaced && replaced->verdict.action == JOB_IGNORE)
		ignored++;
	else if (replaced)
		failures++;
	put_number(a, annotations, JOB_INDEX_FAILURES, failures);
	if (ignored > 0)
		put_number(a, annotations, JOB_INDEX_IGNORED, ignored);
}

/* A long name of the Job is cut, so that the index stays readable. */
static struct str generate_name(struct arena *a, struct str job, int64_t index)
{
	const char *end = arena_printf(a, "-%lld-", (long long)index);
	size_t room = GENERATED_MAX - strlen(end);

	return str_from(arena_printf(a, "%.*s%s", STR_ARG(str_cut(job, room)), end));
}

static void index_add(struct arena *a, const struct job_spec *spec, const struct owner *owner,
		      struct json *pod, int64_t index, const struct job_pod *replaced)
{
	struct json *meta = json_need_object(a, pod, "metadata");
	struct json *pod_spec = json_need_object(a, pod, "spec");
	struct json *annotations = json_need_object(a, meta, "annotations");

	json_put_str(a, meta, "generateName", generate_name(a, owner->name, index));
	put_number(a, annotations, JOB_INDEX, index);
	put_number(a, json_need_object(a, meta, "labels"), JOB_INDEX, index);
	json_put_str(
		a, pod_spec, "hostname",
		str_from(arena_printf(a, "%.*s-%lld", STR_ARG(owner->name), (long long)index)));
	if (spec->per_index)
		failures_add(a, annotations, replaced);
	env_add(a, json_getz(pod_spec, "initContainers"));
	env_add(a, json_getz(pod_spec, "containers"));
}

struct json *job_pod_make(struct arena *a, const struct job_spec *spec, const struct owner *owner,
			  int64_t index, const struct job_pod *replaced)
{
	bool own = index != JOB_UNKNOWN_INDEX;
	struct json *pod = own ? pod_template_make(a, spec->template, owner)
			       : pod_template_share(a, spec->template, owner);
	struct json *finalizers = json_need_array(a, json_getz(pod, "metadata"), "finalizers");

	if (!json_has_text(finalizers, STR(JOB_FINALIZER)))
		json_append(finalizers, json_make_str(a, STR(JOB_FINALIZER)));
	if (own)
		index_add(a, spec, owner, pod, index, replaced);
	return pod;
}

struct json *job_pod_release_patch(struct arena *a, struct str uid)
{
	struct json *patch = json_make_object(a), *meta = json_need_object(a, patch, "metadata");

	json_put_str(a, meta, "uid", uid);
	json_append(json_need_array(a, meta, "$deleteFromPrimitiveList/finalizers"),
		    json_make_str(a, STR(JOB_FINALIZER)));
	return patch;
}
