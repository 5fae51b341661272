/*
 * Random lives of random pods on a runtime that fails, loses and kills, with agents that restart
 * and statuses that reach the server or do not. Actions take time and end in any order. After each
 * event the plan and the status are checked:
 *
 * - an init container starts when those before it are done, a main container when all are
 * - no container is started while it runs, and none restarts that must not
 * - only existing things are stopped, and only stopped ones removed
 * - a second plan is the same, and never asks to be called again at once
 * - the API accepts every status; an end is final, and counts never decrease
 * - if nothing disturbs it, the pod gets where it should; if deleted, it ends
 */
#include <inttypes.h>

#include "api/write/write.h"
#include "base/core/limits.h"
#include "base/core/random.h"
#include "node/lifecycle/lifecycle_fixture.h"

enum {
	CONTAINERS_MAX = 512,
	SANDBOXES_MAX = 64,
	OPS_MAX = 64,
	SPECS_MAX = 8,
	EVENTS = 150,
	LIVES = 120,
};

struct thing {
	char id[24];
	bool there;
	struct runtime_container c; /* of a container */
	struct runtime_sandbox s; /* of a sandbox */
};

struct op {
	enum lifecycle_action_type type;
	char name[16], id[24];
	unsigned attempt;
};

/* The true state of a container of the spec, whatever the runtime remembers. */
struct truth {
	char text[8];
	struct str name;
	enum pod_container_kind kind;
	bool once; /* must not run twice */
	unsigned ran;
	int64_t count; /* restarts, as the server has it */
	/* The sandbox in which it has run (a sidecar) or succeeded (an init container). */
	unsigned through;
};

struct world {
	struct prng g;
	struct gates gates;
	uint64_t seed;
	struct lifecycle *life;
	struct pod *pod;
	char *stored; /* the object, as text */
	struct thing containers[CONTAINERS_MAX], sandboxes[SANDBOXES_MAX];
	size_t ncontainers, nsandboxes;
	struct op ops[OPS_MAX];
	size_t nops;
	struct truth specs[SPECS_MAX];
	size_t nspecs;
	int64_t wall_ns, mono_ms;
	bool prepared, cleaned, calm;
	struct lifecycle_plan plan;
	char phase[16];
};

static bool chance(struct world *w, unsigned percent)
{
	return prng_below(&w->g, 100) < percent;
}

/* --- the server --------------------------------------------------------------------- */

static void write_begin(struct world *w, struct arena *a, struct write *wr, const char *sub)
{
	arena_init(a, 64 * MIB);
	*wr = (struct write){
		.arena = a,
		.kind = schema_find_resource(STR(""), STR("v1"), STR("pods")),
		.ns = STR("n"),
		.name = w->stored ? STR("p") : STR_NULL,
		.subresource = str_from(sub),
		.gates = &w->gates,
		.now_ns = w->wall_ns,
		.prng = &w->g,
		.user_agent = STR("test"),
	};
	write_init(wr);
}

static void refused(struct world *w, struct write *wr, const struct error *err, const char *what)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	if (field_errors_any(&wr->errs))
		(void)field_errors_aggregate(&wr->errs, &b);
	fail_msg("seed %" PRIu64 ": %s %s: %s", w->seed, err->msg, b.p ? b.p : "", what);
}

static struct json *parse(struct arena *a, const char *text)
{
	struct json *tree = NULL;

