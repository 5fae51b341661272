/*
 * The policy is read by all lanes without a lock. The first loop replaces it as a whole: see
 * cache/reclaim.h.
 */
#include "server/audit/audit.h"

#include <stdatomic.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/system/file.h"
#include "net/loop/loop.h"
#include "server/audit/file.h"
#include "server/audit/webhook.h"
#include "server/cache/reclaim.h"
#include "server/server_limits.h"

enum {
	LOOK_MS = 1000, /* how often the policy's file is looked at */
	POST_TIMEOUT_MS = 30 * 1000, /* upstream's */
	STOP_MS = 5 * 1000,
};

/* What tells one version of a file from another. */
struct version {
	int64_t seconds, ns;
	uint64_t inode;
	int64_t size;
};

struct audit {
	char *policy_file; /* or NULL */
	bool strict, batch;
	struct audit_file *file; /* or NULL */
	struct audit_webhook *webhook; /* or NULL */
	size_t file_max, webhook_max; /* bytes of an event with its objects; 0: no limit */
	_Atomic(struct audit_policy *) policy; /* NULL: none */
	struct reclaim *reclaim;
	struct version version; /* of the policy's file that was read last */
	struct loop_timer look;
	atomic_bool failing; /* the last line could not be written, and that was logged */
	atomic_bool full; /* the last event found the webhook's buffer full; logged */
	struct metrics_counter *events, *rejected, *levels[AUDIT_LEVELS];
	struct metrics_counter *file_errors, *webhook_errors, *buffer_errors;
	const struct log *log;
};

/* --- metrics ------------------------------------------------------------------------------ */

static int add_family(struct metrics *m, const char *name, const char *help, const char *label,
		      struct metrics_family **ret_family, struct error *err)
{
	struct metrics_spec spec = { .name = name,
				     .help = help,
				     .type = METRICS_COUNTER,
				     .labels = &label,
				     .labels_n = label ? 1 : 0 };

	return metrics_register(m, &spec, ret_family, err);
}

static int add_metrics(struct audit *a, struct metrics *m, struct error *err)
{
	struct metrics_family *events, *rejected, *errors, *levels;
	int r = add_family(m, "apiserver_audit_event_total", "Events that the audit log took.",
			   NULL, &events, err);

	if (r == 0)
		r = add_family(m, "apiserver_audit_requests_rejected_total",
			       "Requests rejected because their event could not be written.", NULL,
			       &rejected, err);
	if (r == 0)
		r = add_family(m, "apiserver_audit_error_total", "Events that the audit log lost.",
			       "plugin", &errors, err);
	if (r == 0)
		r = add_family(m, "apiserver_audit_level_total",
			       "Requests by the level that the audit policy gives them.", "level",
			       &levels, err);
	if (r < 0)
		return r;
	a->events = metrics_counter_of(events, NULL, 0);
	a->rejected = metrics_counter_of(rejected, NULL, 0);
	a->file_errors = metrics_counter(errors, STR("log"));
	a->webhook_errors = metrics_counter(errors, STR("webhook"));
	a->buffer_errors = metrics_counter(errors, STR("buffered"));
	for (int i = 0; i < AUDIT_LEVELS; i++)
		a->levels[i] = metrics_counter(levels, str_from(audit_level_name(i)));
	return 0;
}

/* --- the policy --------------------------------------------------------------------------- */

static int look_at(const char *path, struct version *ret_version)
{
	struct stat st;

	*ret_version = (struct version){ 0 };
	if (stat(path, &st) < 0)
		return -1;
	*ret_version = (struct version){ st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_ino,
					 st.st_size };
	return 0;
}

static bool is_same(const struct version *a, const struct version *b)
{
	return a->seconds == b->seconds && a->ns == b->ns && a->inode == b->inode &&
	       a->size == b->size;
}

static int read_policy(const struct audit *a, struct audit_policy **ret_policy, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(AUDIT_POLICY_MAX);
	int r = file_read(a->policy_file, &text, err);

	if (r < 0)
		return error_wrap(err, r, "--audit-policy-file");
	r = audit_policy_read(buf_str(&text), ret_policy, err);
	return r < 0 ? error_wrap(err, r, "--audit-policy-file %s", a->policy_file) : 0;
}

