/*
 * Three maps: pods by uid, sandboxes and containers by id. An operation changes them at once and
 * queues its reply, which a task at the end of the turn sends. So callers see the same order as
 * with a runtime behind a socket. A list is built when its reply is sent, from the state at that
 * time.
 */
#include "node/runtime/hollow.h"

#include "api/api_limits.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/system/uuid.h"
#include "base/system/version.h"
#include "base/time/duration.h"
#include "net/loop/loop.h"

enum {
	CODE_TERMINATED = 143, /* 128 + SIGTERM */
	CODE_BAD_ANNOTATION = 128,
	USER = 65532, /* of every image: numeric, and not root */
	ADDRESSES = 65536,
};

struct hollow_pod {
	char *uid, *ns, *name;
	struct list sandboxes, containers; /* newest first */
};

struct hollow_sandbox {
	struct list link;
	struct hollow_pod *pod;
	char id[UUID_TEXT_SIZE];
	char ip[sizeof("10.255.255.255")]; /* or empty */
	struct str ip_str; /* view of `ip` */
	char *pull_error; /* from the annotation, or NULL */
	int64_t created_ns;
	unsigned attempt;
	bool ready;
};

struct hollow_container {
	struct list link;
	struct hollow *owner;
	struct hollow_sandbox *sandbox;
	char id[UUID_TEXT_SIZE];
	char *name, *image, *log_path, *cpus;
	char *exit; /* from the annotation, or NULL */
	struct loop_timer end;
	const char *message; /* a constant, or NULL */
	int64_t created_ns, started_ns, finished_ns;
	unsigned attempt;
	int exit_code;
	enum runtime_state state;
};

/* A pending reply. */
struct reply {
	struct list link;
	void (*give)(struct hollow *h, struct reply *r);
	union {
		runtime_done *plain;
		runtime_id_done *id;
		runtime_pods_done *pods;
		runtime_exec_done *exec;
		runtime_image_done *image;
		runtime_condition_done *condition;
		runtime_images_done *images;
		runtime_stats_done *stats;
	} done;
	void *arg;
	char *text; /* an id or an image; or NULL */
	struct error *err; /* or NULL */
};

struct hollow {
	struct runtime runtime;
	struct loop *loop;
	struct map pods, sandboxes, containers;
	struct list replies;
	struct loop_task task;
	unsigned net, addresses; /* number of addresses assigned */
};

static struct hollow *hollow_of(struct runtime *r)
{
	return CONTAINER_OF(r, struct hollow, runtime);
}

static int64_t wall(const struct hollow *h)
{
	return clock_wall(loop_clock(h->loop));
}

/* --- replies --------------------------------------------------------------------------------- */

static void reply_free(struct reply *r)
{
	list_remove(&r->link);
	free(r->text);
	free(r->err);
	free(r);
}

/* A callback may free the runtime, or make more calls, which get their replies in a later turn. */
static void give_replies(struct loop_task *t)
{
	struct hollow *h = CONTAINER_OF(t, struct hollow, task);
	struct list *node = list_pop_front(&h->replies);
	struct reply *r = LIST_ENTRY(node, struct reply, link);

	if (!list_empty(&h->replies))
		loop_defer(h->loop, &h->task);
	r->give(h, r);
	reply_free(r);
}

static struct reply *owe(struct hollow *h, void (*give)(struct hollow *h, struct reply *r),
			 void *arg)
{
	struct reply *r = XNEW(struct reply);

	r->give = give;
	r->arg = arg;
	list_push_back(&h->replies, &r->link);
	loop_defer(h->loop, &h->task);
	return r;
}

static void hollow_fail(struct reply *r, enum error_code code, const char *what, struct str name)
{
	r->err = XNEW(struct error);
	(void)error_set(r->err, code, what, STR_ARG(name));
}

static void give_plain(struct hollow *h UNUSED, struct reply *r)
{
	r->done.plain(r->arg, r->err);
}

