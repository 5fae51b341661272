/*
 * Two tables. `manifests` has the last valid pod of each file. `pods` has one entry per namespace
 * and name: the pod that should run, the worker that runs or ends, and the mirror pod. Any change
 * compares both and acts on each entry, so the order of events does not matter.
 *
 * The informer shows the mirror pods of the API server. The reply to our own creation or deletion
 * counts, too, until the informer shows something else: otherwise a slow watch would cause a second
 * request.
 */
#include "node/agent/statics.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/ordered/omap.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "node/agent/agent_impl.h"
#include "node/manifests/folder.h"
#include "node/manifests/manifest.h"
#include "node/manifests/mirror.h"

enum { MIRROR_FIRST_MS = 500, MIRROR_MAX_MS = 30 * 1000, MIRROR_TIMEOUT_MS = 15 * 1000 };

/* A file's last valid pod. */
struct static_manifest {
	char *path;
	struct pod *pod; /* NULL: it never was valid */
};

/* All that concerns the pod of one namespace and name. */
struct static_pod {
	struct agent_statics *statics;
	char *key; /* "namespace/name" */
	struct pod *wanted; /* NULL: no file has it */
	struct worker *worker; /* NULL: nothing runs */
	struct pod *mirror; /* NULL: the API server has none, as far as we know */
	char *dropped; /* uid of a mirror pod that we deleted; or NULL */
	bool ending; /* worker_gone() was called */
	bool made; /* the request in flight creates; else it deletes */
	struct client_request request;
	struct loop_timer again;
	struct backoff backoff;
	uint64_t told; /* hash of the failure logged last; 0: none */
};

struct agent_statics {
	struct agent *agent;
	struct manifest_folder *folder; /* NULL: none */
	struct omap manifests; /* by path */
	struct omap pods; /* by key */
	struct loop_task task; /* compares the tables at the end of the turn */
};

static void static_pod_mirror(struct static_pod *p);

/* --- entries ------------------------------------------------------------------------ */

static void static_on_again(struct loop_timer *t)
{
	static_pod_mirror(CONTAINER_OF(t, struct static_pod, again));
}

