/*
 * lifecycle_fixture - for tests: a small language for pods, runtimes and expected results.
 *
 * A pod: "Never i:first s:side m:main,live e:debug deleting=5". i, s, m and e are init, sidecar,
 * main and ephemeral containers. Their options are live, ready, startup (probes), image=X,
 * restart=POLICY, rule=ACTION:CODE. Words of the pod: a restart policy, deleting=GRACE,
 * grace=SECONDS, deadline=SECONDS, hostnet, gate=TYPE, generation=N.
 *
 * A runtime, newest first: "S0 main:0:r". S1 is a ready sandbox of attempt 1, s1 one that is not
 * ready, S1- one without an address. A container is NAME:ATTEMPT:STATE[CODE], with state c, r, x or
 * u. After it may follow @SECONDS since its end (default 100), /N for the sandbox's attempt
 * (default: the newest), and !HASH.
 *
 * A plan is printed as "run-sandbox 0, start main#0, stop main-0 30, wake+10000, over". A status is
 * printed as "Running TTTTT main:running#0+sr": phase, conditions (ready to start, initialized,
 * ready, containers ready, scheduled), containers with state, restarts, last state, started and
 * ready.
 */
#ifndef NODE_LIFECYCLE_LIFECYCLE_FIXTURE_H
#define NODE_LIFECYCLE_LIFECYCLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "node/lifecycle/lifecycle.h"

/* 2026-01-02T00:00:00Z */
#define FIXTURE_WALL_NS (INT64_C(1767312000) * CLOCK_SEC)

enum { FIXTURE_MONO_MS = 1000000, FIXTURE_MAX = 32 };

struct fixture {
	struct arena arena;
	struct lifecycle *life;
	struct pod *pod;
	struct runtime_pod seen;
	struct runtime_sandbox sandboxes[FIXTURE_MAX];
	struct runtime_container containers[FIXTURE_MAX];
	struct lifecycle_input in;
	struct lifecycle_plan plan;
};

/* --- pods --------------------------------------------------------------------------- */

static inline bool fixture_after(struct str s, const char *prefix, struct str *ret_rest)
{
	if (!str_starts(s, str_from(prefix)))
		return false;
	*ret_rest = str_skip(s, strlen(prefix));
	return true;
}

static inline void fixture_option(struct buf *b, struct str option)
{
	struct str rest, action;

	if (str_eqz(option, "live"))
		(void)buf_addz(b, ",\"livenessProbe\":{\"terminationGracePeriodSeconds\":7}");
	else if (str_eqz(option, "ready"))
		(void)buf_addz(b, ",\"readinessProbe\":{}");
	else if (str_eqz(option, "startup"))
		(void)buf_addz(b, ",\"startupProbe\":{}");
	else if (fixture_after(option, "image=", &rest))
		(void)buf_printf(b, ",\"image\":\"%.*s\"", STR_ARG(rest));
	else if (fixture_after(option, "restart=", &rest))
		(void)buf_printf(b, ",\"restartPolicy\":\"%.*s\"", STR_ARG(rest));
	else if (fixture_after(option, "rule=", &rest) && str_split(&rest, ':', &action))
		(void)buf_printf(b,
				 ",\"restartPolicyRules\":[{\"action\":\"%.*s\",\"exitCodes\":{"
				 "\"operator\":\"In\",\"values\":[%.*s]}}]",
				 STR_ARG(action), STR_ARG(rest));
	else
		fail_msg("an option %.*s", STR_ARG(option));
}

/* "m:NAME,option" of one kind, as members of its list. */
static inline void fixture_containers(struct buf *b, const char *list, char kind, struct str words)
{
	bool any = false;
	struct str word, part;

	(void)buf_printf(b, ",\"%s\":[", list);
	while (str_split(&words, ' ', &word)) {
		if (word.n < 3 || word.p[1] != ':' ||
		    (word.p[0] != kind && !(kind == 'i' && word.p[0] == 's')))
			continue;
		(void)buf_addz(b, any ? ",{" : "{");
		if (word.p[0] == 's')
			(void)buf_addz(b, "\"restartPolicy\":\"Always\",");
		any = true;
		word = str_skip(word, 2);
		(void)str_split(&word, ',', &part);
		(void)buf_printf(b, "\"name\":\"%.*s\"", STR_ARG(part));
		if (str_find(word, STR("image=")) < 0)
			(void)buf_addz(b, ",\"image\":\"busybox\"");
		while (word.n > 0 && str_split(&word, ',', &part))
			fixture_option(b, part);
		(void)buf_addc(b, '}');
	}
	(void)buf_addc(b, ']');
}

