/*
 * All jobs are in one list, in order of arrival. A job runs when no earlier one is of the same pod.
 * They are few: a node starts a handful of pods at a time.
 *
 * A job handles its uses in a chain: each step calls the next when the kernel has replied or, with
 * a `cni` plugin, when the child process has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/report/metrics.h"
#include "drivers/cni/cni_exec.h"
#include "drivers/nic/driver_impl.h"

enum {
	/*
	 * When a namespace ends, even one that the pod created, the kernel moves hardware back some
	 * time later. The request waits this long for it. Then each sweep looks for it; after some
	 * minutes it counts as unplugged.
	 */
	BACK_RETRY_MS = 100,
	BACK_TRIES = 50,
	BACK_SECONDS = 180,

	/* How often the kernel may fail to move one back from a sandbox that has ended. */
	STUCK_TRIES = 3,
};

/* --- the queue ------------------------------------------------------------------------------- */

static void job_on_retry(struct loop_timer *t);

void *nic_job_new(struct nic_driver *d, size_t size, const char *pod_uid,
		  void (*run)(struct nic_job *j))
{
	struct nic_job *j = xcalloc(1, size);

	j->driver = d;
	j->run = run;
	j->ns_fd = -1;
	arena_init(&j->arena, SIZE_MAX);
	list_init(&j->link);
	loop_timer_init(&j->retry, d->opts.loop, job_on_retry);
	j->pod_uid = arena_strdup(&j->arena, str_from(pod_uid));
	return j;
}

static bool may_run(const struct nic_job *j)
{
	LIST_FOREACH (it, &j->driver->jobs) {
		const struct nic_job *other = LIST_ENTRY(it, struct nic_job, link);

		if (other == j)
			break;
		if (strcmp(other->pod_uid, j->pod_uid) == 0)
			return false;
	}
	return true;
}

static void job_start(struct nic_job *j)
{
	j->running = true;
	j->run(j);
}

void nic_job_queue(struct nic_job *j)
{
	list_push_back(&j->driver->jobs, &j->link);
	if (may_run(j))
		job_start(j);
}

void nic_job_move(struct nic_job *j, const char *pod_uid)
{
	struct nic_driver *d = j->driver;

	j->pod_uid = arena_strdup(&j->arena, str_from(pod_uid));
	j->running = false;
	list_remove(&j->link);
	/* Other jobs may have waited for it in its old queue. */
	loop_defer(d->opts.loop, &d->turn);
	nic_job_queue(j);
}

bool nic_job_is_busy(const struct nic_driver *d, const char *pod_uid)
{
	LIST_FOREACH (it, &d->jobs)
		if (strcmp(LIST_ENTRY(it, struct nic_job, link)->pod_uid, pod_uid) == 0)
			return true;
	return false;
}

static void nic_job_free(struct nic_job *j)
{
	list_remove(&j->link);
	loop_timer_stop(&j->retry);
	cni_exec_free(j->exec);
	if (j->ns_fd >= 0)
		(void)close(j->ns_fd);
	arena_release(&j->arena);
	free(j);
}

void nic_job_end(struct nic_job *j)
{
	struct nic_driver *d = j->driver;

	nic_job_free(j);
	loop_defer(d->opts.loop, &d->turn);
}

static struct nic_job *next_waiting(const struct nic_driver *d)
{
	LIST_FOREACH (it, &d->jobs) {
		struct nic_job *j = LIST_ENTRY(it, struct nic_job, link);

		if (!j->running && may_run(j))
			return j;
	}
	return NULL;
}

/* Running a job may end others and start new ones, so each search starts over. */
void nic_job_turn(struct loop_task *t)
{
	struct nic_driver *d = CONTAINER_OF(t, struct nic_driver, turn);

	for (struct nic_job *j; (j = next_waiting(d));)
		job_start(j);
}

void nic_job_drop_all(struct nic_driver *d)
{
	loop_task_cancel(&d->turn);
	LIST_FOREACH_SAFE (it, &d->jobs) {
		struct nic_job *j = LIST_ENTRY(it, struct nic_job, link);

		if (j->owed)
			continue;
		if (j->cancel)
			j->cancel(j);
		if (j->ask)
			nic_ask_refuse(j->ask, CNI_TRY_AGAIN, "the driver is ending");
		nic_job_free(j);
	}
	loop_defer(d->opts.loop, &d->turn);
}

