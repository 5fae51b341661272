/*
 * States of a claim: idle (nothing to write; kept as a cache that may be evicted), ready (queued
 * for one of AT_ONCE slots), working (one request in flight), waiting (back-off after a failure),
 * paused (rate limit). Work starts with a GET if the claim is not cached. Then the list is merged,
 * and a PATCH follows if it changed. Entries that are set meanwhile are handled when the work has
 * ended.
 *
 * The cached claim may be stale. A PATCH detects that, because it names the resourceVersion. But
 * the conclusions "nothing to write" and "the device is no longer in the claim" are drawn only from
 * a recent reply to a request of our own.
 */
#include "drivers/sdk/claim_status.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/report/metrics.h"
#include "base/time/backoff.h"
#include "client/api/bucket.h"
#include "drivers/drivers_limits.h"

enum {
	RETRY_MS = 200, /* after a failure; doubles */
	RETRY_MAX_MS = 30000,
	HURRY_MS = 1000, /* a changed entry is retried this long after the last attempt */
	TRUST_MS = 3000, /* our own replies count as current for this long */
	CONFLICTS_MAX = 5, /* in a row; further conflicts count as failures */
	AT_ONCE = 32, /* claims being worked on */
	TIMEOUT_MS = 20000,
};

/*
 * Rate limit per claim: a burst, so that normal updates are sent immediately, then a rate. A pod
 * can cause events, for example of its own link, as fast as it likes.
 */
enum { WRITES_BURST = 20, WRITES_PER_S = 10 };

enum { WRITE_OK, WRITE_CONFLICT, WRITE_FAILED, WRITE_RESULTS };

enum subject_state { IDLE, READY, WORKING, WAITING, PAUSED };

struct subject {
	struct claim_status *owner;
	enum subject_state state;
	struct list link; /* in the owner's ready or idle */
	struct list wanted; /* of struct status_entry; entries not known to be written */
	char *uid, *ns, *name;
	char *version, *devices, *results; /* as last seen; version NULL: unknown */
	int64_t seen_at; /* loop_now() */
	size_t bytes; /* memory of all the above */
	struct client_request request;
	struct loop_timer retry; /* in states WAITING and PAUSED */
	struct backoff backoff;
	int64_t failed_at; /* loop_now(); in state WAITING */
	struct bucket writes;
	unsigned conflicts;
	bool admitted; /* this piece of work has passed the rate limit of `writes` */
	bool hearsay; /* the cached claim was read by others; our own reply may be newer */
	bool doubted; /* others read it while our request was in flight */
	bool clear, clear_sent; /* remove the driver's entries; the request in flight does so */
	bool last; /* forget the claim once everything is written */
	char failure[sizeof(((struct error *)0)->msg)]; /* the last logged error */
};

struct claim_status {
	struct claim_status_opts opts;
	struct loop *loop;
	struct resource claims;
	struct map subjects; /* by uid */
	struct list ready, idle; /* of struct subject; the oldest first */
	size_t nidle, working, bytes;
	bool full; /* the error was logged */
	bool used; /* claim_status_set() or claim_status_expect() was called */
	struct loop_task task; /* starts ready claims */
	struct loop_timer end;
	void (*on_end)(void *arg); /* NULL: not ending */
	void *end_arg;
	struct metrics_counter *writes[WRITE_RESULTS]; /* or NULL */
};

/* --- memory ------------------------------------------------------------------------------- */

static void claim_status_hold(struct subject *j, ptrdiff_t more)
{
	j->bytes += (size_t)more;
	j->owner->bytes += (size_t)more;
}

static char *claim_status_keep(struct subject *j, struct str s)
{
	claim_status_hold(j, (ptrdiff_t)s.n + 1);
	return str_dup(s);
}

static void claim_status_drop(struct subject *j, char *text)
{
	if (text)
		claim_status_hold(j, -(ptrdiff_t)strlen(text) - 1);
	free(text);
}

