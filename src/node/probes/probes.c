/*
 * One timer per probe. Ticks keep a fixed distance from the first one: a long attempt does not
 * delay the next one, and an attempt that takes longer than a period is followed by the next at
 * once.
 */
#include "node/probes/probes.h"

#include "base/core/mem.h"
#include "net/loop/loop.h"
#include "net/tls/tls.h"
#include "node/node_limits.h"
#include "node/probes/probes_impl.h"

enum { TRIES = 3, PERIOD_S = 10 };

static const struct {
	const char *field, *word;
} kinds[] = {
	[LIFECYCLE_STARTUP] = { "startupProbe", "Startup" },
	[LIFECYCLE_LIVENESS] = { "livenessProbe", "Liveness" },
	[LIFECYCLE_READINESS] = { "readinessProbe", "Readiness" },
};

enum outcome { OUTCOME_NONE, OUTCOME_GOOD, OUTCOME_BAD };

struct probe {
	struct probes *owner;
	char *key; /* "0/ID" */
	struct str id; /* in the key */
	enum lifecycle_probe kind;
	struct pod *pod;
	const struct json *container, *spec; /* in the pod's tree */
	char *pod_ip;
	struct loop_timer timer;
	struct probe_run *run; /* in flight, or NULL */
	int64_t tick_ms; /* when the last attempt was due */
	unsigned tries; /* attempts of this tick */
	enum outcome last, told;
	int64_t in_a_row; /* number of consecutive results like `last` */
	bool over; /* no further result is needed for this container */
};

/* --- one probe ------------------------------------------------------------------------------ */

static void probe_free(struct probe *b)
{
	(void)map_remove(&b->owner->all, str_from(b->key));
	loop_timer_stop(&b->timer);
	probe_run_free(b->run);
	pod_unref(b->pod);
	free(b->pod_ip);
	free(b->key);
	free(b);
}

static int64_t period_ms(const struct probe *b)
{
	return MAX(json_i64_at(b->spec, "periodSeconds", PERIOD_S), INT64_C(1)) * 1000;
}

static void next_tick(struct probe *b)
{
	int64_t now = loop_now(b->owner->opts.loop);

	b->tick_ms = MAX(b->tick_ms + period_ms(b), now);
	loop_timer_start(&b->timer, b->tick_ms - now);
}

static struct str container_name(const struct probe *b)
{
	return json_text_at(b->container, "name");
}

/* Reports an event. The callback may stop the probe, so the text is not part of the probe. */
static void probes_say(struct probe *b, enum probe_result result, struct str message)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * PROBE_OUTPUT_MAX);
	const struct probes_opts *o = &b->owner->opts;
	const char *words = result == PROBE_ERROR     ? "errored and resulted in unknown state"
			    : result == PROBE_WARNING ? "warning"
						      : "failed";

	(void)buf_printf(&text, "%s probe %s: %.*s", kinds[b->kind].word, words, STR_ARG(message));
	if (result == PROBE_WARNING && o->on_warning)
		o->on_warning(o->arg, b->pod->uid, container_name(b), b->kind, buf_str(&text));
	if (result != PROBE_WARNING && o->on_failure)
		o->on_failure(o->arg, b->pod->uid, container_name(b), b->kind, buf_str(&text));
}

static bool reaches_threshold(const struct probe *b)
{
	const char *field = b->last == OUTCOME_GOOD ? "successThreshold" : "failureThreshold";

	return b->in_a_row >= json_i64_at(b->spec, field, b->last == OUTCOME_GOOD ? 1 : 3);
}

/* Applies thresholds, and reports a new result. Must come last: the callback may free the probe. */
static void probes_count(struct probe *b, enum outcome outcome, struct str message)
{
	const struct probes_opts *o = &b->owner->opts;

	b->in_a_row = b->last == outcome ? b->in_a_row + 1 : 1;
	b->last = outcome;
	if (!reaches_threshold(b))
		return;
	if (b->kind == LIFECYCLE_STARTUP ||
	    (b->kind == LIFECYCLE_LIVENESS && outcome == OUTCOME_BAD)) {
		b->over = true;
		loop_timer_stop(&b->timer);
	}
	if (b->told == outcome)
		return;
	b->told = outcome;
	if (o->on_outcome)
		o->on_outcome(o->arg, b->pod->uid, b->id, b->kind, outcome == OUTCOME_GOOD,
			      message);
}

static void probes_on_done(void *arg, enum probe_result result, struct str message);

static void attempt(struct probe *b)
{
	struct probe_target t = { .loop = b->owner->opts.loop,
				  .runtime = b->owner->opts.runtime,
				  .tls = probes_tls(b->owner),
				  .container = b->container,
				  .container_id = b->id,
				  .pod_ip = str_from(b->pod_ip),
				  .purpose = "probe" };
	int64_t timeout = MAX(json_i64_at(b->spec, "timeoutSeconds", 1), INT64_C(1)) * 1000;

	b->tries++;
	b->run = probe_run_new(&t, b->spec, timeout, probes_on_done, b);
}