void nic_job_pick(struct nic_job *j, bool (*pick)(const struct nic_job *j, const struct nic_use *u))
{
	const struct nic_book *b = j->driver->book;
	size_t n = 0;

	for (struct nic_use *u = NULL; (u = nic_book_next(b, u));)
		n += pick(j, u);
	j->uses = ARENA_ARRAY(&j->arena, struct nic_use *, n + 1);
	j->nuses = j->at = 0;
	for (struct nic_use *u = NULL; (u = nic_book_next(b, u));)
		if (pick(j, u))
			j->uses[j->nuses++] = u;
}

/* --- common ---------------------------------------------------------------------------------- */

static int64_t now(const struct nic_job *j)
{
	return clock_monotonic(loop_clock(j->driver->opts.loop));
}

static void job_fail(struct nic_job *j, const struct error *err)
{
	if (j->failure.code == ERR_OK)
		j->failure = *err;
}

static struct cni_exec_opts exec_opts(struct nic_job *j, enum cni_command command,
				      void (*on_done)(void *arg, const struct json *result,
						      const struct error *err))
{
	const struct nic_use *u = j->uses[j->at];
	const char *path = j->driver->opts.cni_path;

	if (!path)
		path = u->cni_path ? u->cni_path : "";
	return (struct cni_exec_opts){ .command = command,
				       .config = u->config.cni,
				       .network = u->config.network,
				       .container_id = u->container_id,
				       .netns = u->netns,
				       .ifname = u->cni_ifname,
				       .path = path,
				       .pod_uid = u->pod_uid,
				       .pod_name = u->pod_name,
				       .pod_namespace = u->claim_ns,
				       .on_done = on_done,
				       .arg = j };
}

void nic_job_count(struct nic_driver *d)
{
	double n = 0;

	for (const struct nic_use *u = NULL; (u = nic_book_next(d->book, u));)
		n += u->state == NIC_ATTACHED;
	if (d->attachments)
		metrics_gauge_set(d->attachments, n);
}

static void log_use(const struct nic_driver *d, enum log_level level, const char *what,
		    const struct nic_use *u, const char *interface, const struct error *err)
{
	struct log_field fields[] = {
		LOG_Z("namespace", u->claim_ns), LOG_Z("pod", u->pod_name),
		LOG_Z("claim", u->claim_name),   LOG_Z("device", u->nic.device),
		LOG_Z("interface", interface),   LOG_Z("error", err ? err->msg : NULL),
	};

	if (log_enabled(d->opts.log, level))
		log_write(d->opts.log, level, what, fields, ARRAY_SIZE(fields) - !err);
}

/* --- out of the pod -------------------------------------------------------------------------- */

static void detach_next(struct nic_job *j);

static void detached(struct nic_job *j)
{
	struct nic_driver *d = j->driver;
	struct nic_use *u = j->uses[j->at];
	struct nic_view *v = nic_view_of(u);

	nic_view_close(v);
	v->ended = v->abandoned = false;
	v->missing = 0;
	nic_host_back(d, u);
	nic_job_count(d);
	log_use(d, LOG_LEVEL_INFO, "interface detached", u, j->interface, NULL);
	nic_status_set(v, "Detached", j->message);
	j->at++;
	detach_next(j);
}

static void detach_failed(struct nic_job *j, struct error *failure)
{
	const struct nic_use *u = j->uses[j->at];

	(void)error_wrap(failure, -(int)failure->code, "take %s back", u->nic.device);
	log_use(j->driver, LOG_LEVEL_WARN, "cannot detach the interface", u, u->interface, failure);
	job_fail(j, failure);
	j->at++;
	detach_next(j);
}

/* It is not back; the sweep looks for it. The runtime may continue: only then can it come back. */
static void detach_left(struct nic_job *j, struct error *err)
{
	if (!j->ended)
		job_fail(j, err);
	j->at++;
	detach_next(j);
}