static void drop_entry(struct subject *j, struct status_entry *e)
{
	claim_status_hold(j, -(ptrdiff_t)e->n);
	status_entry_free(e);
}

static void drop_seen(struct subject *j)
{
	claim_status_drop(j, TAKE(j->version));
	claim_status_drop(j, TAKE(j->devices));
	claim_status_drop(j, TAKE(j->results));
}

static void drop_wanted(struct subject *j)
{
	LIST_FOREACH_SAFE (it, &j->wanted)
		drop_entry(j, LIST_ENTRY(it, struct status_entry, link));
}

/* Also cancels its request and timer. */
static void claim_status_forget(struct subject *j)
{
	struct claim_status *s = j->owner;

	client_cancel(&j->request);
	loop_timer_stop(&j->retry);
	list_remove(&j->link);
	s->nidle -= j->state == IDLE;
	(void)map_remove(&s->subjects, str_from(j->uid));
	drop_wanted(j);
	drop_seen(j);
	s->bytes -= j->bytes;
	free(j->uid);
	free(j->ns);
	free(j->name);
	free(j);
}

static bool too_much(const struct claim_status *s, size_t bytes, size_t claims)
{
	return s->bytes + bytes > DRIVER_STATUS_MAX || s->subjects.n + claims > DRIVER_CLAIMS_MAX;
}

/* Evicts idle claims, oldest first. */
static bool claim_status_make_room(struct claim_status *s, size_t bytes, size_t claims)
{
	while (too_much(s, bytes, claims) && !list_empty(&s->idle))
		claim_status_forget(LIST_ENTRY(s->idle.next, struct subject, link));
	return !too_much(s, bytes, claims);
}

/* --- states of a claim -------------------------------------------------------------------- */

static void claim_status_count(struct claim_status *s, int result)
{
	if (s->writes[result])
		metrics_counter_add(s->writes[result], 1);
}

static bool is_wanting(const struct subject *j)
{
	return j->clear || !list_empty(&j->wanted);
}

static void be_idle(struct subject *j)
{
	j->state = IDLE;
	j->owner->nidle++;
	list_push_back(&j->owner->idle, &j->link);
}

static void be_ready(struct subject *j)
{
	j->owner->nidle -= j->state == IDLE;
	j->state = READY;
	list_remove(&j->link);
	list_push_back(&j->owner->ready, &j->link);
	loop_defer(j->owner->loop, &j->owner->task);
}

/* Frees a slot. */
static void claim_status_leave(struct claim_status *s)
{
	s->working--;
	loop_defer(s->loop, &s->task);
	if (s->on_end && claim_status_waiting(s) == 0)
		loop_timer_start(&s->end, 0);
}

static void claim_status_give_up(struct subject *j, const char *why)
{
	struct claim_status *s = j->owner;

	driver_log(s->opts.log, DP_LOG_DEBUG, "cannot write the status of claim %s/%s (%s): %s",
		   j->ns, j->name, j->uid, why);
	claim_status_forget(j);
	claim_status_leave(s);
}

/* The work has ended; starts again if entries were set meanwhile. */
static void rest(struct subject *j)
{
	struct claim_status *s = j->owner;

	backoff_reset(&j->backoff);
	j->conflicts = 0;
	j->admitted = false;
	j->failure[0] = 0;
	if (is_wanting(j))
		be_ready(j);
	else if (j->last)
		claim_status_forget(j);
	else
		be_idle(j);
	(void)claim_status_make_room(s, 0, 0);
	claim_status_leave(s);
}

/* Logs each distinct error once: a rejection that lasts for an hour is one line. */
static void claim_status_fail(struct subject *j, const struct error *err)
{
	struct claim_status *s = j->owner;

	claim_status_count(s, WRITE_FAILED);
	if (strcmp(j->failure, err->msg) != 0)
		driver_log(s->opts.log, DP_LOG_WARN,
			   "cannot write the status of claim %s/%s: %s; retrying", j->ns, j->name,
			   err->msg);
	(void)snprintf(j->failure, sizeof(j->failure), "%s", err->msg);
	drop_seen(j);
	j->conflicts = 0;
	j->admitted = false;
	if (s->on_end) {
		claim_status_give_up(j, "the driver ends");
		return;
	}
	j->state = WAITING;
	j->failed_at = loop_now(s->loop);
	loop_timer_start(&j->retry, backoff_next(&j->backoff, loop_prng(s->loop)));
	claim_status_leave(s);
}