	assert_int_equal(json_parse(a, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

static void store(struct world *w, struct arena *a, struct json *object)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	json_put_str(a, json_getz(object, "metadata"), "resourceVersion", STR("7"));
	assert_int_equal(json_print(&b, object, NULL), 0);
	free(w->stored);
	w->stored = buf_take(&b);
	pod_unref(w->pod);
	w->pod = NULL;
	assert_int_equal(pod_parse(str_from(w->stored), &w->pod, NULL), 0);
}

static void create(struct world *w, const char *text)
{
	CLEANUP(arena_release) struct arena a;
	struct json *body, *object = NULL;
	struct write wr;
	struct error err;

	write_begin(w, &a, &wr, "");
	if (write_decode(&wr, str_from(text), DECODE_JSON, &body, &err) < 0 ||
	    write_create(&wr, body, &object, &err) < 0)
		refused(w, &wr, &err, text);
	store(w, &a, object);
}

static void check_stored(struct world *w, const struct json *status)
{
	struct str phase = json_text_at(status, "phase");
	bool final = strcmp(w->phase, "Failed") == 0 || strcmp(w->phase, "Succeeded") == 0;

	if (final && !str_eqz(phase, w->phase))
		fail_msg("seed %" PRIu64 ": from %s to %.*s", w->seed, w->phase, STR_ARG(phase));
	(void)snprintf(w->phase, sizeof(w->phase), "%.*s", STR_ARG(phase));
	for (size_t i = 0; i < w->nspecs; i++) {
		static const char *const lists[] = { "initContainerStatuses",
						     "initContainerStatuses", "containerStatuses" };
		int64_t count = -1;

		JSON_FOREACH (it, json_getz(status, lists[w->specs[i].kind])) {
			if (str_eq(json_text_at(it, "name"), w->specs[i].name))
				count = json_i64_at(it, "restartCount", -1);
		}
		if (count < w->specs[i].count && count >= 0)
			fail_msg("seed %" PRIu64 ": %.*s counted back from %d to %d", w->seed,
				 STR_ARG(w->specs[i].name), (int)w->specs[i].count, (int)count);
		w->specs[i].count = MAX(count, w->specs[i].count);
	}
}

/* The server must accept it; `keep`: it is then stored. */
static void write_status(struct world *w, struct json *status, bool keep)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct json *old, *body, *object = NULL;
	const char *status_text;
	struct write wr;
	struct error err;

	write_begin(w, &a, &wr, "status");
	assert_int_equal(json_print(&text, status, NULL), 0);
	status_text = arena_strdup(&a, buf_str(&text));
	buf_clear(&text);
	old = parse(&a, w->stored);
	body = parse(&a, w->stored);
	json_setz(body, "status", status);
	assert_int_equal(json_print(&text, body, NULL), 0);
	if (write_decode(&wr, buf_str(&text), DECODE_JSON, &body, &err) < 0 ||
	    write_update(&wr, old, body, &object, &err) < 0)
		refused(w, &wr, &err, status_text);
	if (!keep)
		return;
	check_stored(w, status);
	store(w, &a, object);
}

static void delete_pod(struct world *w)
{
	CLEANUP(arena_release) struct arena a;
	struct delete_options o = { .grace_s = (int64_t)prng_below(&w->g, 20) + 1 };
	struct json *object = NULL;
	struct write wr;
	struct error err;

	write_begin(w, &a, &wr, "");
	if (write_delete(&wr, parse(&a, w->stored), &o, &object, &err) < 0)
		refused(w, &wr, &err, "delete");
	if (object)
		store(w, &a, object);
}

/* --- the runtime -------------------------------------------------------------------- */

static int newest_first(const struct thing *all, size_t n, const struct thing **ret)
{
	int count = 0;

	for (size_t i = n; i-- > 0;) {
		if (all[i].there)
			ret[count++] = &all[i];
	}
	return count;
}

static void look(struct world *w, struct arena *a, struct runtime_pod *ret_seen)
{
	const struct thing *v[CONTAINERS_MAX];
	struct runtime_sandbox *s;
	struct runtime_container *c;

	*ret_seen = (struct runtime_pod){ .uid = w->pod->uid };
	ret_seen->nsandboxes = (size_t)newest_first(w->sandboxes, w->nsandboxes, v);
	s = ARENA_ARRAY(a, struct runtime_sandbox, ret_seen->nsandboxes + 1);
	for (size_t i = 0; i < ret_seen->nsandboxes; i++)
		s[i] = v[i]->s;
	ret_seen->sandboxes = s;
	ret_seen->ncontainers = (size_t)newest_first(w->containers, w->ncontainers, v);
	c = ARENA_ARRAY(a, struct runtime_container, ret_seen->ncontainers + 1);
	for (size_t i = 0; i < ret_seen->ncontainers; i++)
		c[i] = v[i]->c;
	ret_seen->containers = c;
}

static struct thing *find(struct thing *all, size_t n, struct str id)
{
	for (size_t i = 0; i < n; i++) {
		if (all[i].there && str_eqz(id, all[i].id))
			return &all[i];
	}
	return NULL;
}

static struct thing *sandbox(struct world *w, struct str id)
{
	return find(w->sandboxes, w->nsandboxes, id);
}

static struct thing *container(struct world *w, struct str id)
{
	return find(w->containers, w->ncontainers, id);
}

static struct truth *truth(struct world *w, struct str name)
{
	for (size_t i = 0; i < w->nspecs; i++) {
		if (str_eq(w->specs[i].name, name))
			return &w->specs[i];
	}
	fail_msg("seed %" PRIu64 ": no container %.*s", w->seed, STR_ARG(name));
	return NULL;
}

static unsigned sandbox_number(const struct thing *s)
{
	return s->s.attempt + 1;
}

static void end_container(struct world *w, struct thing *t, int code)
{
	struct truth *of = truth(w, t->c.name);
	struct thing *in = sandbox(w, t->c.sandbox_id);

	t->c.state = RUNTIME_EXITED;
	t->c.exit_code = code;
	t->c.finished_ns = w->wall_ns;
	if (code == 0 && of->kind == POD_INIT && in)
		of->through = sandbox_number(in);
}

static void end_sandbox(struct world *w, struct thing *t)
{
	t->s.ready = false;
	for (size_t i = 0; i < w->ncontainers; i++) {
		if (w->containers[i].there && w->containers[i].c.state == RUNTIME_RUNNING &&
		    str_eqz(w->containers[i].c.sandbox_id, t->id))
			end_container(w, &w->containers[i], 137);
	}
}

static void make_sandbox(struct world *w, const struct op *op)
{
	static const struct str ip[] = { { "10.0.0.1", 8 } };
	struct thing *t = &w->sandboxes[w->nsandboxes];

	assert_true(w->nsandboxes < SANDBOXES_MAX);
	*t = (struct thing){ .there = true };
	(void)snprintf(t->id, sizeof(t->id), "sb%zu", w->nsandboxes++);
	t->s = (struct runtime_sandbox){ .id = str_from(t->id),
					 .ips = ip,
					 .nips = 1,
					 .created_ns = w->wall_ns,
					 .attempt = op->attempt,
					 .ready = true };
}

static void check_order(struct world *w, struct truth *of, const struct thing *in)
{
	for (size_t i = 0; i < w->nspecs && &w->specs[i] != of; i++) {
		if (w->specs[i].kind == POD_MAIN)
			continue;
		if (w->specs[i].through != sandbox_number(in))
			fail_msg("seed %" PRIu64 ": %.*s started before %.*s was through", w->seed,
				 STR_ARG(of->name), STR_ARG(w->specs[i].name));
	}
}

static void check_alone(struct world *w, struct truth *of)
{
	for (size_t i = 0; i < w->ncontainers; i++) {
		if (w->containers[i].there && w->containers[i].c.state == RUNTIME_RUNNING &&
		    str_eq(w->containers[i].c.name, of->name))
			fail_msg("seed %" PRIu64 ": %.*s runs twice", w->seed, STR_ARG(of->name));
	}
	if (of->once && of->ran > 0)
		fail_msg("seed %" PRIu64 ": %.*s must not restart", w->seed, STR_ARG(of->name));
}

/* `state` is RUNTIME_CREATED if the start fails after the creation. */
static void make_container(struct world *w, const struct op *op, enum runtime_state state)
{
	struct thing *in = sandbox(w, str_from(op->id));
	struct truth *of = truth(w, str_from(op->name));
	struct thing *t = &w->containers[w->ncontainers];

	/* Its sandbox has died meanwhile. */
	if (!in || !in->s.ready)
		return;
	assert_true(w->ncontainers < CONTAINERS_MAX);
	*t = (struct thing){ .there = true };
	(void)snprintf(t->id, sizeof(t->id), "c%zu", w->ncontainers++);
	t->c = (struct runtime_container){ .id = str_from(t->id),
					   .name = of->name,
					   .sandbox_id = in->s.id,
					   .image = STR("busybox"),
					   .image_id = STR("sha256:1"),
					   .created_ns = w->wall_ns,
					   .attempt = op->attempt,
					   .state = state };
	if (state != RUNTIME_RUNNING)
		return;
	t->c.state = RUNTIME_EXITED;
	check_alone(w, of);
	check_order(w, of, in);
	t->c.state = state;
	t->c.started_ns = w->wall_ns;
	of->ran++;
	if (of->kind == POD_SIDECAR)
		of->through = sandbox_number(in);
}

/* --- actions ------------------------------------------------------------------------ */

static void fail_op(struct world *w, const struct op *op)
{
	static const char *const reasons[] = { "ErrImagePull", "CreateContainerError",
					       "RunContainerError", "InvalidImageName" };
	const char *reason = reasons[prng_below(&w->g, ARRAY_SIZE(reasons))];

	if (op->type == LIFECYCLE_RUN_SANDBOX)
		lifecycle_failed(w->life, STR_NULL, STR("FailedCreatePodSandBox"), STR("x"),
				 w->mono_ms);
	if (op->type != LIFECYCLE_START_CONTAINER)
		return;
	if (strcmp(reason, "RunContainerError") == 0)
		make_container(w, op, RUNTIME_CREATED);
	lifecycle_failed(w->life, str_from(op->name), str_from(reason), STR("x"), w->mono_ms);
}

static void finish_op(struct world *w, size_t i)
{
	struct op op = w->ops[i];
	struct thing *s = sandbox(w, str_from(op.id)), *c = container(w, str_from(op.id));

	w->ops[i] = w->ops[--w->nops];
	if (!w->calm && chance(w, 15)) {
		fail_op(w, &op);
		return;
	}
	if (op.type == LIFECYCLE_RUN_SANDBOX)
		make_sandbox(w, &op);
	else if (op.type == LIFECYCLE_START_CONTAINER)
		make_container(w, &op, RUNTIME_RUNNING);
	else if (op.type == LIFECYCLE_STOP_SANDBOX && s)
		end_sandbox(w, s);
	else if (op.type == LIFECYCLE_REMOVE_SANDBOX && s)
		s->there = false;
	else if (op.type == LIFECYCLE_STOP_CONTAINER && c && c->c.state != RUNTIME_EXITED)
		end_container(w, c, chance(w, 50) ? 0 : 137);
	else if (op.type == LIFECYCLE_REMOVE_CONTAINER && c)
		c->there = false;
}

static bool under_way(const struct world *w, const struct lifecycle_action *a)
{
	bool by_name = a->type == LIFECYCLE_START_CONTAINER || a->type == LIFECYCLE_RUN_SANDBOX;

	for (size_t i = 0; i < w->nops; i++) {
		if (w->ops[i].type == a->type && (by_name ? str_eqz(a->container, w->ops[i].name)
							  : str_eqz(a->id, w->ops[i].id)))
			return true;
	}
	return false;
}

static void check_action(struct world *w, const struct lifecycle_action *a)
{
	struct thing *c = container(w, a->id), *s = sandbox(w, a->id);
	bool fine = true;

	if (a->type == LIFECYCLE_START_CONTAINER)
		fine = s && s->s.ready && w->prepared && !w->pod->deleting;
	else if (a->type == LIFECYCLE_STOP_CONTAINER)
		fine = c && c->c.state != RUNTIME_EXITED && a->grace_s >= 2 && a->message.n > 0;
	else if (a->type == LIFECYCLE_REMOVE_CONTAINER)
		fine = c && c->c.state != RUNTIME_RUNNING;
	else if (a->type == LIFECYCLE_STOP_SANDBOX)
		fine = s && s->s.ready;
	else if (a->type == LIFECYCLE_REMOVE_SANDBOX)
		fine = s && !s->s.ready;
	if (!fine)
		fail_msg("seed %" PRIu64 ": action %d of %.*s %.*s makes no sense", w->seed,
			 a->type, STR_ARG(a->container), STR_ARG(a->id));
}

static void begin_op(struct world *w, const struct lifecycle_action *a)
{
	struct op *op = &w->ops[w->nops];

	check_action(w, a);
	if (under_way(w, a))
		return;
	assert_true(w->nops < OPS_MAX);
	w->nops++;
	*op = (struct op){ .type = a->type, .attempt = a->attempt };
	(void)snprintf(op->name, sizeof(op->name), "%.*s", STR_ARG(a->container));
	(void)snprintf(op->id, sizeof(op->id), "%.*s", STR_ARG(a->id));
}

/* --- one turn ----------------------------------------------------------------------- */

static struct lifecycle_input input(struct world *w, const struct runtime_pod *seen)
{
	return (struct lifecycle_input){
		.pod = w->pod,
		.seen = seen->nsandboxes + seen->ncontainers > 0 ? seen : NULL,
		.wall_ns = w->wall_ns,
		.mono_ms = w->mono_ms,
		.prepared = w->prepared,
		.cleaned = w->cleaned,
		.host_ip = STR("192.168.0.1"),
		.id_prefix = STR("test"),
	};
}

static void check_again(struct world *w, const struct lifecycle_input *in, struct arena *a)
{
	struct lifecycle_plan again;

	lifecycle_plan(w->life, in, a, &again);
	if (again.n != w->plan.n || again.over != w->plan.over || again.wake_ms != w->plan.wake_ms)
		fail_msg("seed %" PRIu64 ": another plan when asked again", w->seed);
	for (size_t i = 0; i < again.n; i++) {
		if (again.actions[i].type != w->plan.actions[i].type ||
		    !str_eq(again.actions[i].id, w->plan.actions[i].id))
			fail_msg("seed %" PRIu64 ": another action when asked again", w->seed);
	}
	if (w->plan.wake_ms <= w->mono_ms)
		fail_msg("seed %" PRIu64 ": to be asked again at once", w->seed);
}

static void turn(struct world *w, bool keep)
{
	CLEANUP(arena_release) struct arena a;
	struct runtime_pod seen;
	struct lifecycle_input in;

	arena_init(&a, 64 * MIB);
	look(w, &a, &seen);
	in = input(w, &seen);
	lifecycle_plan(w->life, &in, &a, &w->plan);
	check_again(w, &in, &a);
	for (size_t i = 0; i < w->plan.n; i++)
		begin_op(w, &w->plan.actions[i]);
	if (w->plan.over && w->nops == 0)
		w->cleaned = true;
	write_status(w, lifecycle_status(w->life, &in, &a), keep);
	w->plan.actions = NULL;
	w->plan.n = 0;
}

/* --- events ------------------------------------------------------------------------- */

static struct thing *any_running(struct world *w)
{
	size_t from = prng_below(&w->g, w->ncontainers + 1);