static void give_id(struct hollow *h UNUSED, struct reply *r)
{
	r->done.id(r->arg, r->err ? STR_NULL : str_from(r->text), r->err);
}

static struct reply *owe_plain(struct hollow *h, runtime_done *done, void *arg)
{
	struct reply *r = owe(h, give_plain, arg);

	r->done.plain = done;
	return r;
}

static struct reply *owe_id(struct hollow *h, runtime_id_done *done, void *arg, struct str id)
{
	struct reply *r = owe(h, give_id, arg);

	r->done.id = done;
	r->text = str_dup(id);
	return r;
}

/* --- the table ------------------------------------------------------------------------------- */

static void make_id(struct hollow *h, char id[static UUID_TEXT_SIZE])
{
	struct uuid u;

	uuid_make_seeded(&u, loop_prng(h->loop));
	(void)uuid_print(&u, id);
}

static struct hollow_pod *pod_of(struct hollow *h, const struct sandbox_spec *spec)
{
	struct hollow_pod *p = map_get(&h->pods, spec->uid);

	if (p)
		return p;
	p = XNEW(struct hollow_pod);
	p->uid = str_dup(spec->uid);
	p->ns = str_dup(spec->ns);
	p->name = str_dup(spec->name);
	list_init(&p->sandboxes);
	list_init(&p->containers);
	(void)map_put(&h->pods, str_from(p->uid), p);
	return p;
}

static void pod_drop_if_empty(struct hollow *h, struct hollow_pod *p)
{
	if (!list_empty(&p->sandboxes))
		return;
	(void)map_remove(&h->pods, str_from(p->uid));
	free(p->uid);
	free(p->ns);
	free(p->name);
	free(p);
}

static void container_free(struct hollow *h, struct hollow_container *c)
{
	(void)map_remove(&h->containers, str_from(c->id));
	list_remove(&c->link);
	loop_timer_stop(&c->end);
	free(c->name);
	free(c->image);
	free(c->log_path);
	free(c->cpus);
	free(c->exit);
	free(c);
}

static void sandbox_free(struct hollow *h, struct hollow_sandbox *s)
{
	struct hollow_pod *p = s->pod;

	LIST_FOREACH_SAFE (it, &p->containers) {
		struct hollow_container *c = LIST_ENTRY(it, struct hollow_container, link);

		if (c->sandbox == s)
			container_free(h, c);
	}
	(void)map_remove(&h->sandboxes, str_from(s->id));
	list_remove(&s->link);
	free(s->pull_error);
	free(s);
	pod_drop_if_empty(h, p);
}

static struct str annotation(const struct runtime_pairs *pairs, struct str key)
{
	for (size_t i = 0; i < pairs->n; i++) {
		if (str_eq(pairs->v[i].key, key))
			return pairs->v[i].value;
	}
	return STR_NULL;
}

static void end_container(struct hollow_container *c, int code, const char *message)
{
	loop_timer_stop(&c->end);
	c->state = RUNTIME_EXITED;
	c->exit_code = code;
	c->message = message;
	c->finished_ns = wall(c->owner);
}

static void stop_container(struct hollow_container *c)
{
	if (c->state == RUNTIME_RUNNING)
		end_container(c, CODE_TERMINATED, NULL);
}

/* "3" or "3 after 1m30s". */
static bool parse_exit(struct str text, int *ret_code, int64_t *ret_after_ms)
{
	ptrdiff_t at = str_find(text, STR(" after "));
	int64_t code, ns = 0;

	if (at >= 0) {
		if (duration_parse(str_skip(text, (size_t)at + 7), &ns, NULL) < 0 || ns < 0)
			return false;
		text.n = (size_t)at;
	}
	if (!str_to_i64(text, &code) || code < 0 || code > 255)
		return false;
	*ret_code = (int)code;
	*ret_after_ms = ns / CLOCK_MS;
	return true;
}

