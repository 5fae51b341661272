/*
 * Each request becomes a job of its pod. ADD first checks that no second pod uses a claim of
 * another one. Then it moves back interfaces from an older sandbox of the pod, and moves all
 * interfaces into the new one. If one fails, or the client has disconnected, all are moved back: a
 * sandbox has all interfaces or none.
 */
#include "base/core/limits.h"
#include "base/json/writer.h"
#include "drivers/nic/driver_impl.h"
#include "drivers/rtnl/netns.h"

struct sandbox {
	struct nic_job job;
	const char *container_id, *netns, *path, *network;
	const char *pod_name, *pod_ns;
	uint64_t netns_id; /* ADD */
	struct nic_second *second;
	struct error why; /* ADD: the failure, before it was undone */
	struct nic_use *culprit; /* the use that failed, or NULL */
	struct collection *collection; /* GC; or NULL */
};

/* One GC: the jobs of several pods. */
struct collection {
	struct arena arena;
	const char *network;
	const struct json *valid;
	struct nic_ask *ask;
	unsigned left; /* number of jobs, plus one */
	struct error failure;
};

static struct sandbox *sandbox_of(const struct nic_job *j)
{
	return CONTAINER_OF(j, struct sandbox, job);
}

/* --- answers --------------------------------------------------------------------------------- */

static void sandbox_refuse(struct nic_job *j, int code, const char *message)
{
	if (j->ask)
		nic_ask_refuse(TAKE(j->ask), code, message);
	nic_job_end(j);
}

/* Replies with success, or with the job's failure. */
static void conclude(struct nic_job *j)
{
	if (j->failure.code != ERR_OK) {
		sandbox_refuse(j, CNI_OTHER, j->failure.msg);
		return;
	}
	if (j->ask)
		nic_ask_answer(TAKE(j->ask), NULL);
	nic_job_end(j);
}

/* --- which uses ------------------------------------------------------------------------------ */

static bool is_pods(const struct nic_job *j, const struct nic_use *u)
{
	return strcmp(u->pod_uid, j->pod_uid) == 0;
}

/* Whether a part of it may be in a pod. */
static bool is_out(const struct nic_use *u)
{
	return u->state != NIC_PREPARED;
}

static bool is_containers(const struct nic_job *j, const struct nic_use *u)
{
	return is_out(u) && u->container_id &&
	       strcmp(u->container_id, sandbox_of(j)->container_id) == 0;
}

static bool is_in_place(const struct nic_job *j, const struct nic_use *u)
{
	return is_containers(j, u) && u->state == NIC_ATTACHED && nic_view_of(u)->pod;
}

/* A container may also have got a new namespace. */
static bool is_pods_old(const struct nic_job *j, const struct nic_use *u)
{
	return is_pods(j, u) && is_out(u) &&
	       (!is_in_place(j, u) || u->netns_id != sandbox_of(j)->netns_id);
}

static bool is_pods_waiting(const struct nic_job *j, const struct nic_use *u)
{
	return is_pods(j, u) && !is_out(u);
}

static bool has_uses(const struct nic_job *j)
{
	for (const struct nic_use *u = NULL; (u = nic_book_next(j->driver->book, u));)
		if (is_pods(j, u))
			return true;
	return false;
}

/* --- ADD ------------------------------------------------------------------------------------- */

static void add_answer(struct nic_job *j)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	json_writer_begin_array(&w);
	for (struct nic_use *u = NULL; (u = nic_book_next(j->driver->book, u));)
		if (is_pods(j, u))
			nic_status_interface(u, &nic_view_of(u)->seen, &w);
	json_writer_end_array(&w);
	if (json_writer_finish(&w) < 0)
		buf_clear(&text);
	if (j->ask)
		nic_ask_answer(TAKE(j->ask), text.n > 0 ? text.p : NULL);
	nic_job_end(j);
}

static void add_undone(struct nic_job *j)
{
	struct sandbox *s = sandbox_of(j);
	char message[600];

	for (struct nic_use *u = NULL; (u = nic_book_next(j->driver->book, u));) {
		if (!is_pods(j, u))
			continue;
		(void)snprintf(
			message, sizeof(message), "%s%s",
			u == s->culprit ? "" : "another interface of the pod failed: ", s->why.msg);
		nic_status_set(nic_view_of(u), "AttachFailed", message);
	}
	sandbox_refuse(j, CNI_OTHER, s->why.msg);
}