	for (size_t i = 0; i < w->ncontainers; i++) {
		struct thing *t = &w->containers[(from + i) % w->ncontainers];

		if (t->there && t->c.state == RUNTIME_RUNNING)
			return t;
	}
	return NULL;
}

static void exits(struct world *w)
{
	struct thing *t = any_running(w);

	if (t)
		end_container(w, t, chance(w, 50) ? 0 : 1);
}

/* The runtime forgets a container that the server knows. */
static void is_lost(struct world *w)
{
	struct thing *t = any_running(w);

	if (!t)
		return;
	turn(w, true);
	t->there = false;
}

static void sandbox_dies(struct world *w)
{
	for (size_t i = 0; i < w->nsandboxes; i++) {
		if (w->sandboxes[i].there && w->sandboxes[i].s.ready) {
			end_sandbox(w, &w->sandboxes[i]);
			return;
		}
	}
}

static void probed(struct world *w)
{
	struct thing *t = any_running(w);

	if (t)
		lifecycle_probed(w->life, t->c.id, (enum lifecycle_probe)prng_below(&w->g, 3),
				 chance(w, 70), STR("x"));
}

/* Actions in flight may or may not have succeeded. */
static void agent_restarts(struct world *w)
{
	while (w->nops > 0) {
		if (chance(w, 50))
			finish_op(w, 0);
		else
			w->ops[0] = w->ops[--w->nops];
	}
	lifecycle_free(w->life);
	w->life = lifecycle_new();
	w->cleaned = false;
}

static void pass(struct world *w)
{
	int64_t ms = (int64_t)prng_below(&w->g, 30000);

	w->mono_ms += ms;
	w->wall_ns += ms * CLOCK_MS;
}

static void op_ends(struct world *w)
{
	if (w->nops > 0)
		finish_op(w, prng_below(&w->g, w->nops));
}

static void happen(struct world *w)
{
	static const struct {
		unsigned weight;
		void (*fn)(struct world *w);
	} events[] = { { 50, op_ends }, { 12, exits },         { 2, is_lost }, { 2, sandbox_dies },
		       { 10, probed },  { 3, agent_restarts }, { 21, pass } };
	uint64_t r = prng_below(&w->g, 100);

	w->prepared = w->prepared || chance(w, 30);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (r < events[i].weight) {
			events[i].fn(w);
			return;
		}
		r -= events[i].weight;
	}
}