static void hollow_on_end(struct loop_timer *t)
{
	struct hollow_container *c = CONTAINER_OF(t, struct hollow_container, end);
	struct runtime *r = &c->owner->runtime;
	int code = CODE_BAD_ANNOTATION;
	int64_t after;
	bool good = parse_exit(str_from(c->exit), &code, &after);

	end_container(c, code,
		      good ? NULL
			   : "the annotation " RUNTIME_HOLLOW_EXIT
			     " is neither CODE nor CODE after DURATION");
	if (r->on_change)
		r->on_change(r->arg, str_from(c->sandbox->pod->uid));
}

/* --- sandboxes ------------------------------------------------------------------------------- */

static void set_address(struct hollow *h, struct hollow_sandbox *s)
{
	unsigned i;

	/*
	 * Skips the first and last address of a /24, which look like network and broadcast
	 * addresses.
	 */
	do {
		i = ++h->addresses % ADDRESSES;
	} while (i % 256 == 0 || i % 256 == 255);
	(void)snprintf(s->ip, sizeof(s->ip), "10.%u.%u.%u", h->net % 256, i / 256, i % 256);
	s->ip_str = str_from(s->ip);
}

static void run_sandbox(struct runtime *r, const struct sandbox_spec *spec, runtime_id_done *done,
			void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_sandbox *s = XNEW(struct hollow_sandbox);
	struct str error = annotation(&spec->annotations, STR(RUNTIME_HOLLOW_PULL_ERROR));

	make_id(h, s->id);
	s->pod = pod_of(h, spec);
	s->pull_error = error.n > 0 ? str_dup(error) : NULL;
	s->created_ns = wall(h);
	s->attempt = spec->attempt;
	s->ready = true;
	if (spec->security.network != RUNTIME_NS_NODE)
		set_address(h, s);
	list_push_front(&s->pod->sandboxes, &s->link);
	(void)map_put(&h->sandboxes, str_from(s->id), s);
	(void)owe_id(h, done, arg, str_from(s->id));
}

static void stop_sandbox(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_sandbox *s = map_get(&h->sandboxes, id);

	(void)owe_plain(h, done, arg);
	if (!s)
		return;
	s->ready = false;
	LIST_FOREACH (it, &s->pod->containers) {
		struct hollow_container *c = LIST_ENTRY(it, struct hollow_container, link);

		if (c->sandbox == s)
			stop_container(c);
	}
}

static void remove_sandbox(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_sandbox *s = map_get(&h->sandboxes, id);

	(void)owe_plain(h, done, arg);
	if (s)
		sandbox_free(h, s);
}

/* --- images ---------------------------------------------------------------------------------- */

/* The text of an annotation that fails this image, or empty. */
static struct str pull_error(const struct hollow *h, struct str image)
{
	struct str key, text;
	size_t at = 0;
	void *v;

	while (map_next(&h->sandboxes, &at, &key, &v)) {
		text = str_from(((struct hollow_sandbox *)v)->pull_error);
		if (text.n > image.n && str_starts(text, image) && text.p[image.n] == ' ')
			return str_skip(text, image.n + 1);
	}
	return STR_NULL;
}

static void give_image(struct hollow *h, struct reply *r)
{
	struct runtime_image image = { .ref = str_from(r->text), .user = USER };

	if (pull_error(h, image.ref).n > 0)
		image = (struct runtime_image){ .user = -1 };
	r->done.image(r->arg, &image, NULL);
}

static void find_image(struct runtime *r, struct str image, runtime_image_done *done, void *arg)
{
	struct reply *reply = owe(hollow_of(r), give_image, arg);

	reply->done.image = done;
	reply->text = str_dup(image);
}

/* There are no images on the disk, and nothing uses anything. */
static void give_no_images(struct hollow *h UNUSED, struct reply *r)
{
	r->done.images(r->arg, NULL, 0, NULL);
}