/* It is neither here nor there. Closes the namespace, since the interface is not in it. */
static int wait_for_it(struct nic_job *j, struct error *err)
{
	struct nic_use *u = j->uses[j->at];
	struct nic_view *v = nic_view_of(u);

	if (!v->missing && j->tries++ < BACK_TRIES)
		return -ERR_UNAVAILABLE;
	if (!v->missing) {
		log_use(j->driver, LOG_LEVEL_WARN, "interface is not back yet", u, u->interface,
			err);
		v->missing = now(j);
		nic_view_close(v);
	}
	if (now(j) - v->missing < BACK_SECONDS * CLOCK_SEC)
		return -ERR_NOT_FOUND;
	log_use(j->driver, LOG_LEVEL_WARN, "cannot find the interface", u, u->interface, err);
	return nic_detach_forget(j->driver->attach, u, err);
}

/* Nothing that a pod does to an interface may keep its sandbox and namespace for ever. */
static bool is_hopeless(const struct nic_use *u)
{
	const struct nic_view *v = nic_view_of(u);

	return u->stuck >= STUCK_TRIES && !v->abandoned && (v->ended || !nic_view_is_led_to(u));
}

static int abandon(struct nic_job *j, struct error *err)
{
	struct nic_use *u = j->uses[j->at];
	struct nic_view *v = nic_view_of(u);

	log_use(j->driver, LOG_LEVEL_WARN,
		"cannot take the interface back; it stays until its network namespace ends", u,
		u->interface, err);
	nic_view_close(v);
	v->abandoned = true;
	v->missing = now(j);
	return -ERR_NOT_FOUND;
}

/* Returns 0; -ERR_UNAVAILABLE: retry soon; -ERR_NOT_FOUND: left to the sweep; or another error. */
static int detach_try(struct nic_job *j, struct error *err)
{
	struct nic_use *u = j->uses[j->at];
	int fd = nic_view_namespace(u);
	int r;

	memcpy(j->interface, u->interface, sizeof(j->interface));
	r = nic_detach(j->driver->attach, u, fd, err);
	if (fd >= 0)
		(void)close(fd);
	if (r == -ERR_NOT_FOUND)
		return wait_for_it(j, err);
	return r < 0 && is_hopeless(u) ? abandon(j, err) : r;
}

static void detach_link(struct nic_job *j)
{
	struct error err;
	int r = detach_try(j, &err);

	if (r == -ERR_UNAVAILABLE)
		loop_timer_start(&j->retry, BACK_RETRY_MS);
	else if (r == -ERR_NOT_FOUND)
		detach_left(j, &err);
	else if (r < 0)
		detach_failed(j, &err);
	else
		detached(j);
}

static void job_on_retry(struct loop_timer *t)
{
	detach_link(CONTAINER_OF(t, struct nic_job, retry));
}

static void on_deleted(void *arg, const struct json *result UNUSED, const struct error *failure)
{
	struct nic_job *j = arg;
	struct error err;

	cni_exec_free(TAKE(j->exec));
	if (!failure) {
		detach_link(j);
		return;
	}
	err = *failure;
	detach_failed(j, &err);
}

/*
 * If the namespace is gone, the plugin gets none, and frees what it keeps elsewhere. If the plugin
 * is gone as well, there is nothing to call.
 */
static void detach_by_plugin(struct nic_job *j)
{
	struct cni_exec_opts o = exec_opts(j, CNI_DEL, on_deleted);
	int fd = nic_view_namespace(j->uses[j->at]);
	struct error err;
	int r;

	if (fd >= 0)
		(void)close(fd);
	else
		o.netns = "";
	o.prev_result = j->uses[j->at]->cni_result;
	r = cni_exec_new(j->driver->opts.loop, &o, &j->exec, &err);
	if (r == -ERR_NOT_FOUND && fd < 0)
		detach_link(j);
	else if (r < 0)
		detach_failed(j, &err);
}

static void detach_next(struct nic_job *j)
{
	const struct nic_use *u;

	while (j->at < j->nuses && j->uses[j->at]->state == NIC_PREPARED)
		j->at++;
	if (j->at == j->nuses) {
		j->then(j);
		return;
	}
	u = j->uses[j->at];
	nic_view_of(u)->ended |= j->ended;
	j->tries = 0;
	if (u->config.cni && u->container_id)
		detach_by_plugin(j);
	else
		detach_link(j);
}