/* --- lives -------------------------------------------------------------------------- */

static void add_container(struct world *w, struct buf *b, unsigned number,
			  enum pod_container_kind kind, bool never)
{
	static const char probe[] = "{\"tcpSocket\":{\"port\":80}}";
	struct truth *t = &w->specs[w->nspecs++];
	bool own = kind == POD_MAIN && chance(w, 15);

	*t = (struct truth){ .kind = kind };
	(void)snprintf(t->text, sizeof(t->text), "%c%u", kind == POD_MAIN ? 'm' : 'i', number % 10);
	t->name = str_from(t->text);
	t->once = kind == POD_MAIN && (own || never);
	(void)buf_printf(b, "{\"name\":\"%s\",\"image\":\"busybox\",\"resources\":{}", t->text);
	if (kind == POD_SIDECAR)
		(void)buf_addz(b, ",\"restartPolicy\":\"Always\"");
	if (own)
		(void)buf_addz(b, ",\"restartPolicy\":\"Never\"");
	if (kind != POD_INIT && chance(w, 30))
		(void)buf_printf(b, ",\"readinessProbe\":%s", probe);
	if (kind != POD_INIT && chance(w, 30))
		(void)buf_printf(b, ",\"livenessProbe\":%s", probe);
	if (kind == POD_MAIN && chance(w, 20))
		(void)buf_printf(b, ",\"startupProbe\":%s", probe);
	(void)buf_addc(b, '}');
}