static char *statics_key(struct str ns, struct str name)
{
	size_t n = ns.n + name.n + 2;
	char *key = xmalloc(n);

	(void)snprintf(key, n, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
	return key;
}

static struct static_pod *statics_entry(struct agent_statics *s, struct str ns, struct str name)
{
	char *key = statics_key(ns, name);
	struct static_pod *p = omap_get(&s->pods, str_from(key));
	if (p) {
		free(key);
		return p;
	}
	p = XNEW(struct static_pod);
	p->statics = s;
	p->key = key;
	p->backoff = (struct backoff){
		.initial_ms = MIRROR_FIRST_MS, .max_ms = MIRROR_MAX_MS, .factor = 2, .jitter = 0.2
	};
	loop_timer_init(&p->again, s->agent->opts.loop, static_on_again);
	(void)omap_put(&s->pods, str_from(p->key), p);
	return p;
}

static void static_pod_free(struct static_pod *p)
{
	client_cancel(&p->request);
	loop_timer_stop(&p->again);
	pod_unref(p->wanted);
	pod_unref(p->mirror);
	free(p->dropped);
	free(p->key);
	free(p);
}

static void static_pod_set_mirror(struct static_pod *p, struct pod *mirror)
{
	struct pod *old = p->mirror;

	p->mirror = mirror ? pod_ref(mirror) : NULL;
	pod_unref(old);
	if (p->worker)
		worker_set_mirror(p->worker, p->mirror);
}

/* --- requests about mirror pods ------------------------------------------------------- */

static void static_mirror_failed(struct static_pod *p, const struct error *err)
{
	struct agent *a = p->statics->agent;
	uint64_t what = hash_bytes(str_from(err->msg), 1) | 1;

	if (p->told != what)
		log_warn(a->opts.log,
			 p->made ? "cannot create a mirror pod" : "cannot delete a mirror pod",
			 LOG_STR("pod", str_from(p->key)), LOG_ERR(err));
	p->told = what;
	loop_timer_start(&p->again, backoff_next(&p->backoff, loop_prng(a->opts.loop)));
}

static void static_mirror_made(struct static_pod *p, const struct client_answer *answer)
{
	CLEANUP(pod_unref) struct pod *pod = NULL;

	if (!p->mirror && pod_parse(answer->body, &pod, NULL) == 0)
		static_pod_set_mirror(p, pod);
}

static void static_mirror_done(struct client_request *r, const struct client_answer *answer,
			       const struct error *err)
{
	struct static_pod *p = r->arg;

	if (err && (p->made || err->code != ERR_NOT_FOUND)) {
		static_mirror_failed(p, err);
		return;
	}
	p->told = 0;
	backoff_reset(&p->backoff);
	if (p->made)
		static_mirror_made(p, answer);
	else if (p->mirror && str_eqz(p->mirror->uid, p->dropped))
		static_pod_set_mirror(p, NULL);
	loop_defer(p->statics->agent->opts.loop, &p->statics->task);
}

static void static_mirror_create(struct static_pod *p, struct str node_uid)
{
	CLEANUP(arena_release) struct arena scratch;
	struct agent *a = p->statics->agent;
	struct resource pods = resource_builtin("", "v1", "pods");
	struct json *body;

	arena_init(&scratch, REQUEST_WORK_MAX);
	body = pod_manifest_mirror(&scratch, p->wanted, str_from(a->opts.node_name), node_uid);
	if (!body)
		return;
	p->made = true;
	client_create(a->opts.client, &p->request, &pods, p->wanted->ns, body);
}

static void static_mirror_delete(struct static_pod *p)
{
	struct client_delete_opts opts = { .uid = p->mirror->uid, .has_grace = true };
	struct agent *a = p->statics->agent;
	struct resource pods = resource_builtin("", "v1", "pods");

	p->made = false;
	free(p->dropped);
	p->dropped = str_dup(p->mirror->uid);
	client_delete(a->opts.client, &p->request, &pods, p->mirror->ns, p->mirror->name, &opts);
}

static bool static_pod_ending(const struct static_pod *p)
{
	return p->worker && (!p->wanted || !str_eq(worker_uid(p->worker), p->wanted->uid));
}

static void static_pod_mirror(struct static_pod *p)
{
	const struct agent *a = p->statics->agent;
	const struct json *meta = json_getz(a->node, "metadata");
	struct str node_uid = json_text_at(meta, "uid");
	struct mirror_view v = { .wanted = p->wanted,
				 .ending = static_pod_ending(p),
				 .mirror = p->mirror,
				 .synced = a->pods && informer_synced(a->pods),
				 .node_exists = node_uid.n > 0 &&
						!json_getz(meta, "deletionTimestamp") };
	enum mirror_action action = mirror_decide(&v);

	if (client_busy(&p->request) || loop_timer_running(&p->again) || a->stopping)
		return;
	p->request = (struct client_request){ .on_done = static_mirror_done,
					      .arg = p,
					      .timeout_ms = MIRROR_TIMEOUT_MS };
	if (action == MIRROR_CREATE)
		static_mirror_create(p, node_uid);
	else if (action == MIRROR_DELETE)
		static_mirror_delete(p);
}

/* --- pods ------------------------------------------------------------------------- */

static void static_pod_start(struct static_pod *p)
{
	struct agent *a = p->statics->agent;
	struct worker *w = worker_new(&a->host, p->wanted,
				      assign_has_pod(a->host.assign, p->wanted->uid));

	log_info(a->opts.log, "starting a static pod", LOG_STR("pod", str_from(p->key)),
		 LOG_STR("uid", p->wanted->uid));
	p->worker = w;
	p->ending = false;
	(void)map_put(&a->workers, worker_uid(w), w);
	worker_set_mirror(w, p->mirror);
	agent_podres_refresh(a, worker_uid(w));
	(void)agent_relist(a);
}

static void static_pod_follow(struct static_pod *p)
{
	if (static_pod_ending(p) && !p->ending) {
		p->ending = true;
		log_info(p->statics->agent->opts.log, "ending a static pod",
			 LOG_STR("pod", str_from(p->key)));
		worker_gone(p->worker);
	} else if (!p->worker && p->wanted && !agent_worker(p->statics->agent, p->wanted->uid)) {
		static_pod_start(p);
	}
	static_pod_mirror(p);
}

static void statics_set_wanted(struct static_pod *p, struct pod *pod)
{
	if (p->wanted != pod)
		p->told = 0;
	pod_unref(p->wanted);
	p->wanted = pod_ref(pod);
}

/* Finds the wanted pod of each name: that of the first file that has it. */
static void statics_choose(struct agent_statics *s)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&s->pods, &c); ok; ok = omap_next(&c)) {
		struct static_pod *p = omap_value(&c);

		pod_unref(TAKE(p->wanted));
	}
	for (bool ok = omap_first(&s->manifests, &c); ok; ok = omap_next(&c)) {
		const struct static_manifest *m = omap_value(&c);
		struct static_pod *p = m->pod ? statics_entry(s, m->pod->ns, m->pod->name) : NULL;

		if (p && !p->wanted)
			statics_set_wanted(p, m->pod);
	}
}