static void claim_status_on_retry(struct loop_timer *t)
{
	be_ready(CONTAINER_OF(t, struct subject, retry));
}

/* Shortens the back-off for a changed entry, since the failure may have been the old one's. */
static void hurry(struct subject *j)
{
	int64_t now = loop_now(j->owner->loop), due = MAX(now, j->failed_at + HURRY_MS);

	if (j->state == WAITING && j->retry.due > due)
		loop_timer_start(&j->retry, due - now);
}

/* Returns whether a request may be sent; if not, the claim is paused and starts over later. */
static bool admit(struct subject *j)
{
	struct claim_status *s = j->owner;
	int64_t wait_ns = 0;

	if (!j->admitted && !s->on_end)
		wait_ns = bucket_reserve(&j->writes, loop_now(s->loop) * CLOCK_MS);
	j->admitted = true;
	if (wait_ns == 0)
		return true;
	j->state = PAUSED;
	loop_timer_start(&j->retry, (wait_ns + CLOCK_MS - 1) / CLOCK_MS);
	claim_status_leave(s);
	return false;
}

/* --- requests ----------------------------------------------------------------------------- */

/* A member's raw JSON, without quotes for strings. Empty if null or missing. */
static struct str raw_at(struct str object, const char *key)
{
	struct json_cursor c = json_cursor_of(object);
	enum json_cursor_type type;
	struct str raw;

	if (object.n == 0 || !json_cursor_find(&c, str_from(key)) ||
	    !json_cursor_value(&c, &raw, &type) || type == JSON_CURSOR_NULL)
		return STR_NULL;
	return raw;
}

/* Caches what a merge needs. Returns -ERR_NOT_FOUND if it is a different claim. */
static int claim_status_remember(struct subject *j, struct str object, struct error *err)
{
	struct str meta = raw_at(object, "metadata"), status = raw_at(object, "status");
	struct str allocation = raw_at(raw_at(status, "allocation"), "devices");
	struct str version = raw_at(meta, "resourceVersion");

	drop_seen(j);
	if (version.n == 0)
		return error_set(err, ERR_PROTOCOL, "the reply is not an object");
	if (!str_eqz(raw_at(meta, "uid"), j->uid))
		return error_set(err, ERR_NOT_FOUND, "it is another claim of the same name");
	j->hearsay = j->doubted;
	j->doubted = false;
	j->seen_at = loop_now(j->owner->loop);
	j->version = claim_status_keep(j, version);
	j->devices = claim_status_keep(j, raw_at(status, "devices"));
	j->results = claim_status_keep(j, raw_at(allocation, "results"));
	return 0;
}

static void claim_status_read_claim(struct subject *j);

static void claim_status_on_written(struct client_request *q, const struct client_answer *answer,
				    const struct error *failure)
{
	struct subject *j = q->arg;
	struct error err;

	if (failure && failure->code == ERR_CONFLICT && ++j->conflicts <= CONFLICTS_MAX) {
		claim_status_count(j->owner, WRITE_CONFLICT);
		claim_status_read_claim(j);
		return;
	}
	if (failure && failure->code == ERR_NOT_FOUND) {
		claim_status_give_up(j, failure->msg);
		return;
	}
	if (failure) {
		claim_status_fail(j, failure);
		return;
	}
	claim_status_count(j->owner, WRITE_OK);
	LIST_FOREACH_SAFE (it, &j->wanted) {
		struct status_entry *e = LIST_ENTRY(it, struct status_entry, link);

		if (e->sent)
			drop_entry(j, e);
	}
	j->clear = j->clear && !j->clear_sent;
	/*
	 * The write succeeded, even if the reply is unreadable. At worst the claim is read again.
	 */
	(void)claim_status_remember(j, answer->body, &err);
	rest(j);
}