static void add_undo(struct nic_job *j)
{
	struct sandbox *s = sandbox_of(j);

	s->why = j->failure;
	s->culprit = j->at < j->nuses ? j->uses[j->at] : NULL;
	j->failure = (struct error){ 0 };
	nic_job_pick(j, is_containers);
	nic_job_detach(j, "the sandbox could not be made", add_undone);
}

static void add_attached(struct nic_job *j)
{
	if (j->failure.code != ERR_OK) {
		add_undo(j);
	} else if (j->gone && j->nuses > 0) {
		nic_job_pick(j, is_containers);
		nic_job_detach(j, "the runtime has given up making the sandbox", conclude);
	} else {
		add_answer(j);
	}
}

static void add_attach(struct nic_job *j)
{
	const struct sandbox *s = sandbox_of(j);

	if (j->failure.code != ERR_OK) {
		conclude(j);
		return;
	}
	nic_job_pick(j, is_pods_waiting);
	for (size_t i = 0; i < j->nuses; i++) {
		nic_use_set_sandbox(j->uses[i], s->container_id, s->netns, s->path);
		nic_use_set_network(j->uses[i], s->network);
	}
	nic_job_attach(j, add_attached);
}

static void add_begin(struct nic_job *j)
{
	struct sandbox *s = sandbox_of(j);
	struct error err;

	if (!has_uses(j)) {
		conclude(j);
		return;
	}
	if (netns_open(s->netns, &j->ns_fd, &err) < 0 ||
	    netns_id(j->ns_fd, &s->netns_id, &err) < 0) {
		sandbox_refuse(j, CNI_OTHER, err.msg);
		return;
	}
	nic_job_pick(j, is_pods_old);
	nic_job_detach(j, "the pod gets a new sandbox", add_attach);
}

/* A pod with claims here continues without the API server; about other pods nothing is known. */
static void on_second(void *arg, const struct error *err)
{
	struct nic_job *j = arg;
	struct sandbox *s = sandbox_of(j);

	nic_second_free(TAKE(s->second));
	if (!err || (err->code != ERR_CONFLICT && has_uses(j)))
		add_begin(j);
	else
		sandbox_refuse(j, err->code == ERR_CONFLICT ? CNI_OTHER : CNI_TRY_AGAIN, err->msg);
}

static void add_run(struct nic_job *j)
{
	struct sandbox *s = sandbox_of(j);

	if (nic_second_possible(j->driver, s->pod_ns, j->pod_uid))
		s->second = nic_second_new(j->driver, s->pod_ns, s->pod_name, j->pod_uid, on_second,
					   j);
	else
		add_begin(j);
}

static void add_cancel(struct nic_job *j)
{
	nic_second_free(TAKE(sandbox_of(j)->second));
}

/* --- DEL and GC ------------------------------------------------------------------------------ */

static void del_run(struct nic_job *j)
{
	j->ended = true;
	nic_job_pick(j, is_containers);
	nic_job_detach(j, "the pod's sandbox has ended", conclude);
}

/* The list covers one network; uses of other or unknown networks are not in it. */
static bool is_pods_invalid(const struct nic_job *j, const struct nic_use *u)
{
	const struct collection *c = sandbox_of(j)->collection;

	if (!is_pods(j, u) || !is_out(u) || !u->cni_network ||
	    strcmp(u->cni_network, c->network) != 0)
		return false;
	return !u->container_id || !json_find(c->valid, "containerID", str_from(u->container_id));
}

static void collection_left(struct collection *c)
{
	if (--c->left > 0)
		return;
	if (c->failure.code != ERR_OK)
		nic_ask_refuse(c->ask, CNI_OTHER, c->failure.msg);
	else
		nic_ask_answer(c->ask, NULL);
	arena_release(&c->arena);
	free(c);
}

static void collect_end(struct nic_job *j)
{
	struct collection *c = sandbox_of(j)->collection;

	if (c->failure.code == ERR_OK)
		c->failure = j->failure;
	nic_job_end(j);
	collection_left(c);
}

static void collect_cancel(struct nic_job *j)
{
	struct collection *c = sandbox_of(j)->collection;

	(void)error_set(&c->failure, ERR_UNAVAILABLE, "the driver is ending");
	collection_left(c);
}

