/*
 * job_fixture - for tests: the Job controller on a fake API server, and a node that runs its pods.
 *
 * The node starts a pod when it sees it, and ends it as `outcome` says. It notes each pod that it
 * has seen and how it ended, so that a test can compare the Job's counters with what happened.
 */
#ifndef CONTROLLER_JOB_JOB_FIXTURE_H
#define CONTROLLER_JOB_JOB_FIXTURE_H

#include "controller/job/job_controller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "controller/run/controller_world.h"

#define JOBS       "/apis/batch/v1/namespaces/n/jobs"
#define PODS       "/api/v1/namespaces/n/pods"
#define FINALIZER  "batch.kubernetes.io/job-tracking"
#define INDEX_NOTE "batch.kubernetes.io/job-completion-index"

enum { STEP_MS = 250 };

struct fixture_pod {
	char uid[64], name[128];
	unsigned number; /* in the order of creation */
	int64_t since; /* when the node saw it, ms */
	bool succeeded, failed; /* how the node ended it */
	bool deleted; /* the node saw that it was being deleted */
};

/* The phase that the node writes, or NULL: the pod goes on running. More of the status, or NULL. */
struct fixture_end {
	const char *phase, *more;
};

struct job_fixture {
	struct controller_world *w;
	struct job_controller *c;
	struct arena arena; /* for one step */
	struct arena kept; /* for the test */
	VEC(struct fixture_pod) pods;
	struct fixture_end (*outcome)(const struct job_fixture *f, const struct fixture_pod *p,
				      const struct json *tree);
	int64_t lasts_ms; /* how long a pod runs */
	bool paused; /* the node does nothing */
	bool slow_end; /* a pod that is being deleted ends only when this is cleared */

	/* Faults: at the n-th write of the controller. */
	unsigned writes, at; /* 0: never */
	int fault;
	bool kills; /* the controller dies with that request */
	bool dead;
};

static inline int job_fixture_fault(void *arg, const struct fakeapi_query *q)
{
	struct job_fixture *f = arg;

	if (f->dead)
		return FAKEAPI_CUT;
	if (str_eqz(q->method, "GET") || str_find(q->path, STR("/events")) >= 0)
		return FAKEAPI_WELL;
	if (++f->writes != f->at)
		return FAKEAPI_WELL;
	f->dead = f->kills;
	return f->fault;
}

static inline struct fixture_end job_fixture_succeeds(const struct job_fixture *f UNUSED,
						      const struct fixture_pod *p UNUSED,
						      const struct json *tree UNUSED)
{
	return (struct fixture_end){ "Succeeded", NULL };
}

static inline void job_fixture_start(struct job_fixture *f)
{
	controller_world_start(f->w);
	f->c = job_controller_new(&f->w->ctx);
	informers_start(f->w->ctx.informers);
}

static inline void job_fixture_stop(struct job_fixture *f)
{
	job_controller_free(f->c);
	controller_world_stop(f->w);
}

static inline struct job_fixture *job_fixture_new(void)
{
	struct job_fixture *f = XNEW(struct job_fixture);

	f->w = controller_world_new(11);
	f->w->api->fault = job_fixture_fault;
	f->w->api->fault_arg = f;
	arena_init(&f->arena, SIZE_MAX);
	arena_init(&f->kept, SIZE_MAX);
	vec_init(&f->pods, 100000);
	f->outcome = job_fixture_succeeds;
	f->lasts_ms = 500;
	job_fixture_start(f);
	return f;
}

static inline void job_fixture_free(struct job_fixture *f)
{
	job_fixture_stop(f);
	controller_world_free(f->w);
	arena_release(&f->arena);
	arena_release(&f->kept);
	vec_release(&f->pods);
	free(f);
}

/* --- objects --------------------------------------------------------------------------------- */