static inline void fixture_word(struct buf *spec, struct buf *meta, struct str word)
{
	struct str rest;

	if (str_eqz(word, "Never") || str_eqz(word, "OnFailure") || str_eqz(word, "Always"))
		(void)buf_printf(spec, ",\"restartPolicy\":\"%.*s\"", STR_ARG(word));
	else if (str_eqz(word, "hostnet"))
		(void)buf_addz(spec, ",\"hostNetwork\":true");
	else if (fixture_after(word, "grace=", &rest))
		(void)buf_printf(spec, ",\"terminationGracePeriodSeconds\":%.*s", STR_ARG(rest));
	else if (fixture_after(word, "deadline=", &rest))
		(void)buf_printf(spec, ",\"activeDeadlineSeconds\":%.*s", STR_ARG(rest));
	else if (fixture_after(word, "gate=", &rest))
		(void)buf_printf(spec, ",\"readinessGates\":[{\"conditionType\":\"%.*s\"}]",
				 STR_ARG(rest));
	else if (fixture_after(word, "generation=", &rest))
		(void)buf_printf(meta, ",\"generation\":%.*s", STR_ARG(rest));
	else if (fixture_after(word, "deleting=", &rest))
		(void)buf_printf(meta,
				 ",\"deletionTimestamp\":\"2026-01-02T00:00:30Z\","
				 "\"deletionGracePeriodSeconds\":%.*s",
				 STR_ARG(rest));
	else if (word.n > 0 && !(word.n > 2 && word.p[1] == ':'))
		fail_msg("a word %.*s", STR_ARG(word));
}

/* `status` is JSON, with ' for "; or NULL. */
static inline struct pod *fixture_pod(const char *words, const char *status)
{
	CLEANUP(buf_release) struct buf spec = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf meta = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct str rest = str_from(words), word;
	struct pod *p = NULL;
	struct error err;

	while (str_split(&rest, ' ', &word))
		fixture_word(&spec, &meta, word);
	fixture_containers(&spec, "initContainers", 'i', str_from(words));
	fixture_containers(&spec, "containers", 'm', str_from(words));
	fixture_containers(&spec, "ephemeralContainers", 'e', str_from(words));
	(void)buf_printf(&text,
			 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"%s},"
			 "\"spec\":{\"nodeName\":\"node\"%s}",
			 meta.p ? meta.p : "", spec.p);
	if (status) {
		size_t at = text.n;

		(void)buf_printf(&text, ",\"status\":%s", status);
		for (; at < text.n; at++)
			text.p[at] = text.p[at] == '\'' ? '"' : text.p[at];
	}
	(void)buf_addc(&text, '}');
	if (pod_parse(buf_str(&text), &p, &err) < 0)
		fail_msg("%s: %s", err.msg, text.p);
	return p;
}

/* --- runtimes ----------------------------------------------------------------------- */

static inline int64_t fixture_number(struct str *s)
{
	int64_t n = 0;

	while (s->n > 0 && s->p[0] >= '0' && s->p[0] <= '9') {
		n = n * 10 + (s->p[0] - '0');
		*s = str_skip(*s, 1);
	}
	return n;
}

static inline struct str fixture_print(struct fixture *f, const char *form, struct str s,
				       unsigned n)
{
	return str_from(arena_printf(&f->arena, form, STR_ARG(s), n));
}

static inline void fixture_sandbox(struct fixture *f, struct str word)
{
	static const struct str ips[] = { { "10.0.0.1", 8 } };
	struct runtime_sandbox *s = &f->sandboxes[f->seen.nsandboxes++];

	*s = (struct runtime_sandbox){ .ready = word.p[0] == 'S' };
	word = str_skip(word, 1);
	s->attempt = (unsigned)fixture_number(&word);
	s->id = fixture_print(f, "%.*s-%u", STR("sb"), s->attempt);
	s->ips = ips;
	s->nips = word.n == 0;
}