static void collect_run(struct nic_job *j)
{
	j->ended = true;
	nic_job_pick(j, is_pods_invalid);
	nic_job_detach(j, "the runtime does not know the pod's sandbox any more", collect_end);
}

/* The first use of each pod represents the pod. */
static bool is_first(const struct nic_driver *d, const struct nic_use *u)
{
	for (const struct nic_use *o = NULL; (o = nic_book_next(d->book, o)) && o != u;)
		if (strcmp(o->pod_uid, u->pod_uid) == 0)
			return false;
	return true;
}

static void sandbox_collect(struct nic_driver *d, struct nic_ask *ask, const struct nic_question *q)
{
	struct collection *c = XNEW(struct collection);
	struct json *valid = NULL;
	struct sandbox *s;
	struct list jobs;

	arena_init(&c->arena, SIZE_MAX);
	if (q->valid)
		(void)json_copy(&c->arena, q->valid, &valid, NULL);
	c->valid = valid;
	c->network = arena_strdup(&c->arena, str_from(q->network));
	c->ask = ask;
	c->left = 1;
	list_init(&jobs);
	for (struct nic_use *u = NULL; (u = nic_book_next(d->book, u));) {
		if (!is_first(d, u))
			continue;
		s = nic_job_new(d, sizeof(*s), u->pod_uid, collect_run);
		s->job.cancel = collect_cancel;
		s->collection = c;
		c->left++;
		list_push_back(&jobs, &s->job.link);
	}
	for (struct list *it; (it = list_pop_front(&jobs));)
		nic_job_queue(LIST_ENTRY(it, struct nic_job, link));
	collection_left(c);
}

/* --- CHECK ----------------------------------------------------------------------------------- */

static int check_use(const struct nic_job *j, const struct nic_use *u, struct error *err)
{
	const struct nic_view *v = nic_view_of(u);
	struct nic_seen seen;
	char message[512];
	const char *reason;
	int r;

	if (!is_in_place(j, u))
		return error_set(err, ERR_NOT_FOUND, "%s is %s, not attached to this sandbox",
				 u->nic.device, nic_state_name(u->state));
	r = nic_attach_look(v->pod, u, &seen, err);
	if (r < 0)
		return r;
	reason = nic_status_judge(u, &seen, message);
	if (strcmp(reason, "Attached") != 0)
		return error_set(err, ERR_CONFLICT, "%s: %s: %s", u->nic.device, reason, message);
	return 0;
}

static void check_run(struct nic_job *j)
{
	struct error err;

	for (struct nic_use *u = NULL; (u = nic_book_next(j->driver->book, u));) {
		if (is_pods(j, u) && check_use(j, u, &err) < 0) {
			j->failure = err;
			break;
		}
	}
	conclude(j);
}

/* --- questions ------------------------------------------------------------------------------- */

static void ask_job(struct nic_driver *d, struct nic_ask *ask, const struct nic_question *q,
		    const char *pod_uid, void (*run)(struct nic_job *j))
{
	struct sandbox *s = nic_job_new(d, sizeof(*s), pod_uid, run);
	struct arena *a = &s->job.arena;

	s->container_id = arena_strdup(a, str_from(q->container_id));
	s->netns = arena_strdup(a, str_from(q->netns));
	s->network = arena_strdup(a, str_from(q->network));
	s->path = arena_strdup(a, str_from(d->opts.cni_path ? d->opts.cni_path : q->path));
	s->pod_name = arena_strdup(a, str_from(q->pod_name));
	s->pod_ns = arena_strdup(a, str_from(q->pod_namespace));
	s->job.cancel = add_cancel;
	s->job.ask = ask;
	nic_job_queue(&s->job);
}

/* The pod with interfaces in the container; a runtime need not name the pod again. */
static const char *pod_of_container(const struct nic_driver *d, const struct nic_question *q)
{
	for (const struct nic_use *u = NULL; (u = nic_book_next(d->book, u));)
		if (is_out(u) && u->container_id && strcmp(u->container_id, q->container_id) == 0)
			return u->pod_uid;
	return q->pod_uid;
}

/*
 * For a runtime that does not pass the pod's UID. The pod is found by name if it has a use.
 * Otherwise, if it could be a pod with claims, the request is rejected: a pod must not start
 * without its interface.
 */