static void make_pod(struct world *w)
{
	static const char *const policies[] = { "Always", "OnFailure", "Never" };
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	uint64_t policy = prng_below(&w->g, 3), ninit = prng_below(&w->g, 4);
	uint64_t nmain = prng_below(&w->g, 3) + 1;

	(void)buf_printf(&b,
			 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},"
			 "\"spec\":{\"nodeName\":\"node\",\"restartPolicy\":\"%s\"",
			 policies[policy]);
	if (chance(w, 10))
		(void)buf_addz(&b, ",\"activeDeadlineSeconds\":300");
	(void)buf_addz(&b, ",\"initContainers\":[");
	for (uint64_t i = 0; i < ninit; i++) {
		(void)buf_addz(&b, i ? "," : "");
		add_container(w, &b, (unsigned)i, chance(w, 50) ? POD_INIT : POD_SIDECAR, false);
	}
	(void)buf_addz(&b, "],\"containers\":[");
	for (uint64_t i = 0; i < nmain; i++) {
		(void)buf_addz(&b, i ? "," : "");
		add_container(w, &b, (unsigned)i, POD_MAIN, policy == 2);
	}
	(void)buf_addz(&b, "]}}");
	create(w, b.p);
}

/* Init containers finish their work. */
static bool init_runs(struct world *w)
{
	for (size_t i = 0; i < w->ncontainers; i++) {
		struct thing *t = &w->containers[i];

		if (!t->there || t->c.state != RUNTIME_RUNNING ||
		    truth(w, t->c.name)->kind != POD_INIT)
			continue;
		end_container(w, t, 0);
		return true;
	}
	return false;
}