static void hollow_images(struct runtime *r, runtime_images_done *done, void *arg)
{
	owe(hollow_of(r), give_no_images, arg)->done.images = done;
}

static void hollow_remove_image(struct runtime *r, struct str id UNUSED, runtime_done *done,
				void *arg)
{
	owe_plain(hollow_of(r), done, arg);
}

static void hollow_image_fs(struct runtime *r, runtime_id_done *done, void *arg)
{
	owe_id(hollow_of(r), done, arg, STR(""));
}

static void give_no_stats(struct hollow *h UNUSED, struct reply *r)
{
	r->done.stats(r->arg, NULL, 0, NULL);
}

static void hollow_stats(struct runtime *r, runtime_stats_done *done, void *arg)
{
	owe(hollow_of(r), give_no_stats, arg)->done.stats = done;
}

static void pull(struct runtime *r, struct str image, const struct runtime_auth *auth UNUSED,
		 const struct sandbox_spec *sandbox UNUSED, runtime_id_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct reply *reply = owe_id(h, done, arg, image);
	struct str error = pull_error(h, image);

	if (error.n > 0)
		hollow_fail(reply, ERR_NOT_FOUND, "%.*s", error);
}

/* --- containers ------------------------------------------------------------------------------ */

static struct str exit_of(const struct sandbox_spec *sandbox, const struct container_spec *spec)
{
	struct str prefix = STR(RUNTIME_HOLLOW_EXIT ".");

	for (size_t i = 0; i < sandbox->annotations.n; i++) {
		const struct runtime_pair *p = &sandbox->annotations.v[i];

		if (str_starts(p->key, prefix) && str_eq(str_skip(p->key, prefix.n), spec->name))
			return p->value;
	}
	return annotation(&spec->annotations, STR(RUNTIME_HOLLOW_EXIT));
}

static void hollow_create(struct runtime *r, struct str sandbox_id,
			  const struct sandbox_spec *sandbox, const struct container_spec *spec,
			  runtime_id_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_sandbox *s = map_get(&h->sandboxes, sandbox_id);
	struct str ends = exit_of(sandbox, spec);
	struct hollow_container *c;

	if (!s || !s->ready) {
		hollow_fail(owe_id(h, done, arg, STR_NULL), ERR_NOT_FOUND, "no sandbox %.*s",
			    sandbox_id);
		return;
	}
	c = XNEW(struct hollow_container);
	make_id(h, c->id);
	c->owner = h;
	c->sandbox = s;
	c->name = str_dup(spec->name);
	c->image = str_dup(spec->user_image.n > 0 ? spec->user_image : spec->image);
	c->log_path = str_dup(spec->log_path);
	c->cpus = str_dup(spec->limits.cpus);
	c->exit = ends.p ? str_dup(ends) : NULL;
	c->created_ns = wall(h);
	c->attempt = spec->attempt;
	c->state = RUNTIME_CREATED;
	loop_timer_init(&c->end, h->loop, hollow_on_end);
	list_push_front(&s->pod->containers, &c->link);
	(void)map_put(&h->containers, str_from(c->id), c);
	(void)owe_id(h, done, arg, str_from(c->id));
}

static void hollow_start(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_container *c = map_get(&h->containers, id);
	struct reply *reply = owe_plain(h, done, arg);
	int64_t after = 0;
	int code;

	if (!c || c->state != RUNTIME_CREATED) {
		hollow_fail(reply, ERR_NOT_FOUND, "no created container %.*s", id);
		return;
	}
	c->state = RUNTIME_RUNNING;
	c->started_ns = wall(h);
	if (!c->exit)
		return;
	(void)parse_exit(str_from(c->exit), &code, &after);
	loop_timer_start(&c->end, after);
}

static void hollow_stop(struct runtime *r, struct str id, int64_t grace_s UNUSED,
			runtime_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_container *c = map_get(&h->containers, id);

	(void)owe_plain(h, done, arg);
	if (c)
		stop_container(c);
}