static void send_patch(struct subject *j, struct str devices)
{
	struct claim_status *s = j->owner;
	CLEANUP(buf_release) struct buf body = BUF_INIT(OBJECT_MAX * 2);
	struct resource_name name = { str_from(j->ns), str_from(j->name), STR("status") };

	(void)buf_printf(&body,
			 "{\"metadata\":{\"resourceVersion\":\"%s\",\"uid\":\"%s\"},"
			 "\"status\":{\"devices\":",
			 j->version, j->uid);
	(void)buf_add_str(&body, devices);
	(void)buf_addz(&body, "}}");
	LIST_FOREACH (it, &j->wanted)
		LIST_ENTRY(it, struct status_entry, link)->sent = true;
	j->clear_sent = j->clear;
	j->request = (struct client_request){ .on_done = claim_status_on_written,
					      .arg = j,
					      .body = buf_str(&body),
					      .timeout_ms = TIMEOUT_MS };
	client_patch(s->opts.client, &j->request, &s->claims, name, CLIENT_PATCH_MERGE, NULL);
}

static bool is_allocated(const struct subject *j, const struct status_entry *e)
{
	return status_entry_is_allocated(e, j->owner->opts.driver, str_from(j->results));
}

static bool all_allocated(const struct subject *j)
{
	LIST_FOREACH (it, &j->wanted)
		if (!is_allocated(j, LIST_ENTRY(it, struct status_entry, link)))
			return false;
	return true;
}

static void drop_unallocated(struct subject *j)
{
	struct claim_status *s = j->owner;

	LIST_FOREACH_SAFE (it, &j->wanted) {
		struct status_entry *e = LIST_ENTRY(it, struct status_entry, link);

		if (is_allocated(j, e))
			continue;
		driver_log(s->opts.log, DP_LOG_DEBUG,
			   "status of device %s/%s not written: it is not allocated to claim %s/%s",
			   e->pool, e->device, j->ns, j->name);
		drop_entry(j, e);
	}
}

enum { IS_THERE, TO_BE_WRITTEN, NOT_KNOWN };

/* Returns one of those. If TO_BE_WRITTEN, the new list is appended to `devices`. */
static int claim_status_merge(struct subject *j, struct buf *devices, struct error *err)
{
	struct status_merge m = { .driver = j->owner->opts.driver,
				  .wanted = &j->wanted,
				  .clear = j->clear,
				  .now_ns = clock_wall(loop_clock(j->owner->loop)) };
	/* Whether the cached claim is current. */
	bool sure = !j->hearsay && loop_now(j->owner->loop) - j->seen_at < TRUST_MS;
	int r;

	if (!sure && !all_allocated(j))
		return NOT_KNOWN;
	if (sure)
		drop_unallocated(j);
	r = status_entry_merge(&m, str_from(j->devices), devices, err);
	if (r >= 0 && devices->overflow)
		return error_set(err, ERR_TOO_LARGE, "its status is too large");
	if (r < 0)
		return r;
	return r > 0 ? TO_BE_WRITTEN : sure ? IS_THERE : NOT_KNOWN;
}

static void write_claim(struct subject *j)
{
	CLEANUP(buf_release) struct buf devices = BUF_INIT(OBJECT_MAX * 2);
	struct error err;
	int r = claim_status_merge(j, &devices, &err);

	if (r < 0) {
		claim_status_fail(j, &err);
	} else if (r == IS_THERE) {
		drop_wanted(j);
		j->clear = false;
		rest(j);
	} else if (!admit(j)) {
		return;
	} else if (r == TO_BE_WRITTEN) {
		send_patch(j, buf_str(&devices));
	} else {
		claim_status_read_claim(j);
	}
}