static void probes_on_done(void *arg, enum probe_result result, struct str message)
{
	struct probe *b = arg;
	struct probes *p = b->owner;
	CLEANUP(free) char *key = NULL;

	b->run = NULL;
	if (result == PROBE_ERROR && b->tries < TRIES) {
		attempt(b);
		return;
	}
	next_tick(b);
	key = xstrdup(b->key);
	if (result != PROBE_SUCCESS)
		probes_say(b, result, message);
	/* The event's callback may have stopped the probe. */
	if (result != PROBE_ERROR && map_get(&p->all, str_from(key)) == b)
		probes_count(b, result == PROBE_FAILURE ? OUTCOME_BAD : OUTCOME_GOOD, message);
}

static void probes_on_tick(struct loop_timer *t)
{
	struct probe *b = CONTAINER_OF(t, struct probe, timer);

	b->tries = 0;
	attempt(b);
}

/* --- all probes ----------------------------------------------------------------------------- */

static char *probes_key_of(struct str id, enum lifecycle_probe kind)
{
	char *key = xmalloc(id.n + 3);

	(void)snprintf(key, id.n + 3, "%d/%.*s", (int)kind, STR_ARG(id));
	return key;
}

static void schedule(struct probe *b)
{
	struct loop *l = b->owner->opts.loop;
	int64_t delay = json_i64_at(b->spec, "initialDelaySeconds", 0) * 1000;
	int64_t period = period_ms(b), now = loop_now(l);

	if (period > now - b->owner->started_ms)
		delay = MAX(delay, (int64_t)prng_below(loop_prng(l), (uint64_t)period));
	b->tick_ms = now + delay;
	loop_timer_start(&b->timer, delay);
}

/*
 * Keeps the newest version of the pod, so that old ones are freed; the container must still be in
 * it.
 */
static void set_pod(struct probe *b, struct pod *pod, const struct json *container)
{
	const struct json *spec = json_getz(container, kinds[b->kind].field);

	if (b->pod == pod || !json_is(spec, JSON_OBJECT))
		return;
	pod_unref(b->pod);
	b->pod = pod_ref(pod);
	b->container = container;
	b->spec = spec;
}

static void set_ip(struct probe *b, struct str ip)
{
	if (b->pod_ip && str_eqz(ip, b->pod_ip))
		return;
	free(b->pod_ip);
	b->pod_ip = str_dup(ip);
}

void probes_start(struct probes *p, struct pod *pod, struct str container, struct str container_id,
		  enum lifecycle_probe probe, struct str pod_ip)
{
	CLEANUP(free) char *key = probes_key_of(container_id, probe);
	const struct json *c = pod_container(pod, container, NULL);
	struct probe *b = map_get(&p->all, str_from(key));

	if (b) {
		set_pod(b, pod, c);
		set_ip(b, pod_ip);
		return;
	}
	if (!json_is(json_getz(c, kinds[probe].field), JSON_OBJECT))
		return;
	b = XNEW(struct probe);
	b->owner = p;
	b->key = TAKE(key);
	b->id = str_from(b->key + 2);
	b->kind = probe;
	set_pod(b, pod, c);
	set_ip(b, pod_ip);
	loop_timer_init(&b->timer, p->opts.loop, probes_on_tick);
	(void)map_put(&p->all, str_from(b->key), b);
	schedule(b);
}

void probes_stop(struct probes *p, struct str container_id, enum lifecycle_probe probe)
{
	CLEANUP(free) char *key = probes_key_of(container_id, probe);
	struct probe *b = map_get(&p->all, str_from(key));

	if (b)
		probe_free(b);
}

/* Returns one probe of the pod; of any pod if uid is NULL. */
static struct probe *any_of(const struct probes *p, const struct str *uid)
{
	size_t at = 0;
	struct str key;
	void *value;

	while (map_next(&p->all, &at, &key, &value)) {
		struct probe *b = value;

		if (!uid || str_eq(b->pod->uid, *uid))
			return b;
	}
	return NULL;
}

void probes_stop_pod(struct probes *p, struct str pod_uid)
{
	CLEANUP(free) char *copy = str_dup(pod_uid);
	struct str uid = str_from(copy);
	struct probe *b;

	while ((b = any_of(p, &uid)))
		probe_free(b);
}

/* --- life ----------------------------------------------------------------------------------- */

struct tls *probes_tls(struct probes *p)
{
	static const char *const alpn[] = { "h2", "http/1.1", NULL };
	struct tls_opts o = { .insecure_skip_verify = true, .alpn = alpn };

	if (!p->tls)
		(void)tls_new(&o, &p->tls, NULL);
	return p->tls;
}

struct probes *probes_new(const struct probes_opts *opts)
{
	struct probes *p = XNEW(struct probes);

	p->opts = *opts;
	p->started_ms = loop_now(opts->loop);
	map_init(&p->all);
	list_init(&p->hooks);
	return p;
}

void probes_free(struct probes *p)
{
	struct probe *b;

	if (!p)
		return;
	while ((b = any_of(p, NULL)))
		probe_free(b);
	probes_hooks_free(p);
	map_release(&p->all);
	if (p->tls)
		tls_unref(p->tls);
	free(p);
}