static bool settled(struct world *w)
{
	return w->nops == 0 && w->plan.wake_ms == INT64_MAX && !init_runs(w);
}

/* Everything works, and time passes as the plan requests. */
static void calm_down(struct world *w)
{
	w->calm = w->prepared = true;
	for (int i = 0; i < 2000; i++) {
		turn(w, true);
		if (w->plan.done || (settled(w) && !w->plan.over))
			return;
		if (w->nops > 0) {
			op_ends(w);
		} else if (w->plan.wake_ms != INT64_MAX) {
			w->wall_ns += (w->plan.wake_ms - w->mono_ms) * CLOCK_MS;
			w->mono_ms = w->plan.wake_ms;
		}
	}
	fail_msg("seed %" PRIu64 ": it does not settle", w->seed);
}

/* An undisturbed pod runs, or has ended. */
static void check_settled(struct world *w)
{
	for (size_t i = 0; i < w->nspecs && !w->plan.done; i++) {
		bool runs = false;

		for (size_t k = 0; k < w->ncontainers; k++)
			runs = runs || (w->containers[k].there &&
					w->containers[k].c.state == RUNTIME_RUNNING &&
					str_eq(w->containers[k].c.name, w->specs[i].name));
		if (w->specs[i].kind == POD_SIDECAR && !runs)
			fail_msg("seed %" PRIu64 ": the sidecar %.*s does not run", w->seed,
				 STR_ARG(w->specs[i].name));
	}
	if (w->plan.done && strcmp(w->phase, "Failed") != 0 && strcmp(w->phase, "Succeeded") != 0)
		fail_msg("seed %" PRIu64 ": over, but %s", w->seed, w->phase);
}