static void drop_policy(void *policy)
{
	audit_policy_free(policy);
}

static void renew_policy(struct audit *a)
{
	struct audit_policy *next, *before;
	struct error err = { 0 };

	if (read_policy(a, &next, &err) < 0) {
		log_error(a->log, "the new audit policy is faulty; the old one stays",
			  LOG_ERR(&err));
		return;
	}
	log_info(a->log, "audit policy reloaded", LOG_UINT("rules", audit_policy_rules(next)));
	before = atomic_exchange(&a->policy, next); /* sequentially consistent: see reclaim.h */
	reclaim_retire(a->reclaim, before, drop_policy);
}

/* A file that is gone is one that is being replaced: the old policy stays. */
static void on_look(struct loop_timer *t)
{
	struct audit *a = CONTAINER_OF(t, struct audit, look);
	struct version now;

	if (look_at(a->policy_file, &now) == 0 && !is_same(&now, &a->version)) {
		a->version = now;
		renew_policy(a);
	}
	reclaim_flush(a->reclaim);
	loop_timer_start(t, LOOK_MS);
}

static int open_policy(struct audit *a, const struct audit_opts *opts, struct error *err)
{
	struct audit_policy *first = NULL;
	int r;

	if (!opts->policy_file)
		return 0;
	a->policy_file = xstrdup(opts->policy_file);
	a->reclaim = reclaim_new(MAX(opts->nlanes, (size_t)1));
	(void)look_at(a->policy_file, &a->version);
	r = read_policy(a, &first, err);
	if (r < 0)
		return r;
	atomic_store(&a->policy, first);
	if (opts->loop) {
		loop_timer_init(&a->look, opts->loop, on_look);
		loop_timer_start(&a->look, LOOK_MS);
	}
	return 0;
}

bool audit_has_policy(const struct audit *a)
{
	return a->policy_file != NULL;
}

struct audit_decision audit_decide(struct audit *a, size_t lane, const struct audit_question *q)
{
	struct audit_decision d = { .level = AUDIT_METADATA };

	if (!a->policy_file) {
		d.omit = a->strict ? 0 : 1 << AUDIT_RECEIVED;
		return d;
	}
	reclaim_enter(a->reclaim, lane);
	d = audit_policy_decide(atomic_load(&a->policy), q);
	reclaim_leave(a->reclaim, lane);
	metrics_counter_add(a->levels[d.level], 1);
	return d;
}

/* --- events ------------------------------------------------------------------------------- */

bool audit_is_strict(const struct audit *a)
{
	return a->strict;
}

void audit_count_rejection(struct audit *a)
{
	metrics_counter_add(a->rejected, 1);
}

static void tell_of_file(struct audit *a, bool written)
{
	if (!written)
		metrics_counter_add(a->file_errors, 1);
	if (!written && !atomic_exchange(&a->failing, true))
		log_error(a->log, "cannot write the audit log",
			  LOG_Z("requests", a->strict ? "are refused" : "go on"));
	else if (written && atomic_load(&a->failing) && atomic_exchange(&a->failing, false))
		log_info(a->log, "the audit log can be written again");
}

static void on_line_sent(void *arg, bool written)
{
	struct audit *a = arg;

	metrics_counter_add(a->events, written);
	tell_of_file(a, written);
}

static void on_events_lost(void *arg, size_t events)
{
	struct audit *a = arg;

	metrics_counter_add(a->webhook_errors, events);
}

static void tell_of_buffer(struct audit *a, bool taken)
{
	if (!taken)
		metrics_counter_add(a->buffer_errors, 1);
	if (!taken && !atomic_exchange(&a->full, true))
		log_error(a->log, "an audit buffer is full; events are lost");
	else if (taken && atomic_load(&a->full))
		atomic_store(&a->full, false);
}

/*
 * As in upstream, an event that is longer than `max` loses its objects, and is lost if it is still
 * too long. max 0: no limit.
 */
static bool print_within(const struct audit_event *e, size_t max, struct buf *line)
{
	struct audit_event small = *e;

	buf_clear(line);
	if (audit_event_print(e, line) == 0 && (!max || line->n <= max))
		return true;
	small.request = small.response = STR("");
	small.cut = true;
	buf_clear(line);
	return audit_event_print(&small, line) == 0 && (!max || line->n <= max);
}