static void add_without_uid(struct nic_driver *d, struct nic_ask *ask, const struct nic_question *q)
{
	const char *uid = NULL;
	bool several = false, possible = false;

	for (const struct nic_use *u = NULL; (u = nic_book_next(d->book, u));) {
		if (*q->pod_namespace && strcmp(u->claim_ns, q->pod_namespace) != 0)
			continue;
		possible |= *q->pod_namespace || !is_out(u);
		if (!*q->pod_namespace || strcmp(u->pod_name, q->pod_name) != 0)
			continue;
		several |= uid && strcmp(uid, u->pod_uid) != 0;
		uid = u->pod_uid;
	}
	if (uid && !several)
		ask_job(d, ask, q, uid, add_run);
	else if (possible)
		nic_ask_refuse(ask, CNI_INVALID_ENVIRONMENT,
			       "the runtime does not tell the pod's uid (K8S_POD_UID in CNI_ARGS), "
			       "and network devices are prepared that may be this pod's");
	else
		nic_ask_answer(ask, NULL);
}

/*
 * On failure a runtime considers the node's network down, so the API server's state does not count.
 */
static void status(const struct nic_driver *d, struct nic_ask *ask)
{
	if (!d->known)
		nic_ask_refuse(ask, CNI_NOT_AVAILABLE,
			       "cannot read the node's network interfaces yet");
	else
		nic_ask_answer(ask, NULL);
}

void nic_sandbox_question(void *arg, struct nic_ask *ask, const struct nic_question *q)
{
	struct nic_driver *d = arg;
	const char *pod;

	switch (q->command) {
	case CNI_ADD:
		if (!*q->pod_uid)
			add_without_uid(d, ask, q);
		else
			ask_job(d, ask, q, q->pod_uid, add_run);
		return;
	case CNI_DEL:
		pod = pod_of_container(d, q);
		if (!*pod)
			nic_ask_answer(ask, NULL);
		else
			ask_job(d, ask, q, pod, del_run);
		return;
	case CNI_CHECK:
		ask_job(d, ask, q, pod_of_container(d, q), check_run);
		return;
	case CNI_GC:
		sandbox_collect(d, ask, q);
		return;
	case CNI_STATUS:
	case CNI_VERSION:
	case CNI_COMMANDS:
		break;
	}
	status(d, ask);
}

void nic_sandbox_gone(void *arg, struct nic_ask *ask)
{
	struct nic_driver *d = arg;

	LIST_FOREACH (it, &d->jobs) {
		struct nic_job *j = LIST_ENTRY(it, struct nic_job, link);

		if (j->ask == ask)
			j->gone = true;
	}
}

/* --- what nobody asks about ------------------------------------------------------------------ */

static bool is_lost(const struct nic_use *u)
{
	return is_out(u) && (u->state != NIC_ATTACHED || !nic_view_is_led_to(u));
}

static bool is_pods_lost(const struct nic_job *j, const struct nic_use *u)
{
	return is_pods(j, u) && is_lost(u);
}

static void sweep_run(struct nic_job *j)
{
	nic_job_pick(j, is_pods_lost);
	nic_job_detach(j, "the pod's namespace is gone, or the driver ended in the middle",
		       conclude);
}

static void follow_again(struct nic_use *u)
{
	struct nic_view *v = nic_view_of(u);
	int fd = nic_view_namespace(u);
	struct error err;

	if (fd < 0)
		return;
	if (nic_view_open(v, fd, &err) == 0)
		nic_status_tell(v);
	else
		log_warn(v->driver->opts.log, "cannot watch the interface",
			 LOG_Z("device", u->nic.device), LOG_Z("pod", u->pod_name), LOG_ERR(&err));
}

void nic_sandbox_sweep(struct nic_driver *d)
{
	struct nic_job *j;

	for (struct nic_use *u = NULL; (u = nic_book_next(d->book, u));) {
		if (!is_out(u) || nic_job_is_busy(d, u->pod_uid))
			continue;
		if (is_lost(u)) {
			j = nic_job_new(d, sizeof(*j), u->pod_uid, sweep_run);
			nic_job_queue(j);
		} else if (!nic_view_of(u)->pod) {
			follow_again(u);
		}
	}
}