static void statics_settle(struct agent_statics *s)
{
	struct omap_cursor c;
	bool ok;

	statics_choose(s);
	ok = omap_first(&s->pods, &c);
	while (ok) {
		struct static_pod *p = omap_value(&c);

		static_pod_follow(p);
		if (p->wanted || p->worker || p->mirror || client_busy(&p->request)) {
			ok = omap_next(&c);
			continue;
		}
		(void)omap_remove(&s->pods, str_from(p->key));
		ok = omap_seek_after(&s->pods, &c, str_from(p->key));
		static_pod_free(p);
	}
}

static void statics_on_task(struct loop_task *t)
{
	statics_settle(CONTAINER_OF(t, struct agent_statics, task));
}

void agent_statics_follow(struct agent_statics *s)
{
	loop_defer(s->agent->opts.loop, &s->task);
}

/* --- files -------------------------------------------------------------------------- */

static struct static_manifest *statics_manifest(struct agent_statics *s, struct str path)
{
	struct static_manifest *m = omap_get(&s->manifests, path);

	if (m)
		return m;
	m = XNEW(struct static_manifest);
	m->path = str_dup(path);
	(void)omap_put(&s->manifests, str_from(m->path), m);
	return m;
}

/* The path of another file, earlier in order, with a pod of that name; or NULL. */
static const char *statics_rival(const struct agent_statics *s, const struct static_manifest *own)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&s->manifests, &c); ok; ok = omap_next(&c)) {
		const struct static_manifest *m = omap_value(&c);

		if (m == own)
			return NULL;
		if (m->pod && own->pod && str_eq(m->pod->name, own->pod->name) &&
		    str_eq(m->pod->ns, own->pod->ns))
			return m->path;
	}
	return NULL;
}

static void statics_warn(const struct agent_statics *s, const struct static_manifest *m,
			 struct str warnings)
{
	const struct log *log = s->agent->opts.log;
	const char *rival = statics_rival(s, m);

	if (warnings.n > 0)
		log_warn(log, "a manifest of a static pod has faults",
			 LOG_STR("file", str_from(m->path)), LOG_STR("faults", warnings));
	if (rival)
		log_warn(log, "a manifest is ignored: another file has a pod of this name",
			 LOG_STR("file", str_from(m->path)), LOG_STR("other", str_from(rival)));
}

static void statics_on_file(void *arg, struct str path, struct str text)
{
	CLEANUP(buf_release) struct buf warnings = BUF_INIT(8 * KIB);
	struct agent_statics *s = arg;
	const struct agent_opts *o = &s->agent->opts;
	struct static_manifest *m = statics_manifest(s, path);
	struct manifest_input in = { .text = text,
				     .path = path,
				     .node_name = str_from(o->node_name),
				     .gates = &o->gates,
				     .now_ns = clock_wall(loop_clock(o->loop)) };
	struct pod *pod = NULL;
	struct error err;

	if (pod_manifest_read(&in, &pod, &warnings, &err) < 0) {
		log_error(o->log,
			  m->pod ? "a manifest of a static pod is invalid; its pod stays as it was"
				 : "a manifest of a static pod is invalid",
			  LOG_STR("file", path), LOG_ERR(&err));
		return;
	}
	if (m->pod && str_eq(m->pod->uid, pod->uid)) {
		pod_unref(pod);
		return;
	}
	pod_unref(m->pod);
	m->pod = pod;
	statics_warn(s, m, buf_str(&warnings));
	agent_statics_follow(s);
}