static void claim_status_on_read(struct client_request *q, const struct client_answer *answer,
				 const struct error *failure)
{
	struct subject *j = q->arg;
	struct error err;

	if (failure)
		err = *failure;
	else if (claim_status_remember(j, answer->body, &err) == 0)
		err.code = ERR_OK;
	if (err.code == ERR_OK)
		write_claim(j);
	else if (err.code == ERR_NOT_FOUND)
		claim_status_give_up(j, err.msg);
	else
		claim_status_fail(j, &err);
}

static void claim_status_read_claim(struct subject *j)
{
	struct claim_status *s = j->owner;

	j->request = (struct client_request){ .on_done = claim_status_on_read,
					      .arg = j,
					      .timeout_ms = TIMEOUT_MS };
	client_get(s->opts.client, &j->request, &s->claims, str_from(j->ns), str_from(j->name));
}

static void claim_status_on_task(struct loop_task *t)
{
	struct claim_status *s = CONTAINER_OF(t, struct claim_status, task);
	struct subject *j;

	while (s->working < AT_ONCE && !list_empty(&s->ready)) {
		j = LIST_ENTRY(list_pop_front(&s->ready), struct subject, link);
		j->state = WORKING;
		s->working++;
		if (!is_wanting(j))
			rest(j);
		else if (j->version)
			write_claim(j);
		else if (admit(j))
			claim_status_read_claim(j);
	}
}

/* --- the interface ------------------------------------------------------------------------ */

static struct subject *subject_new(struct claim_status *s, struct claim_status_id id)
{
	struct subject *j = XNEW(struct subject);

	j->owner = s;
	list_init(&j->link);
	list_init(&j->wanted);
	claim_status_hold(j, sizeof(*j));
	j->uid = str_dup(id.uid);
	j->ns = str_dup(id.ns);
	j->name = str_dup(id.name);
	j->backoff = (struct backoff){
		.initial_ms = RETRY_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.2
	};
	bucket_init(&j->writes, WRITES_PER_S, WRITES_BURST);
	loop_timer_init(&j->retry, s->loop, claim_status_on_retry);
	(void)map_put(&s->subjects, str_from(j->uid), j);
	be_idle(j);
	return j;
}

/* Finds or adds the claim and makes it ready. Returns NULL if there is no room for `bytes` more. */
static struct subject *claim_status_wake(struct claim_status *s, struct claim_status_id id,
					 size_t bytes)
{
	struct subject *j = map_get(&s->subjects, id.uid);
	size_t more = j ? bytes : bytes + sizeof(*j);
	bool room;

	/* First of all, or claim_status_make_room() might evict it. */
	if (j && j->state == IDLE)
		be_ready(j);
	if (more == 0)
		return j;
	room = claim_status_make_room(s, more, !j);
	if (!room && !s->full)
		driver_log(s->opts.log, DP_LOG_ERROR,
			   "too many claim status updates are waiting: new ones are dropped");
	s->full = !room;
	if (!j && room) {
		j = subject_new(s, id);
		be_ready(j);
	}
	return room ? j : NULL;
}

/* The pending entry of the same device, or NULL. */
static struct status_entry *find_wanted(const struct subject *j, const struct status_entry *e)
{
	LIST_FOREACH (it, &j->wanted) {
		struct status_entry *old = LIST_ENTRY(it, struct status_entry, link);

		if (status_entry_same_device(old, e))
			return old;
	}
	return NULL;
}

void claim_status_set(struct claim_status *s, struct claim_status_id id, struct status_entry *e)
{
	struct subject *j = map_get(&s->subjects, id.uid);
	struct status_entry *old = j ? find_wanted(j, e) : NULL;
	size_t replaced = old ? old->n : 0;
	bool same = old && str_eq(str_of(old->text, old->n), str_of(e->text, e->n));

	s->used = true;
	j = claim_status_wake(s, id, e->n > replaced ? e->n - replaced : 0);
	if (!j) {
		status_entry_free(e);
		return;
	}
	if (old)
		drop_entry(j, old);
	e->sent = false;
	list_push_back(&j->wanted, &e->link);
	claim_status_hold(j, (ptrdiff_t)e->n);
	j->last = false;
	if (!same)
		hurry(j);
}