/* Returns false if the event is lost. */
static bool emit_to_webhook(struct audit *a, const struct audit_event *e, struct buf *line)
{
	CLEANUP(bytes_unref) struct bytes *shared = NULL;

	if (!print_within(e, a->webhook_max, line))
		return false;
	shared = bytes_copy(buf_str(line));
	return audit_webhook_send(a->webhook, shared);
}

static bool emit_to_queue(struct audit *a, const struct buf *line)
{
	CLEANUP(bytes_unref) struct bytes *shared = bytes_copy(buf_str(line));

	return audit_file_send(a->file, shared);
}

/* The file's own thread counts what is sent to it. */
static bool emit_to_file(struct audit *a, const struct audit_event *e, struct buf *line)
{
	bool taken = print_within(e, a->file_max, line);

	if (taken && a->batch) {
		tell_of_buffer(a, emit_to_queue(a, line));
		return true;
	}
	taken = taken && audit_file_write(a->file, buf_str(line));
	metrics_counter_add(a->events, taken);
	tell_of_file(a, taken);
	return taken || a->batch;
}

bool audit_emit(struct audit *a, const struct audit_event *e)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(AUDIT_LINE_MAX);
	bool taken;

	if (a->webhook) {
		taken = emit_to_webhook(a, e, &line);
		tell_of_buffer(a, taken);
		if (!a->file)
			metrics_counter_add(a->events, taken);
	}
	return !a->file || emit_to_file(a, e, &line);
}

/* --- lifecycle ---------------------------------------------------------------------------- */

static int audit_open_file(struct audit *a, const struct audit_opts *opts, struct error *err)
{
	struct audit_file_opts file = { .path = opts->path,
					.rotation = opts->rotation,
					.queue_max = opts->batch ? (size_t)opts->log_buffer : 0,
					.sent = on_line_sent,
					.arg = a,
					.log = opts->log };

	return opts->path ? audit_file_open(&file, &a->file, err) : 0;
}

static int audit_open_webhook(struct audit *a, const struct audit_opts *opts, struct error *err)
{
	struct audit_webhook_opts webhook = { .config_file = opts->webhook_config,
					      .single = opts->webhook_single,
					      .batch_max_size = MAX(opts->webhook_batch, 1),
					      .batch_max_bytes = opts->webhook_batch_bytes,
					      .batch_max_wait_ms = opts->webhook_wait_ms,
					      .buffer_size = MAX(opts->webhook_buffer, 1),
					      .initial_backoff_ms = opts->webhook_backoff_ms,
					      .qps = opts->webhook_qps,
					      .burst = opts->webhook_burst,
					      .timeout_ms = POST_TIMEOUT_MS,
					      .stop_ms = STOP_MS,
					      .lost = on_events_lost,
					      .arg = a,
					      .log = opts->log };
	int r;

	if (!opts->webhook_config)
		return 0;
	r = audit_webhook_new(&webhook, &a->webhook, err);
	return r < 0 ? error_wrap(err, r, "--audit-webhook-config-file") : 0;
}

int audit_open(const struct audit_opts *opts, struct audit **ret_audit, struct error *err)
{
	CLEANUP(audit_close) struct audit *a = XNEW(struct audit);
	int r;

	a->strict = opts->strict;
	a->batch = opts->batch;
	a->file_max = (size_t)opts->log_event_max;
	a->webhook_max = (size_t)opts->webhook_event_max;
	a->log = opts->log;
	r = add_metrics(a, opts->metrics, err);
	if (r == 0)
		r = open_policy(a, opts, err);
	if (r == 0)
		r = audit_open_file(a, opts, err);
	if (r == 0)
		r = audit_open_webhook(a, opts, err);
	if (r < 0)
		return r;
	*ret_audit = TAKE(a);
	return 0;
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	if (a->look.loop)
		loop_timer_stop(&a->look);
	audit_webhook_free(a->webhook);
	audit_file_close(a->file);
	audit_policy_free(atomic_load(&a->policy));
	reclaim_free(a->reclaim);
	free(a->policy_file);
	free(a);
}