/* In f->arena; NULL if not found. */
static inline struct json *job_fixture_get(struct job_fixture *f, const char *target)
{
	struct buf out = BUF_INIT(64 * MIB);
	struct json *tree = NULL;

	if (fakeapi_call(f->w->api, "GET", target, STR_NULL, &out) == 200)
		assert_int_equal(json_parse(&f->arena, arena_str(&f->arena, buf_str(&out)), NULL,
					    &tree, NULL),
				 0);
	buf_release(&out);
	return tree;
}

static inline struct json *job_fixture_items(struct job_fixture *f)
{
	return json_getz(job_fixture_get(f, PODS), "items");
}

static inline struct json *job_fixture_job(struct job_fixture *f)
{
	return job_fixture_get(f, JOBS "/j");
}

static inline struct json *job_fixture_status(struct job_fixture *f)
{
	return json_getz(job_fixture_job(f), "status");
}

static inline int64_t job_fixture_count(struct job_fixture *f, const char *name)
{
	return json_i64_at(job_fixture_status(f), name, 0);
}

/* Whether the condition is True; its reason in *ret_reason (or NULL). */
static inline bool job_fixture_is(struct job_fixture *f, const char *type, struct str *ret_reason)
{
	const struct json *c = json_find(json_getz(job_fixture_status(f), "conditions"), "type",
					 str_from(type));

	if (ret_reason)
		*ret_reason = json_text_at(c, "reason");
	return str_eqz(json_text_at(c, "status"), "True");
}

static inline void job_fixture_patch(struct job_fixture *f, const char *target, const char *change)
{
	int status = fakeapi_call(f->w->api, "PATCH", target, str_from(change), NULL);

	assert_int_equal(status, 200);
}

/* A Job "j" with more of its spec, such as "\"completions\":3"; as the server completes it. */
static inline void job_fixture_add(struct job_fixture *f, const char *spec, const char *pod)
{
	fakeapi_add(f->w->api, "jobs", "n", "j", ",\"uid\":\"job-1\"",
		    arena_printf(&f->arena,
				 ",\"spec\":{\"selector\":{\"matchLabels\":{\"u\":\"1\"}},"
				 "\"template\":{\"metadata\":{\"labels\":{\"u\":\"1\","
				 "\"batch.kubernetes.io/job-name\":\"j\"}},\"spec\":{"
				 "\"nodeName\":\"n1\",\"restartPolicy\":\"Never\","
				 "\"containers\":[{\"name\":\"main\"}]%s}}%s%s},\"status\":{}",
				 pod, spec[0] ? "," : "", spec));
}

static inline unsigned job_fixture_events(struct job_fixture *f, const char *reason)
{
	struct json *items = json_getz(job_fixture_get(f, "/api/v1/namespaces/n/events"), "items");
	unsigned n = 0;

	JSON_FOREACH (it, items)
		n += str_eqz(json_text_at(it, "reason"), reason);
	return n;
}

/* --- the node -------------------------------------------------------------------------------- */

static inline int64_t job_fixture_now(const struct job_fixture *f)
{
	return clock_monotonic(loop_clock(f->w->loop)) / CLOCK_MS;
}

static inline struct fixture_pod *job_fixture_pod(struct job_fixture *f, struct str uid,
						  struct str name)
{
	struct fixture_pod p = { .number = (unsigned)f->pods.n, .since = job_fixture_now(f) };

	for (size_t i = 0; i < f->pods.n; i++) {
		if (str_eqz(uid, f->pods.v[i].uid))
			return &f->pods.v[i];
	}
	(void)snprintf(p.uid, sizeof(p.uid), "%.*s", STR_ARG(uid));
	(void)snprintf(p.name, sizeof(p.name), "%.*s", STR_ARG(name));
	assert_true(vec_push(&f->pods, p));
	return &f->pods.v[f->pods.n - 1];
}

