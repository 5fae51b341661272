/*
 * claims_fixture - for tests: an API server, drivers, a disk and an agent that can be killed, in a
 * simulated world, and claims between them.
 */
#ifndef NODE_CLAIMS_CLAIMS_FIXTURE_H
#define NODE_CLAIMS_CLAIMS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/metrics.h"
#include "client/testing/api_world.h"
#include "node/claims/claims.h"
#include "node/host/machine.h"

enum { HANG_MS = 3600 * 1000, LOG_MAX = 4096, OBJECTS_MAX = 8, PREPARED_MAX = 16 };

struct call;

/* The drivers, in their own process: their state stays when the agent dies. */
struct plugins {
	struct test *test;
	bool missing[2]; /* gpu, nic */
	const char *error[2]; /* the error for every claim */
	bool broken[2]; /* the call fails */
	bool hold; /* calls get no reply */
	char prepared[2][PREPARED_MAX][16]; /* claim uids; empty: free */
	struct list calls;
	unsigned prepares, unprepares;
};

struct test {
	struct api_world w;
	struct machine machine;
	struct assign *assign;
	struct claims *claims;
	struct metrics *metrics;
	struct plugins plugins;
	struct {
		char name[32];
		char *text; /* NULL: 404 */
	} objects[OBJECTS_MAX];
	struct buf disk, writing; /* the state that would survive a crash; the one being written */
	bool disk_full, hold_saves;
	struct list saves;
	char log[LOG_MAX]; /* "save", "prepare gpu c1" .. */
	unsigned steps; /* number of events outside of the agent */
	bool inactive[4]; /* pods p0 .. p3 */
};

struct call {
	struct list link;
	struct loop_timer timer;
	struct test *test;
	struct plugins *plugins;
	plugins_claims_done *done; /* NULL: the agent is dead */
	void *arg;
	unsigned driver;
	bool prepare, processed;
	struct plugin_claim claims[4];
	char uids[4][16];
	size_t n;
};

struct save {
	struct list link;
	struct loop_timer timer;
	struct test *test;
	void (*done)(void *arg, const struct error *err);
	void *arg;
	struct buf body;
	unsigned halves;
};

static const char *const drivers[] = { "gpu.example.com", "nic.example.com" };

static inline void note(struct test *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline void note(struct test *t, const char *fmt, ...)
{
	size_t n = strlen(t->log);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->log + n, sizeof(t->log) - n, fmt, ap);
	va_end(ap);
	t->steps++;
}

/* --- drivers ------------------------------------------------------------------------------- */

static inline int driver_at(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		if (str_eqz(name, drivers[i]))
			return (int)i;
	}
	return -1;
}

static inline char *prepared_at(struct plugins *p, unsigned driver, const char *uid)
{
	for (size_t i = 0; i < PREPARED_MAX; i++) {
		if (strcmp(p->prepared[driver][i], uid) == 0)
			return p->prepared[driver][i];
	}
	return NULL;
}

static inline size_t prepared_count(const struct plugins *p)
{
	size_t n = 0;

	for (size_t d = 0; d < 2; d++) {
		for (size_t i = 0; i < PREPARED_MAX; i++)
			n += p->prepared[d][i][0] != '\0';
	}
	return n;
}

static inline bool has(const struct plugins *p, struct str driver)
{
	int at = driver_at(driver);

	return at >= 0 && !p->missing[at];
}

static inline void process(struct call *c)
{
	struct plugins *p = c->plugins;

	c->processed = true;
	for (size_t i = 0; i < c->n && !p->error[c->driver] && !p->broken[c->driver]; i++) {
		char *known = prepared_at(p, c->driver, c->uids[i]);

		if (c->prepare && !known)
			(void)snprintf(prepared_at(p, c->driver, ""), 16, "%s", c->uids[i]);
		else if (!c->prepare && known)
			known[0] = '\0';
	}
}