static void check_deleted(struct world *w)
{
	delete_pod(w);
	calm_down(w);
	turn(w, true);
	if (!w->plan.done)
		fail_msg("seed %" PRIu64 ": deleted, but not done", w->seed);
	check_settled(w);
	for (size_t i = 0; i < w->ncontainers; i++)
		assert_false(w->containers[i].there && w->containers[i].c.state == RUNTIME_RUNNING);
	for (size_t i = 0; i < w->nsandboxes; i++)
		assert_false(w->sandboxes[i].there && w->sandboxes[i].s.ready);
}

static void live(struct world *w, uint64_t seed)
{
	uint64_t events = 0;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->wall_ns = FIXTURE_WALL_NS;
	w->mono_ms = FIXTURE_MONO_MS;
	prng_init(&w->g, seed);
	gates_init(&w->gates);
	w->life = lifecycle_new();
	make_pod(w);
	events = prng_below(&w->g, EVENTS);
	for (uint64_t i = 0; i < events; i++) {
		happen(w);
		turn(w, chance(w, 60));
		if (!w->pod->deleting && chance(w, 1))
			delete_pod(w);
	}
	calm_down(w);
	check_settled(w);
	check_deleted(w);
	lifecycle_free(w->life);
	pod_unref(w->pod);
	free(w->stored);
}

static void pods_live_and_end_as_they_should(void **state)
{
	struct world *w = malloc(sizeof(*w));

	assert_non_null(w);
	for (uint64_t seed = 0; seed < LIVES; seed++)
		live(w, seed);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_live_and_end_as_they_should),
	};

	return cmocka_run_group_tests_name("node/lifecycle_random", tests, NULL, NULL);
}
