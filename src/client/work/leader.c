/*
 * One attempt is a chain of requests, each sent after the reply to the one before. A leader
 * directly writes what it believes to be the next state (RENEW) and falls back to reading (GET) if
 * that fails. A candidate reads, then creates or takes the lease.
 *
 * `seen` is the last known record, with the time on our own clock. The text of the Lease is kept
 * because a write must carry its resourceVersion. There are two timers: one for the next attempt,
 * and one for the renew deadline, which also limits the release.
 */
#include "client/work/leader.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/api/client.h"
#include "client/work/lease.h"
#include "net/loop/loop.h"

#define JITTER 1.2

enum leader_state {
	STATE_IDLE, /* before the start, and after the end */
	STATE_CANDIDATE,
	STATE_LEADING,
	STATE_RELEASING,
};

enum leader_step { STEP_NONE, STEP_RENEW, STEP_GET, STEP_CREATE, STEP_TAKE };

struct leader {
	struct leader_opts opts;
	struct loop *loop;
	struct resource leases;
	enum leader_state state;
	enum leader_step step;
	struct client_request request;
	struct loop_timer again, deadline;
	struct lease_record seen; /* the last known record */
	int64_t seen_at; /* loop's ms; when it was first seen */
	int64_t asked_ns, held_ns; /* when the last write was sent, and the last successful one */
	struct lease_record wanted; /* the record that the current request writes */
	struct buf lease; /* text of the Lease as last seen; empty: none */
	char *reported; /* the holder passed to new_leader; NULL: none yet */
	struct error failure; /* of the last attempt */
	struct metrics_gauge *status;
	struct metrics_counter *slowpath;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* --- our knowledge --------------------------------------------------------------------------- */

static bool leader_is_ours(const struct leader *l)
{
	return lease_record_held_by(&l->seen, l->opts.identity);
}

static bool is_valid(const struct leader *l)
{
	return l->seen_at + l->seen.duration_s * 1000 > loop_now(l->loop);
}

static void see(struct leader *l, const struct lease_record *r)
{
	lease_record_copy(&l->seen, r);
	l->seen_at = loop_now(l->loop);
}

static void keep_text(struct leader *l, struct str text)
{
	buf_clear(&l->lease);
	(void)buf_add_str(&l->lease, text);
}

static void leader_report(struct leader *l)
{
	const char *holder = l->seen.holder ? l->seen.holder : "";

	if (strcmp(l->reported ? l->reported : "", holder) == 0)
		return;
	free(l->reported);
	l->reported = xstrdup(holder);
	if (l->opts.new_leader)
		l->opts.new_leader(l->opts.arg, str_from(l->reported));
}

static void set_status(struct leader *l, bool leading)
{
	if (l->status)
		metrics_gauge_set(l->status, leading ? 1 : 0);
}

/* --- one try --------------------------------------------------------------------------------- */

static void try_lease(struct leader *l);

static void begin_step(struct leader *l, enum leader_step step)
{
	/* Two attempts fit into the renew deadline, as in kube-controller-manager. */
	l->step = step;
	l->request.timeout_ms = MAX(1000, l->opts.renew_deadline_ms / 2);
}

static void send_get(struct leader *l)
{
	begin_step(l, STEP_GET);
	client_get(l->opts.client, &l->request, &l->leases, str_from(l->opts.ns),
		   str_from(l->opts.name));
}

static void fail_try(struct leader *l, const struct error *err)
{
	double jitter = l->state == STATE_CANDIDATE ? JITTER * prng_unit(loop_prng(l->loop)) : 0;
	int64_t period = l->opts.retry_period_ms;

	l->failure = *err;
	l->step = STEP_NONE;
	if (l->opts.log)
		log_debug(l->opts.log, "no lease", LOG_Z("lease", l->opts.name), LOG_ERR(err));
	loop_timer_start(&l->again, period + (int64_t)((double)period * jitter));
	leader_report(l);
}

static void send_write(struct leader *l, enum leader_step step)
{
	struct str ns = str_from(l->opts.ns), name = str_from(l->opts.name);
	struct buf body = BUF_INIT(OBJECT_MAX);
	struct error err;
	bool create = step == STEP_CREATE;

	if (lease_record_write(&l->wanted, create ? STR_NULL : buf_str(&l->lease), l->opts.ns,
			       l->opts.name, &body, &err) < 0) {
		buf_release(&body);
		fail_try(l, &err);
		return;
	}
	begin_step(l, step);
	l->asked_ns = clock_monotonic(loop_clock(l->loop));
	l->request.body = buf_str(&body);
	if (create)
		client_create(l->opts.client, &l->request, &l->leases, ns, NULL);
	else
		client_update(l->opts.client, &l->request, &l->leases, ns, name, NULL);
	l->request.body = STR_NULL;
	buf_release(&body);
}

/* Computes the next record, for holding or taking the lease. */
static void want(struct leader *l)
{
	int64_t now = clock_wall(loop_clock(l->loop));
	bool ours = leader_is_ours(l);
	struct lease_record next = {
		.holder = (char *)l->opts.identity,
		.duration_s = l->opts.lease_duration_ms / 1000,
		.transitions = l->seen.transitions + (ours ? 0 : 1),
		.renew_ns = now - now % 1000,
		.acquire_ns = ours ? l->seen.acquire_ns : now - now % 1000,
	};

	lease_record_copy(&l->wanted, &next);
}

static void want_release(struct leader *l)
{
	int64_t now = clock_wall(loop_clock(l->loop));
	struct lease_record next = { .holder = NULL,
				     .duration_s = 1,
				     .transitions = l->seen.transitions,
				     .renew_ns = now - now % 1000,
				     .acquire_ns = now - now % 1000 };

	lease_record_copy(&l->wanted, &next);
}

static void try_lease(struct leader *l)
{
	if (l->state != STATE_LEADING || !leader_is_ours(l) || !is_valid(l) || l->lease.n == 0) {
		send_get(l);
		return;
	}
	want(l);
	send_write(l, STEP_RENEW);
}

/* --- results --------------------------------------------------------------------------------- */

static void end_release(struct leader *l)
{
	void (*stopped)(void *arg) = l->stopped;

	l->state = STATE_IDLE;
	l->step = STEP_NONE;
	loop_timer_stop(&l->again);
	loop_timer_stop(&l->deadline);
	client_cancel(&l->request);
	l->stopped = NULL;
	if (stopped)
		stopped(l->stopped_arg);
}

static void leader_hold(struct leader *l)
{
	bool begins = l->state == STATE_CANDIDATE;

	l->step = STEP_NONE;
	l->failure.code = ERR_OK;
	see(l, &l->wanted);
	l->held_ns = l->asked_ns;
	if (l->state == STATE_RELEASING) {
		leader_report(l);
		end_release(l);
		return;
	}
	loop_timer_stop(&l->deadline);
	loop_timer_start(&l->again, l->opts.retry_period_ms);
	l->state = STATE_LEADING;
	set_status(l, true);
	leader_report(l);
	if (begins)
		l->opts.started_leading(l->opts.arg);
}

static void on_got(struct leader *l, struct str text)
{
	struct lease_record r = { NULL };
	struct error err;

	if (lease_record_read(text, &r, &err) < 0) {
		fail_try(l, &err);
		return;
	}
	keep_text(l, text);
	if (!lease_record_equal(&r, &l->seen) || l->seen_at == 0)
		see(l, &r);
	lease_record_release(&r);
	if (l->state == STATE_RELEASING) {
		if (!leader_is_ours(l)) {
			end_release(l);
			return;
		}
		want_release(l);
		send_write(l, STEP_TAKE);
		return;
	}
	if (!leader_is_ours(l) &&
	    ((l->seen.holder[0] && is_valid(l)) || l->state == STATE_LEADING)) {
		(void)error_set(&err, ERR_CONFLICT, "it is held by %s",
				l->seen.holder[0] ? l->seen.holder : "nobody");
		fail_try(l, &err);
		/* Another process has led since, and what it did is unknown here: stop leading. */
		if (l->state == STATE_LEADING)
			loop_timer_start(&l->deadline, 0);
		return;
	}
	if (leader_is_ours(l) && l->slowpath)
		metrics_counter_add(l->slowpath, 1);
	want(l);
	send_write(l, STEP_TAKE);
}

/* A conflict means that our last renewal succeeded after all: read and try again. */
static void on_release_failed(struct leader *l, enum leader_step step, const struct error *err)
{
	if (err->code == ERR_CONFLICT && step != STEP_GET)
		send_get(l);
	else
		end_release(l);
}

static void leader_on_done(struct client_request *q, const struct client_answer *a,
			   const struct error *err)
{
	struct leader *l = q->arg;
	enum leader_step step = l->step;

	if (err && l->state == STATE_RELEASING) {
		on_release_failed(l, step, err);
	} else if (err && step == STEP_RENEW) {
		send_get(l);
	} else if (err && step == STEP_GET && err->code == ERR_NOT_FOUND) {
		buf_clear(&l->lease);
		lease_record_release(&l->seen);
		want(l);
		l->wanted.transitions = 0;
		send_write(l, STEP_CREATE);
	} else if (err) {
		fail_try(l, err);
	} else if (step == STEP_GET) {
		on_got(l, a->body);
	} else {
		keep_text(l, a->body);
		leader_hold(l);
	}
}

/* --- timers ---------------------------------------------------------------------------------- */

static void leader_on_again(struct loop_timer *t)
{
	struct leader *l = CONTAINER_OF(t, struct leader, again);

	if (l->state == STATE_LEADING && !loop_timer_running(&l->deadline))
		loop_timer_start(&l->deadline, l->opts.renew_deadline_ms);
	try_lease(l);
}

static void on_deadline(struct loop_timer *t)
{
	struct leader *l = CONTAINER_OF(t, struct leader, deadline);
	struct error why;

	if (l->state == STATE_RELEASING) {
		end_release(l);
		return;
	}
	l->state = STATE_IDLE;
	l->step = STEP_NONE;
	loop_timer_stop(&l->again);
	client_cancel(&l->request);
	set_status(l, false);
	leader_report(l);
	(void)error_set(&why, ERR_TIMEOUT, "the lease %s/%s could not be renewed in time%s%s",
			l->opts.ns, l->opts.name, l->failure.code == ERR_OK ? "" : ": ",
			l->failure.code == ERR_OK ? "" : l->failure.msg);
	l->opts.stopped_leading(l->opts.arg, &why);
}

/* --- life ------------------------------------------------------------------------------------ */

static void default_times(struct leader_opts *o)
{
	if (o->lease_duration_ms == 0)
		o->lease_duration_ms = 15000;
	if (o->renew_deadline_ms == 0)
		o->renew_deadline_ms = 10000;
	if (o->retry_period_ms == 0)
		o->retry_period_ms = 2000;
}

static int check_times(const struct leader_opts *o, struct error *err)
{
	if (o->lease_duration_ms < 1000)
		return error_set(err, ERR_INVALID, "leaseDuration must be at least one second");
	if (o->lease_duration_ms <= o->renew_deadline_ms)
		return error_set(err, ERR_INVALID,
				 "leaseDuration must be greater than renewDeadline");
	if (o->retry_period_ms < 1)
		return error_set(err, ERR_INVALID, "retryPeriod must be greater than zero");
	if ((double)o->renew_deadline_ms <= JITTER * (double)o->retry_period_ms)
		return error_set(err, ERR_INVALID,
				 "renewDeadline must be greater than retryPeriod*JitterFactor");
	if (!o->identity || !o->identity[0])
		return error_set(err, ERR_INVALID, "Lock identity is empty");
	return 0;
}

static void leader_make_metrics(struct leader *l)
{
	static const char *const labels[] = { "name" };
	struct metrics_spec status = {
		.name = "leader_election_master_status",
		.help = "Gauge of if the reporting system is master of the relevant lease, 0 "
			"indicates backup, 1 indicates master.",
		.type = METRICS_GAUGE,
		.labels = labels,
		.labels_n = 1,
	};
	struct metrics_spec slow = {
		.name = "leader_election_slowpath_total",
		.help = "Total number of slow path exercised in renewing leader leases.",
		.type = METRICS_COUNTER,
		.labels = labels,
		.labels_n = 1,
	};
	struct metrics_family *f = NULL;

	if (!l->opts.metrics)
		return;
	(void)metrics_register(l->opts.metrics, &status, &f, NULL);
	l->status = metrics_gauge(f, str_from(l->opts.name));
	(void)metrics_register(l->opts.metrics, &slow, &f, NULL);
	l->slowpath = metrics_counter(f, str_from(l->opts.name));
}

int leader_new(const struct leader_opts *opts, struct leader **ret_leader, struct error *err)
{
	struct leader_opts o = *opts;
	struct leader *l;
	int r;

	default_times(&o);
	r = check_times(&o, err);
	if (r < 0)
		return r;
	l = XNEW(struct leader);
	l->opts = o;
	l->opts.ns = xstrdup(o.ns);
	l->opts.name = xstrdup(o.name);
	l->opts.identity = xstrdup(o.identity);
	l->loop = client_loop(o.client);
	l->leases = resource_builtin("coordination.k8s.io", "v1", "leases");
	l->request.on_done = leader_on_done;
	l->request.arg = l;
	buf_init(&l->lease, OBJECT_MAX);
	loop_timer_init(&l->again, l->loop, leader_on_again);
	loop_timer_init(&l->deadline, l->loop, on_deadline);
	leader_make_metrics(l);
	*ret_leader = l;
	return 0;
}

void leader_free(struct leader *l)
{
	if (!l)
		return;
	client_cancel(&l->request);
	loop_timer_stop(&l->again);
	loop_timer_stop(&l->deadline);
	lease_record_release(&l->seen);
	lease_record_release(&l->wanted);
	buf_release(&l->lease);
	free(l->reported);
	free((char *)l->opts.ns);
	free((char *)l->opts.name);
	free((char *)l->opts.identity);
	free(l);
}

void leader_start(struct leader *l)
{
	if (l->state != STATE_IDLE)
		return;
	l->state = STATE_CANDIDATE;
	loop_timer_start(&l->again, 0);
}

void leader_stop(struct leader *l, void (*done)(void *arg), void *arg)
{
	bool leading = l->state == STATE_LEADING;

	client_cancel(&l->request);
	set_status(l, false);
	l->stopped = done;
	l->stopped_arg = arg;
	l->state = STATE_RELEASING;
	loop_timer_stop(&l->again);
	/* Without a lease, too, `done` is called later, never from here. */
	loop_timer_start(&l->deadline, leading ? l->opts.renew_deadline_ms : 0);
	if (leading)
		send_get(l);
}

bool leader_is_leader(const struct leader *l)
{
	int64_t age = clock_monotonic(loop_clock(l->loop)) - l->held_ns;

	return l->state == STATE_LEADING && leader_is_ours(l) &&
	       age < l->opts.lease_duration_ms * CLOCK_MS;
}

struct str leader_holder(const struct leader *l)
{
	return str_from(l->seen.holder ? l->seen.holder : "");
}

int leader_check(const struct leader *l, int64_t tolerable_ms, struct error *err)
{
	if (l->state != STATE_LEADING ||
	    loop_now(l->loop) - l->seen_at <= l->opts.lease_duration_ms + tolerable_ms)
		return 0;
	return error_set(err, ERR_INTERNAL, "failed election to renew leadership on lease %s",
			 l->opts.name);
}