static void manifest_free(struct static_manifest *m)
{
	pod_unref(m->pod);
	free(m->path);
	free(m);
}

static void statics_on_gone(void *arg, struct str path)
{
	struct agent_statics *s = arg;
	struct static_manifest *m = omap_remove(&s->manifests, path);

	if (m)
		manifest_free(m);
	agent_statics_follow(s);
}

static void statics_on_problem(void *arg, struct str path, const struct error *err)
{
	const struct agent_statics *s = arg;

	log_error(s->agent->opts.log, "cannot read manifests of static pods", LOG_STR("file", path),
		  LOG_ERR(err));
}

/* --- the agent's other parts ---------------------------------------------------------- */

bool agent_statics_known(const struct agent_statics *s)
{
	return !s->folder || manifest_folder_known(s->folder);
}

struct worker *agent_statics_worker(const struct agent_statics *s, struct str ns, struct str name)
{
	char *key = statics_key(ns, name);
	const struct static_pod *p = s ? omap_get(&s->pods, str_from(key)) : NULL;

	free(key);
	return p ? p->worker : NULL;
}

bool agent_statics_mirror(struct agent_statics *s, struct pod *pod)
{
	struct static_pod *p;

	if (!pod_manifest_mirror_hash(pod).p)
		return false;
	p = statics_entry(s, pod->ns, pod->name);
	if (!p->dropped || !str_eqz(pod->uid, p->dropped) || p->mirror)
		static_pod_set_mirror(p, pod);
	agent_statics_follow(s);
	return true;
}

bool agent_statics_mirror_gone(struct agent_statics *s, struct str uid, struct str key)
{
	struct static_pod *p = omap_get(&s->pods, key);

	if (!p || !p->mirror || !str_eq(p->mirror->uid, uid))
		return false;
	static_pod_set_mirror(p, NULL);
	agent_statics_follow(s);
	return true;
}

void agent_statics_over(struct agent_statics *s, const struct worker *w)
{
	struct omap_cursor c;

	if (!s || !worker_pod(w)->is_static)
		return;
	for (bool ok = omap_first(&s->pods, &c); ok; ok = omap_next(&c)) {
		struct static_pod *p = omap_value(&c);

		if (p->worker == w)
			p->worker = NULL;
	}
	agent_statics_follow(s);
}

/* --- life --------------------------------------------------------------------------- */

struct agent_statics *agent_statics_new(struct agent *a, const char *path, int64_t period_ms)
{
	struct agent_statics *s = XNEW(struct agent_statics);

	s->agent = a;
	omap_init(&s->manifests);
	omap_init(&s->pods);
	loop_task_init(&s->task, statics_on_task);
	if (path)
		s->folder = manifest_folder_new(
			&(struct manifest_folder_opts){ .loop = a->opts.loop,
							.path = path,
							.period_ms = period_ms,
							.on_file = statics_on_file,
							.on_gone = statics_on_gone,
							.on_problem = statics_on_problem,
							.arg = s });
	return s;
}

void agent_statics_start(struct agent_statics *s)
{
	if (!s->folder)
		return;
	manifest_folder_start(s->folder);
	statics_settle(s);
}

void agent_statics_free(struct agent_statics *s)
{
	struct omap_cursor c;

	if (!s)
		return;
	loop_task_cancel(&s->task);
	manifest_folder_free(s->folder);
	for (bool ok = omap_first(&s->manifests, &c); ok; ok = omap_next(&c))
		manifest_free(omap_value(&c));
	for (bool ok = omap_first(&s->pods, &c); ok; ok = omap_next(&c))
		static_pod_free(omap_value(&c));
	omap_release(&s->manifests);
	omap_release(&s->pods);
	free(s);
}