/* Each claim has a device named after it, for the request "r". */
static inline void answer(struct call *c)
{
	struct plugin_claim_result results[4];
	struct assign_claim_device devices[4];
	struct str request = STR("r/sub"), cdi[4];
	char ids[4][64];
	const char *error = c->plugins->error[c->driver];
	struct error err;

	for (size_t i = 0; i < c->n; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "%s/%s", drivers[c->driver], c->uids[i]);
		cdi[i] = str_from(ids[i]);
		devices[i] = (struct assign_claim_device){ .pool = STR("pool"),
							   .device = str_from(c->uids[i]),
							   .requests = &request,
							   .nrequests = 1,
							   .cdi = &cdi[i],
							   .ncdi = 1 };
		results[i] = (struct plugin_claim_result){ .uid = str_from(c->uids[i]),
							   .error = str_from(error),
							   .devices = &devices[i],
							   .ndevices = c->prepare && !error };
	}
	if (c->plugins->broken[c->driver]) {
		(void)error_set(&err, ERR_UNAVAILABLE, "connection refused");
		c->done(c->arg, NULL, 0, &err);
	} else {
		c->done(c->arg, results, c->n, NULL);
	}
}

/* First applies the call, then replies. */
static inline void on_call(struct loop_timer *timer)
{
	struct call *c = CONTAINER_OF(timer, struct call, timer);

	if (c->plugins->hold) {
		loop_timer_start(timer, 1);
		return;
	}
	if (!c->processed) {
		process(c);
		c->test->steps++;
		loop_timer_start(timer, 3);
		return;
	}
	list_remove(&c->link);
	if (c->done) {
		c->test->steps++;
		answer(c);
	}
	free(c);
}

static inline void start_call(struct plugins *p, bool prepare, struct str driver,
			      const struct plugin_claim *v, size_t n, plugins_claims_done *done,
			      void *arg)
{
	struct call *c = XNEW(struct call);

	c->test = p->test;
	c->plugins = p;
	c->prepare = prepare;
	c->driver = (unsigned)driver_at(driver);
	c->done = done;
	c->arg = arg;
	c->n = n;
	note(p->test, "%s %.3s", prepare ? "prepare" : "unprepare", drivers[c->driver]);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(c->uids[i], sizeof(c->uids[i]), "%.*s", STR_ARG(v[i].uid));
		note(p->test, " %s", c->uids[i]);
		p->test->steps--;
	}
	note(p->test, ", ");
	p->test->steps--;
	list_push_back(&p->calls, &c->link);
	loop_timer_init(&c->timer, p->test->w.outside, on_call);
	loop_timer_start(&c->timer, 3);
}

static inline void prepare(struct plugins *p, struct str driver, const struct plugin_claim *v,
			   size_t n, plugins_claims_done *done, void *arg)
{
	p->prepares++;
	start_call(p, true, driver, v, n, done, arg);
}

static inline void unprepare(struct plugins *p, struct str driver, const struct plugin_claim *v,
			     size_t n, plugins_claims_done *done, void *arg)
{
	p->unprepares++;
	start_call(p, false, driver, v, n, done, arg);
}

static const struct claims_drivers fake_drivers = { has, prepare, unprepare };

/* --- the disk ------------------------------------------------------------------------------ */

static inline void on_save(struct loop_timer *timer)
{
	struct save *s = CONTAINER_OF(timer, struct save, timer);
	struct test *t = s->test;
	struct error err;

	if (t->hold_saves) {
		loop_timer_start(timer, 1);
		return;
	}
	t->steps++;
	if (s->halves++ == 0) {
		if (!t->disk_full) {
			buf_clear(&t->disk);
			(void)buf_add_str(&t->disk, buf_str(&s->body));
		}
		loop_timer_start(timer, 1);
		return;
	}
	list_remove(&s->link);
	(void)error_set(&err, ERR_IO, "no space left");
	s->done(s->arg, t->disk_full ? &err : NULL);
	buf_release(&s->body);
	free(s);
}