void nic_job_detach(struct nic_job *j, const char *message, void (*then)(struct nic_job *j))
{
	j->at = 0;
	j->message = arena_strdup(&j->arena, str_from(message));
	j->then = then;
	detach_next(j);
}

/* --- into the pod ---------------------------------------------------------------------------- */

static void attach_next(struct nic_job *j);

/* Ends the chain at this use; the caller must undo its work. */
static void attach_failed(struct nic_job *j, struct error *failure)
{
	struct nic_driver *d = j->driver;
	const struct nic_use *u = j->uses[j->at];

	(void)error_wrap(failure, -(int)failure->code, "attach %s", u->nic.device);
	log_use(d, LOG_LEVEL_WARN, "cannot attach the interface", u, u->interface, failure);
	if (d->failures)
		metrics_counter_add(d->failures, 1);
	job_fail(j, failure);
	j->then(j);
}

/* It is in the pod: from now on the kernel reports its state. */
static int job_follow(struct nic_job *j, struct nic_use *u, struct error *err)
{
	int fd = fcntl(j->ns_fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot keep the namespace");
	return nic_view_open(nic_view_of(u), fd, err);
}

static void attached(struct nic_job *j)
{
	struct nic_driver *d = j->driver;
	struct nic_use *u = j->uses[j->at];
	struct error err;

	nic_host_gone(d, u);
	nic_job_count(d);
	if (job_follow(j, u, &err) < 0) {
		attach_failed(j, &err);
		return;
	}
	if (d->durations)
		metrics_histogram_observe(d->durations,
					  (double)(now(j) - j->began) / (double)CLOCK_SEC);
	log_use(d, LOG_LEVEL_INFO, "interface attached", u, u->interface, NULL);
	nic_status_tell(nic_view_of(u));
	j->at++;
	attach_next(j);
}

static int adopt(struct nic_job *j, const struct json *result, struct error *err)
{
	struct nic_use *u = j->uses[j->at];
	struct str name = cni_result_interface(result);
	int r = nic_use_set_result(u, result, err);

	if (r < 0)
		return r;
	if (rtnl_name_is_valid(name))
		(void)snprintf(u->interface, sizeof(u->interface), "%.*s", STR_ARG(name));
	return nic_attach_adopt(j->driver->attach, u, j->ns_fd, err);
}

static void on_added(void *arg, const struct json *result, const struct error *failure)
{
	struct nic_job *j = arg;
	struct error err;
	int r = 0;

	if (failure) {
		err = *failure;
		r = -(int)err.code;
	} else {
		r = adopt(j, result, &err);
	}
	cni_exec_free(TAKE(j->exec));
	if (r < 0)
		attach_failed(j, &err);
	else
		attached(j);
}

/* A plugin that never ran has nothing to undo. */
static int attach_by_plugin(struct nic_job *j, struct error *err)
{
	struct cni_exec_opts o = exec_opts(j, CNI_ADD, on_added);
	int r = cni_exec_new(j->driver->opts.loop, &o, &j->exec, err);

	if (r < 0)
		(void)nic_detach(j->driver->attach, j->uses[j->at], j->ns_fd, NULL);
	return r;
}

static void attach_next(struct nic_job *j)
{
	struct nic_driver *d = j->driver;
	struct nic_use *u;
	struct error err;
	int r;

	if (j->at == j->nuses) {
		j->then(j);
		return;
	}
	u = j->uses[j->at];
	j->began = now(j);
	r = u->nic.kind == NIC_HOST ? nic_host_check(d, u->nic.interface, &err) : 0;
	if (r == 0)
		r = nic_attach_begin(d->attach, u, j->ns_fd, &err);
	if (r == 0 && u->config.cni)
		r = attach_by_plugin(j, &err);
	else if (r == 0)
		r = nic_attach_put(d->attach, u, j->ns_fd, &err);
	if (r < 0)
		attach_failed(j, &err);
	else if (!j->exec)
		attached(j);
}

void nic_job_attach(struct nic_job *j, void (*then)(struct nic_job *j))
{
	j->at = 0;
	j->then = then;
	attach_next(j);
}