static inline enum runtime_state fixture_state(char c)
{
	return c == 'c'   ? RUNTIME_CREATED
	       : c == 'r' ? RUNTIME_RUNNING
	       : c == 'x' ? RUNTIME_EXITED
			  : RUNTIME_UNKNOWN;
}

static inline void fixture_container(struct fixture *f, struct str word)
{
	struct runtime_container *c = &f->containers[f->seen.ncontainers++];
	int64_t ago = 100;

	*c = (struct runtime_container){ .image = STR("docker.io/library/busybox:latest"),
					 .image_id = STR("sha256:abc") };
	(void)str_split(&word, ':', &c->name);
	c->attempt = (unsigned)fixture_number(&word);
	c->id = fixture_print(f, "%.*s-%u", c->name, c->attempt);
	word = str_skip(word, 1);
	c->state = fixture_state(word.p[0]);
	word = str_skip(word, 1);
	c->exit_code = (int)fixture_number(&word);
	c->sandbox_id = f->seen.nsandboxes ? f->sandboxes[0].id : STR("gone");
	while (word.n > 0) {
		char mark = word.p[0];

		word = str_skip(word, 1);
		if (mark == '!') {
			c->hash = word;
			break;
		}
		if (mark == '@')
			ago = fixture_number(&word);
		else
			c->sandbox_id = fixture_print(f, "%.*s-%u", STR("sb"),
						      (unsigned)fixture_number(&word));
	}
	c->created_ns = c->started_ns = f->in.wall_ns - 200 * CLOCK_SEC;
	if (c->state == RUNTIME_EXITED)
		c->finished_ns = f->in.wall_ns - ago * CLOCK_SEC;
}

/* Sets the runtime's state. */
static inline void fixture_see(struct fixture *f, const char *words)
{
	struct str rest = str_from(words), word;

	f->seen = (struct runtime_pod){ .uid = STR("u"),
					.ns = STR("n"),
					.name = STR("p"),
					.sandboxes = f->sandboxes,
					.containers = f->containers };
	while (rest.n > 0 && str_split(&rest, ' ', &word)) {
		if (str_chr(word, ':') < 0)
			fixture_sandbox(f, word);
		else
			fixture_container(f, word);
	}
	f->in.seen = words[0] ? &f->seen : NULL;
}

/* --- life --------------------------------------------------------------------------- */

static inline void fixture_init(struct fixture *f, const char *pod, const char *status,
				const char *seen)
{
	*f = (struct fixture){ 0 };
	arena_init(&f->arena, 64 * MIB);
	f->life = lifecycle_new();
	f->pod = fixture_pod(pod, status);
	f->in = (struct lifecycle_input){
		.pod = f->pod,
		.wall_ns = FIXTURE_WALL_NS,
		.mono_ms = FIXTURE_MONO_MS,
		.prepared = true,
		.host_ip = STR("192.168.0.1"),
		.id_prefix = STR("test"),
	};
	fixture_see(f, seen);
}

static inline void fixture_release(struct fixture *f)
{
	lifecycle_free(f->life);
	pod_unref(f->pod);
	arena_release(&f->arena);
}

static inline void fixture_pass(struct fixture *f, int64_t ms)
{
	f->in.mono_ms += ms;
	f->in.wall_ns += ms * CLOCK_MS;
}

/* Replaces the pod by another version of itself. */
static inline void fixture_becomes(struct fixture *f, const char *pod, const char *status)
{
	pod_unref(f->pod);
	f->pod = fixture_pod(pod, status);
	f->in.pod = f->pod;
}

/* --- results ------------------------------------------------------------------------ */