static inline void save(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg)
{
	struct test *t = arg;
	struct save *s = XNEW(struct save);

	s->test = t;
	s->done = done;
	s->arg = done_arg;
	buf_init(&s->body, MIB);
	assert_int_equal(assign_encode(t->assign, &s->body), 0);
	note(t, "save, ");
	list_push_back(&t->saves, &s->link);
	loop_timer_init(&s->timer, t->w.outside, on_save);
	loop_timer_start(&s->timer, 2);
}

static inline bool pod_active(void *arg, struct str uid)
{
	const struct test *t = arg;

	return uid.n == 2 && !t->inactive[uid.p[1] - '0'];
}

/* --- the API server ------------------------------------------------------------------------ */

static inline void handle(struct api_world *w, struct http_stream *s, struct str body UNUSED)
{
	static const char prefix[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/";
	struct test *t = CONTAINER_OF(w, struct test, w);
	struct str name = str_skip(s->in.target, sizeof(prefix) - 1);

	assert_true(str_starts(s->in.target, str_from(prefix)));
	for (size_t i = 0; i < OBJECTS_MAX; i++) {
		if (t->objects[i].text && str_eqz(name, t->objects[i].name)) {
			api_world_reply(s, 200, "application/json", t->objects[i].text);
			return;
		}
	}
	api_world_reply(s, 404, "application/json",
			"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404,"
			"\"message\":\"not here\"}");
}

static inline void put_object(struct test *t, const char *name, char *text)
{
	size_t at = 0;

	while (t->objects[at].text && strcmp(t->objects[at].name, name) != 0)
		at++;
	assert_true(at < OBJECTS_MAX);
	free(t->objects[at].text);
	(void)snprintf(t->objects[at].name, sizeof(t->objects[at].name), "%s", name);
	t->objects[at].text = text;
}

/*
 * An allocation result whose device is named after the claim: put_claim() replaces "*" by its uid.
 */
#define GPU "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"pool\",\"device\":\"*\"}"
#define NIC "{\"request\":\"s\",\"driver\":\"nic.example.com\",\"pool\":\"pool\",\"device\":\"*\"}"

/* Reserved for the pods p0 to p3, controlled by p0. */
static inline void put_claim(struct test *t, const char *name, const char *uid, const char *results)
{
	struct buf b = BUF_INIT(MIB);

	(void)buf_printf(&b,
			 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":\"%s\","
			 "\"ownerReferences\":[{\"controller\":true,\"uid\":\"p0\"}]},"
			 "\"status\":{\"allocation\":{\"devices\":{\"results\":[",
			 name, uid);
	for (const char *p = results; *p; p++)
		(void)(*p == '*' ? buf_addz(&b, uid) : buf_addc(&b, *p));
	(void)buf_printf(&b,
			 "]}},\"reservedFor\":[{\"resource\":\"pods\",\"uid\":\"p0\"},"
			 "{\"resource\":\"pods\",\"uid\":\"p1\"},{\"resource\":\"pods\",\"uid\":"
			 "\"p2\"},{\"resource\":\"pods\",\"uid\":\"p3\"}]}}");
	put_object(t, name, buf_take(&b));
}

static inline struct pod *make_pod(const char *uid, const char *claims, const char *status)
{
	struct pod *pod = NULL;
	struct buf b = BUF_INIT(MIB);
	struct error err;

	(void)buf_printf(&b,
			 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":\"%s\"},"
			 "\"spec\":{\"resourceClaims\":[%s]},\"status\":{%s}}",
			 uid, uid, claims, status);
	if (pod_parse(buf_str(&b), &pod, &err) < 0)
		fail_msg("%s", err.msg);
	buf_release(&b);
	return pod;
}

/* --- the agent ----------------------------------------------------------------------------- */

static inline void start_agent(struct test *t)
{
	struct error err;

	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &t->machine }, &t->assign, &err), 0);
	if (t->disk.n > 0 && assign_decode(t->assign, buf_str(&t->disk), &err) < 0)
		fail_msg("%s", err.msg);
	t->claims = claims_new(&(struct claims_opts){ .loop = t->w.outside,
						      .client = t->w.client,
						      .assign = t->assign,
						      .plugins = &t->plugins,
						      .drivers = &fake_drivers,
						      .save = save,
						      .pod_active = pod_active,
						      .pod_here = pod_active,
						      .arg = t,
						      .metrics = t->metrics });
}