static inline void job_fixture_end_pod(struct job_fixture *f, struct fixture_pod *p,
				       struct fixture_end end)
{
	char time[TIMESTAMP_SIZE];
	const char *target = arena_printf(&f->arena, PODS "/%s/status", p->name);

	(void)timestamp_print(clock_wall(loop_clock(f->w->loop)), TIMESTAMP_SECONDS, time);
	job_fixture_patch(
		f, target,
		arena_printf(&f->arena,
			     "{\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"name\":"
			     "\"main\",\"state\":{\"terminated\":{\"exitCode\":%d,"
			     "\"finishedAt\":\"%s\"}}}]%s%s}}",
			     end.phase, strcmp(end.phase, "Failed") == 0 ? 1 : 0, time,
			     end.more ? "," : "", end.more ? end.more : ""));
	p->succeeded = strcmp(end.phase, "Succeeded") == 0;
	p->failed = !p->succeeded;
}

static inline void job_fixture_work_on(struct job_fixture *f, const struct json *tree)
{
	const struct json *meta = json_getz(tree, "metadata");
	struct fixture_pod *p = job_fixture_pod(f, json_text_at(meta, "uid"),
						json_text_at(meta, "name"));
	const char *target = arena_printf(&f->arena, PODS "/%s", p->name);
	struct fixture_end end;

	if (json_getz(meta, "deletionTimestamp")) {
		p->deleted = true;
		if (f->slow_end)
			return;
		if (!p->succeeded && !p->failed)
			job_fixture_end_pod(f, p, (struct fixture_end){ "Failed", NULL });
		/* The pod is gone if nothing holds it. */
		if (job_fixture_get(f, target))
			job_fixture_patch(f, target, "{\"spec\":{\"nodeName\":null}}");
		return;
	}
	if (p->succeeded || p->failed)
		return;
	if (!json_getz(tree, "status"))
		job_fixture_patch(f, arena_printf(&f->arena, "%s/status", target),
				  "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
				  "\"Ready\",\"status\":\"True\"}]}}");
	if (job_fixture_now(f) - p->since < f->lasts_ms)
		return;
	end = f->outcome(f, p, tree);
	if (end.phase)
		job_fixture_end_pod(f, p, end);
}

/* --- time ------------------------------------------------------------------------------------ */

static inline void job_fixture_step(struct job_fixture *f)
{
	controller_world_run(f->w, STEP_MS);
	if (f->dead) {
		job_fixture_stop(f);
		f->dead = false;
		f->at = 0;
		job_fixture_start(f);
	}
	if (!f->paused) {
		JSON_FOREACH (it, job_fixture_items(f))
			job_fixture_work_on(f, it);
	}
	arena_clear(&f->arena);
}

static inline void job_fixture_run(struct job_fixture *f, int64_t s)
{
	for (int64_t ms = 0; ms < s * 1000; ms += STEP_MS)
		job_fixture_step(f);
}

/* Until the Job has this condition; fails after a (simulated) hour. */
static inline void job_fixture_until(struct job_fixture *f, const char *type)
{
	for (unsigned i = 0; i < 3600 * 1000 / STEP_MS; i++) {
		if (job_fixture_is(f, type, NULL)) {
			arena_clear(&f->arena);
			return;
		}
		job_fixture_step(f);
	}
	fail_msg("the Job never becomes %s", type);
}

/* --- the model ------------------------------------------------------------------------------- */

static inline int64_t job_fixture_ended(const struct job_fixture *f, bool succeeded)
{
	int64_t n = 0;

	for (size_t i = 0; i < f->pods.n; i++)
		n += succeeded ? f->pods.v[i].succeeded : f->pods.v[i].failed;
	return n;
}

static inline unsigned job_fixture_with_finalizer(struct job_fixture *f)
{
	unsigned n = 0;

	JSON_FOREACH (it, job_fixture_items(f))
		n += json_has_text(json_getz(json_getz(it, "metadata"), "finalizers"),
				   STR(FINALIZER));
	return n;
}

#endif