void claim_status_seen(struct claim_status *s, struct claim_status_id id, struct str object)
{
	struct subject *j = map_get(&s->subjects, id.uid);

	if (!s->used)
		return;
	if (j && j->state == WORKING) {
		j->doubted = true;
		return;
	}
	if (j)
		drop_seen(j);
	if (!claim_status_make_room(s, object.n + sizeof(*j), !j))
		return;
	/* claim_status_make_room() may have evicted it. */
	j = map_get(&s->subjects, id.uid);
	if (!j)
		j = subject_new(s, id);
	if (claim_status_remember(j, object, NULL) == 0)
		j->hearsay = true;
	else if (j->state == IDLE)
		claim_status_forget(j);
}

void claim_status_expect(struct claim_status *s)
{
	s->used = true;
}

void claim_status_clear(struct claim_status *s, struct claim_status_id id)
{
	struct subject *j = claim_status_wake(s, id, 0);
	bool same;

	if (!j)
		return;
	same = j->clear && list_empty(&j->wanted);
	drop_wanted(j);
	j->clear = j->last = true;
	j->clear_sent = false;
	if (!same)
		hurry(j);
}

size_t claim_status_waiting(const struct claim_status *s)
{
	return s->subjects.n - s->nidle;
}

/* --- life --------------------------------------------------------------------------------- */

static void claim_status_on_end(struct loop_timer *t)
{
	struct claim_status *s = CONTAINER_OF(t, struct claim_status, end);

	s->on_end(s->end_arg);
}

static void claim_status_add_metrics(struct claim_status *s)
{
	static const char *const labels[] = { "result" };
	struct metrics_spec spec = { .name = "devplane_driver_status_writes_total",
				     .help = "Writes of device status in claims, by result.",
				     .type = METRICS_COUNTER,
				     .labels = labels,
				     .labels_n = 1 };
	struct metrics_family *f;

	if (!s->opts.metrics || metrics_register(s->opts.metrics, &spec, &f, NULL) < 0)
		return;
	s->writes[WRITE_OK] = metrics_counter(f, STR("success"));
	s->writes[WRITE_CONFLICT] = metrics_counter(f, STR("conflict"));
	s->writes[WRITE_FAILED] = metrics_counter(f, STR("failure"));
}

struct claim_status *claim_status_new(const struct claim_status_opts *opts)
{
	struct claim_status *s = XNEW(struct claim_status);

	s->opts = *opts;
	s->loop = client_loop(opts->client);
	s->claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	map_init(&s->subjects);
	list_init(&s->ready);
	list_init(&s->idle);
	loop_task_init(&s->task, claim_status_on_task);
	loop_timer_init(&s->end, s->loop, claim_status_on_end);
	claim_status_add_metrics(s);
	return s;
}

/* An arbitrary claim; NULL if none is left. */
static struct subject *any(const struct claim_status *s)
{
	struct str key;
	size_t at = 0;
	void *value;

	return map_next(&s->subjects, &at, &key, &value) ? value : NULL;
}

void claim_status_free(struct claim_status *s)
{
	struct subject *j;

	if (!s)
		return;
	while ((j = any(s)))
		claim_status_forget(j);
	loop_task_cancel(&s->task);
	loop_timer_stop(&s->end);
	map_release(&s->subjects);
	free(s);
}

void claim_status_end(struct claim_status *s, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
	struct subject *j;
	struct str key;
	size_t at = 0;
	void *value;

	s->on_end = done;
	s->end_arg = arg;
	while (map_next(&s->subjects, &at, &key, &value)) {
		j = value;
		if (j->state != WAITING && j->state != PAUSED)
			continue;
		loop_timer_stop(&j->retry);
		be_ready(j);
	}
	loop_timer_start(&s->end, claim_status_waiting(s) > 0 ? grace_ms : 0);
}