static inline void fixture_tell_action(struct buf *b, const struct lifecycle_action *a)
{
	if (b->n > 0)
		(void)buf_addz(b, ", ");
	switch (a->type) {
	case LIFECYCLE_RUN_SANDBOX:
		(void)buf_printf(b, "run-sandbox %u", a->attempt);
		break;
	case LIFECYCLE_STOP_SANDBOX:
		(void)buf_printf(b, "stop-sandbox %.*s", STR_ARG(a->id));
		break;
	case LIFECYCLE_REMOVE_SANDBOX:
		(void)buf_printf(b, "remove-sandbox %.*s", STR_ARG(a->id));
		break;
	case LIFECYCLE_START_CONTAINER:
		(void)buf_printf(b, "start %.*s#%u", STR_ARG(a->container), a->attempt);
		break;
	case LIFECYCLE_STOP_CONTAINER:
		(void)buf_printf(b, "stop %.*s %d", STR_ARG(a->id), (int)a->grace_s);
		break;
	case LIFECYCLE_REMOVE_CONTAINER:
		(void)buf_printf(b, "remove %.*s", STR_ARG(a->id));
		break;
	}
}

static inline const char *fixture_plan(struct fixture *f)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	lifecycle_plan(f->life, &f->in, &f->arena, &f->plan);
	for (size_t i = 0; i < f->plan.n; i++)
		fixture_tell_action(&b, &f->plan.actions[i]);
	if (f->plan.wake_ms != INT64_MAX)
		(void)buf_printf(&b, "%swake+%d", b.n ? ", " : "",
				 (int)(f->plan.wake_ms - f->in.mono_ms));
	if (f->plan.over)
		(void)buf_addz(&b, b.n ? ", over" : "over");
	if (f->plan.done)
		(void)buf_addz(&b, ", done");
	return arena_strdup(&f->arena, buf_str(&b));
}

static inline void fixture_tell_state(struct buf *b, const struct json *state)
{
	const struct json *s = json_first(state);
	struct str reason = json_text_at(s, "reason");

	(void)buf_printf(b, "%.*s", STR_ARG(json_key(s)));
	if (json_getz(s, "exitCode"))
		(void)buf_printf(b, "=%d", (int)json_i64_at(s, "exitCode", -1));
	if (reason.n > 0)
		(void)buf_printf(b, "(%.*s)", STR_ARG(reason));
}

static inline void fixture_tell_containers(struct buf *b, const struct json *list)
{
	JSON_FOREACH (c, list) {
		(void)buf_printf(b, " %.*s:", STR_ARG(json_text_at(c, "name")));
		fixture_tell_state(b, json_getz(c, "state"));
		(void)buf_printf(b, "#%d", (int)json_i64_at(c, "restartCount", -1));
		if (json_count(json_getz(c, "lastState"))) {
			(void)buf_addz(b, "<");
			fixture_tell_state(b, json_getz(c, "lastState"));
		}
		if (json_true_at(c, "started") || json_true_at(c, "ready"))
			(void)buf_addz(b, "+");
		(void)buf_addz(b, json_true_at(c, "started") ? "s" : "");
		(void)buf_addz(b, json_true_at(c, "ready") ? "r" : "");
	}
}

static inline char fixture_condition(const struct json *status, const char *type)
{
	JSON_FOREACH (c, json_getz(status, "conditions")) {
		if (str_eqz(json_text_at(c, "type"), type))
			return json_text_at(c, "status").p[0];
	}
	return '-';
}

static inline const char *fixture_summary(struct fixture *f, const struct json *status)
{
	static const char *const types[] = { "PodReadyToStartContainers", "Initialized", "Ready",
					     "ContainersReady", "PodScheduled" };
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct str reason = json_text_at(status, "reason");

	(void)buf_add_str(&b, json_text_at(status, "phase"));
	if (reason.n > 0)
		(void)buf_printf(&b, "(%.*s)", STR_ARG(reason));
	(void)buf_addc(&b, ' ');
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		(void)buf_addc(&b, fixture_condition(status, types[i]));
	fixture_tell_containers(&b, json_getz(status, "initContainerStatuses"));
	fixture_tell_containers(&b, json_getz(status, "containerStatuses"));
	fixture_tell_containers(&b, json_getz(status, "ephemeralContainerStatuses"));
	return arena_strdup(&f->arena, buf_str(&b));
}

static inline const char *fixture_status(struct fixture *f)
{
	return fixture_summary(f, lifecycle_status(f->life, &f->in, &f->arena));
}

static inline const char *fixture_text(struct fixture *f, const struct json *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	if (v)
		(void)json_print(&b, v, NULL);
	return arena_strdup(&f->arena, buf_str(&b));
}

#endif