static void remove_container(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_container *c = map_get(&h->containers, id);

	(void)owe_plain(h, done, arg);
	if (c)
		container_free(h, c);
}

static void give_exec(struct hollow *h, struct reply *r)
{
	const struct hollow_container *c = map_get(&h->containers, str_from(r->text));

	if (!c || c->state != RUNTIME_RUNNING)
		hollow_fail(r, ERR_NOT_FOUND, "no running container %.*s", str_from(r->text));
	r->done.exec(r->arg, r->err ? NULL : &(struct runtime_exec){ 0 }, r->err);
}

static void exec(struct runtime *r, struct str id, const struct runtime_strs *command UNUSED,
		 int64_t timeout_ms UNUSED, runtime_exec_done *done, void *arg)
{
	struct reply *reply = owe(hollow_of(r), give_exec, arg);

	reply->done.exec = done;
	reply->text = str_dup(id);
}

static void stream(struct runtime *r, const struct runtime_stream *s, runtime_id_done *done,
		   void *arg)
{
	hollow_fail(owe_id(hollow_of(r), done, arg, s->id), ERR_UNIMPLEMENTED,
		    "cannot exec or attach in %.*s: a hollow node runs no containers", s->id);
}

static void reopen_log(struct runtime *r, struct str id UNUSED, runtime_done *done, void *arg)
{
	(void)owe_plain(hollow_of(r), done, arg);
}

static void update(struct runtime *r, struct str id, const struct runtime_limits *limits,
		   runtime_done *done, void *arg)
{
	struct hollow *h = hollow_of(r);
	struct hollow_container *c = map_get(&h->containers, id);
	struct reply *reply = owe_plain(h, done, arg);

	if (!c || c->state == RUNTIME_EXITED) {
		hollow_fail(reply, ERR_NOT_FOUND, "no running container %.*s", id);
		return;
	}
	if (limits->cpus.n == 0)
		return;
	free(c->cpus);
	c->cpus = str_dup(limits->cpus);
}

/* --- condition and list ---------------------------------------------------------------------- */

static void give_condition(struct hollow *h UNUSED, struct reply *r)
{
	struct runtime_condition c = { .runtime_ready = true,
				       .network_ready = true,
				       .name = STR("hollow"),
				       .version = str_from(version_get()->version),
				       .does_cdi = true };

	r->done.condition(r->arg, &c, NULL);
}

static void hollow_condition(struct runtime *r, runtime_condition_done *done, void *arg)
{
	owe(hollow_of(r), give_condition, arg)->done.condition = done;
}

static struct str hollow_reason_of(const struct hollow_container *c)
{
	if (c->state != RUNTIME_EXITED)
		return STR_NULL;
	return c->exit_code == 0 ? STR("Completed") : STR("Error");
}

static size_t length(const struct list *head)
{
	size_t n = 0;

	LIST_FOREACH (it, head)
		n++;
	return n;
}

static void list_sandboxes(struct arena *a, const struct hollow_pod *p, struct runtime_pod *ret_pod)
{
	struct runtime_sandbox *v = ARENA_ARRAY(a, struct runtime_sandbox, length(&p->sandboxes));
	size_t n = 0;

	LIST_FOREACH (it, &p->sandboxes) {
		const struct hollow_sandbox *s = LIST_ENTRY(it, struct hollow_sandbox, link);

		v[n++] = (struct runtime_sandbox){ .id = str_from(s->id),
						   .ips = &s->ip_str,
						   .nips = s->ip_str.n > 0,
						   .created_ns = s->created_ns,
						   .attempt = s->attempt,
						   .ready = s->ready };
	}
	ret_pod->sandboxes = v;
	ret_pod->nsandboxes = n;
}

static void list_containers(struct arena *a, const struct hollow_pod *p,
			    struct runtime_pod *ret_pod)
{
	struct runtime_container *v = ARENA_ARRAY(a, struct runtime_container,
						  length(&p->containers));
	size_t n = 0;

