/*
 * Functions that a plugin may call on any thread: each call becomes a message to the loop. A
 * message names its instance by a number that is never reused, and the extension by a struct that
 * outlives it. So a message that arrives too late finds no receiver and does nothing.
 *
 * Calls from the loop's own thread are queued, too: allowing a pod continues its binding, which
 * calls plugins, and plugin calls must not nest.
 */
#include "base/core/mem.h"
#include "scheduler/extension/extension_impl.h"
#include "scheduler/framework/binding.h"

enum post_what { POST_CALL, POST_ALLOW, POST_REJECT, POST_DONE };

struct post {
	struct loop_msg msg;
	struct extension_life *life;
	uint64_t owner; /* 0: a handle */
	enum post_what what;
	void (*fn)(void *arg);
	void *arg;
	struct dp_binding *binding;
	uint32_t code;
	char *uid, *reason;
};

struct extension_life *extension_life_new(struct extension *e)
{
	struct extension_life *l = XNEW(struct extension_life);

	atomic_init(&l->refs, 1);
	l->extension = e;
	return l;
}

void extension_life_unref(struct extension_life *l)
{
	if (atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) == 1)
		free(l);
}

static struct extension_instance *extension_find_instance(const struct extension *e, uint64_t id)
{
	LIST_FOREACH (link, &e->instances) {
		struct extension_instance *i = LIST_ENTRY(link, struct extension_instance, link);

		if (i->host.id == id)
			return i;
	}
	return NULL;
}

/* Finds a binding by its address alone, without dereferencing it, since it may have ended. */
static struct dp_binding *find_binding(struct extension_instance *i, const struct dp_binding *b)
{
	LIST_FOREACH (link, &i->bindings) {
		struct dp_binding *known = LIST_ENTRY(link, struct dp_binding, link);

		if (known == b)
			return known;
	}
	return NULL;
}

static void act(struct extension *e, struct extension_instance *i, struct post *p)
{
	const struct extension_opts *o = &e->opts;
	struct dp_binding *b;

	switch (p->what) {
	case POST_CALL:
		extension_enter(e);
		p->fn(p->arg);
		extension_leave(e);
		return;
	case POST_ALLOW:
		if (i && o->allow)
			(void)o->allow(o->arg, str_from(p->uid), i->plugin);
		return;
	case POST_REJECT:
		if (i && o->reject)
			(void)o->reject(o->arg, str_from(p->uid), i->plugin, str_from(p->reason));
		return;
	case POST_DONE:
		b = i ? find_binding(i, p->binding) : NULL;
		if (b)
			extension_binding_end(i, b, p->code, p->reason);
		return;
	}
}

static void on_post(struct loop_msg *m)
{
	struct post *p = CONTAINER_OF(m, struct post, msg);
	struct extension *e = p->life->extension;
	struct extension_instance *i = e && p->owner ? extension_find_instance(e, p->owner) : NULL;

	if (e && (i || p->owner == 0))
		act(e, i, p);
	extension_life_unref(p->life);
	free(p->uid);
	free(p->reason);
	free(p);
}

static void send_post(struct extension_host *h, struct post post)
{
	struct post *p = xmalloc(sizeof(*p));

	*p = post;
	p->msg.fn = on_post;
	p->owner = h->id;
	p->life = h->life;
	atomic_fetch_add_explicit(&h->life->refs, 1, memory_order_relaxed);
	loop_post(h->extension->opts.loop, &p->msg);
}

static int allow(void *host, const char *uid)
{
	struct extension_host *h = host;

	if (!h->instance)
		return -1;
	send_post(h, (struct post){ .what = POST_ALLOW, .uid = xstrdup(uid) });
	return 0;
}

static int reject(void *host, const char *uid, const char *reason)
{
	struct extension_host *h = host;

	if (!h->instance)
		return -1;
	send_post(h, (struct post){ .what = POST_REJECT,
				    .uid = xstrdup(uid),
				    .reason = xstrdup(reason ? reason : "") });
	return 0;
}

static void done(void *host, struct dp_binding *b, uint32_t code, const char *reason)
{
	send_post(host, (struct post){ .what = POST_DONE,
				       .binding = b,
				       .code = code,
				       .reason = xstrdup(reason ? reason : "") });
}

static void post_call(void *host, void (*fn)(void *arg), void *arg)
{
	send_post(host, (struct post){ .what = POST_CALL, .fn = fn, .arg = arg });
}

void extension_post_functions(struct dp_scheduler_host *t)
{
	t->allow = allow;
	t->reject = reject;
	t->binding_done = done;
	t->post = post_call;
}