/* Its memory is lost; drivers and disk finish what they have begun. */
static inline void kill_agent(struct test *t)
{
	claims_free(TAKE(t->claims));
	assign_free(TAKE(t->assign));
	LIST_FOREACH (it, &t->plugins.calls)
		LIST_ENTRY(it, struct call, link)->done = NULL;
	LIST_FOREACH_SAFE (it, &t->saves) {
		struct save *s = LIST_ENTRY(it, struct save, link);

		loop_timer_stop(&s->timer);
		list_remove(&s->link);
		buf_release(&s->body);
		free(s);
	}
}

static inline void begin(struct test *t)
{
	*t = (struct test){ 0 };
	api_world_init(&t->w, &(struct sim_opts){ .seed = 1 }, HTTP_PROTOCOL_2);
	t->w.handler = handle;
	t->metrics = metrics_new();
	t->plugins.test = t;
	list_init(&t->plugins.calls);
	list_init(&t->saves);
	buf_init(&t->disk, MIB);
	machine_make(&t->machine, 4, INT64_C(1) << 30, 1);
	start_agent(t);
}

static inline void end(struct test *t)
{
	kill_agent(t);
	LIST_FOREACH_SAFE (it, &t->plugins.calls) {
		struct call *c = LIST_ENTRY(it, struct call, link);

		loop_timer_stop(&c->timer);
		list_remove(&c->link);
		free(c);
	}
	for (size_t i = 0; i < OBJECTS_MAX; i++)
		free(t->objects[i].text);
	api_world_release(&t->w);
	machine_release(&t->machine);
	buf_release(&t->disk);
	metrics_free(t->metrics);
}

struct wait {
	bool done;
	struct error err;
};

static inline void on_done(void *arg, const struct error *err)
{
	struct wait *w = arg;

	assert_false(w->done);
	w->done = true;
	if (err)
		w->err = *err;
}

static inline bool is_done(void *arg)
{
	return ((struct wait *)arg)->done;
}

static inline void wait_for(struct test *t, struct wait *w)
{
	assert_true(sim_run_until(t->w.sim, is_done, w, HANG_MS));
}

static inline struct error prepare_pod(struct test *t, struct pod *pod)
{
	struct wait w = { 0 };

	claims_prepare(t->claims, pod, on_done, &w);
	assert_false(w.done);
	wait_for(t, &w);
	return w.err;
}

static inline struct error unprepare_pod(struct test *t, const char *uid)
{
	struct wait w = { 0 };

	claims_unprepare(t->claims, str_from(uid), on_done, &w);
	assert_false(w.done);
	wait_for(t, &w);
	return w.err;
}

static inline void assert_log(struct test *t, const char *want)
{
	assert_string_equal(t->log, want);
	t->log[0] = '\0';
}

static inline size_t claim_count(const struct test *t)
{
	CLEANUP(arena_release) struct arena a;
	struct assign_claim c;
	struct str at = STR_NULL;
	size_t n = 0;

	arena_init(&a, MIB);
	while (assign_claim_next(t->assign, &at, &a, &c))
		n++;
	return n;
}

#define ONE  "{\"name\":\"gpu\",\"resourceClaimName\":\"one\"}"
#define TWO  "{\"name\":\"nic\",\"resourceClaimName\":\"two\"}"
#define MADE "{\"name\":\"made\",\"resourceClaimTemplateName\":\"t\"}"

#endif