	LIST_FOREACH (it, &p->containers) {
		const struct hollow_container *c = LIST_ENTRY(it, struct hollow_container, link);

		v[n++] = (struct runtime_container){ .id = str_from(c->id),
						     .name = str_from(c->name),
						     .sandbox_id = str_from(c->sandbox->id),
						     .image = str_from(c->image),
						     .image_id = str_from(c->image),
						     .reason = hollow_reason_of(c),
						     .message = str_from(c->message),
						     .log_path = str_from(c->log_path),
						     .created_ns = c->created_ns,
						     .started_ns = c->started_ns,
						     .finished_ns = c->finished_ns,
						     .attempt = c->attempt,
						     .exit_code = c->exit_code,
						     .state = c->state };
	}
	ret_pod->containers = v;
	ret_pod->ncontainers = n;
}

static void give_list(struct hollow *h, struct reply *r)
{
	struct runtime_pods pods = { .n = 0 };
	struct runtime_pod *v;
	struct arena a;
	struct str key;
	size_t at = 0;
	void *p;

	arena_init(&a, REQUEST_WORK_MAX);
	v = ARENA_ARRAY(&a, struct runtime_pod, h->pods.n);
	while (map_next(&h->pods, &at, &key, &p)) {
		const struct hollow_pod *from = p;
		struct runtime_pod *to = &v[pods.n++];

		to->uid = str_from(from->uid);
		to->ns = str_from(from->ns);
		to->name = str_from(from->name);
		list_sandboxes(&a, from, to);
		list_containers(&a, from, to);
	}
	pods.v = v;
	r->done.pods(r->arg, &pods, NULL);
	arena_release(&a);
}

static void list_pods(struct runtime *r, runtime_pods_done *done, void *arg)
{
	owe(hollow_of(r), give_list, arg)->done.pods = done;
}

/* --- life ------------------------------------------------------------------------------------ */

static void hollow_free(struct runtime *r)
{
	struct hollow *h = hollow_of(r);
	struct str key;
	size_t at = 0;
	void *s;

	loop_task_cancel(&h->task);
	LIST_FOREACH_SAFE (it, &h->replies)
		reply_free(LIST_ENTRY(it, struct reply, link));
	while (map_next(&h->sandboxes, &at, &key, &s)) {
		sandbox_free(h, s);
		at = 0;
	}
	map_release(&h->pods);
	map_release(&h->sandboxes);
	map_release(&h->containers);
	free(h);
}

static const struct runtime_ops ops = {
	.id_prefix = "hollow",
	.free = hollow_free,
	.condition = hollow_condition,
	.list = list_pods,
	.run_sandbox = run_sandbox,
	.stop_sandbox = stop_sandbox,
	.remove_sandbox = remove_sandbox,
	.image = find_image,
	.pull = pull,
	.images = hollow_images,
	.remove_image = hollow_remove_image,
	.image_fs = hollow_image_fs,
	.stats = hollow_stats,
	.create = hollow_create,
	.start = hollow_start,
	.stop = hollow_stop,
	.remove = remove_container,
	.exec = exec,
	.stream = stream,
	.reopen_log = reopen_log,
	.update = update,
};

struct str runtime_hollow_cpus(const struct runtime *r, struct str id)
{
	const struct hollow *h = CONTAINER_OF(r, const struct hollow, runtime);
	const struct hollow_container *c = map_get(&h->containers, id);

	return c ? str_from(c->cpus) : STR_NULL;
}

struct runtime *runtime_hollow_new(struct loop *l, unsigned net)
{
	struct hollow *h = XNEW(struct hollow);

	h->runtime.ops = &ops;
	h->loop = l;
	h->net = net;
	map_init(&h->pods);
	map_init(&h->sandboxes);
	map_init(&h->containers);
	list_init(&h->replies);
	loop_task_init(&h->task, give_replies);
	return &h->runtime;
}
