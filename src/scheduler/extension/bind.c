/*
 * Adapts reserve to post_bind. An asynchronous step has a struct dp_binding, and the plugin passes
 * its address when it ends the step, however late. The struct is freed only then, so that its
 * address is not reused before.
 */
#include "base/core/mem.h"
#include "scheduler/extension/extension_impl.h"
#include "scheduler/framework/binding.h"

#define OPS(i) (&(i)->module->ops)

enum { PERMIT_MAX_MS = 15 * 60 * 1000 };

static struct extension_instance *bind_of(const struct plugin *p)
{
	return p->state;
}

static struct dp_cycle *cycle(struct cycle *c)
{
	return (struct dp_cycle *)c;
}

/* Node names end with a NUL over there. */
static const char *bind_name_of(struct extension_instance *i, struct str node)
{
	return arena_strdup(extension_scratch(i->module->extension), node);
}

static struct verdict reserve(struct plugin *p, struct cycle *c, struct str node)
{
	struct extension_instance *i = bind_of(p);
	struct dp_reason why = { .size = sizeof(why) };
	uint32_t code;

	extension_enter(i->module->extension);
	code = OPS(i)->reserve(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
			       bind_name_of(i, node), &why);
	extension_leave(i->module->extension);
	return extension_verdict(&c->arena, code, &why);
}

static void unreserve(struct plugin *p, struct cycle *c, struct str node)
{
	struct extension_instance *i = bind_of(p);

	extension_enter(i->module->extension);
	OPS(i)->unreserve(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
			  bind_name_of(i, node));
	extension_leave(i->module->extension);
}

static struct verdict permit(struct plugin *p, struct cycle *c, struct str node,
			     int64_t *ret_timeout_ms)
{
	struct extension_instance *i = bind_of(p);
	struct dp_reason why = { .size = sizeof(why) };
	int64_t timeout = 0;
	uint32_t code;

	extension_enter(i->module->extension);
	code = OPS(i)->permit(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
			      bind_name_of(i, node), &timeout, &why);
	extension_leave(i->module->extension);
	if (code == DP_WAIT)
		*ret_timeout_ms = MAX(MIN(timeout, (int64_t)PERMIT_MAX_MS), (int64_t)0);
	return extension_verdict(&c->arena, code, &why);
}

/* --- pre_bind and bind ----------------------------------------------------------- */

/* A cancelled binding only exists as an address. */
static void bind_finish(struct dp_binding *b, uint32_t code, const struct dp_reason *why)
{
	struct binding *binding = b->binding;
	struct verdict v = VERDICT_OK;

	list_remove(&b->link);
	free(b);
	if (!binding)
		return;
	v = extension_verdict(&binding_cycle(binding)->arena, code, why);
	binding_done(binding, v);
}

void extension_binding_end(struct extension_instance *i UNUSED, struct dp_binding *b, uint32_t code,
			   const char *reason)
{
	struct dp_reason why = { .size = sizeof(why) };

	extension_say(&why, reason ? reason : "");
	bind_finish(b, code, &why);
}

/*
 * Ends the step at once, and ignores the plugin's later result. The plugin is notified by
 * unreserve.
 */
static void on_cancel(void *arg, struct binding *binding)
{
	struct dp_binding *b = arg;

	b->binding = NULL;
	binding_done(binding, verdict_of(&binding_cycle(binding)->arena, VERDICT_ERROR,
					 STR("the pod was deleted")));
}

typedef uint32_t binding_fn(void *state, struct dp_binding *b, struct dp_cycle *c,
			    const struct dp_object *pod, const char *node, struct dp_reason *why);

static void bind_step(struct plugin *p, struct binding *binding, binding_fn *fn)
{
	struct extension_instance *i = bind_of(p);
	struct podinfo *pod = binding_pod(binding);
	struct dp_reason why = { .size = sizeof(why) };
	struct dp_binding *b = XNEW(struct dp_binding);
	uint32_t code;

	b->binding = binding;
	list_push_back(&i->bindings, &b->link);
	extension_enter(i->module->extension);
	code = fn(i->state, b, cycle(binding_cycle(binding)),
		  &(struct dp_object){ pod->object, pod }, bind_name_of(i, binding_node(binding)),
		  &why);
	extension_leave(i->module->extension);
	if (code != DP_SCHED_LATER)
		bind_finish(b, code, &why);
	else
		binding_on_cancel(binding, on_cancel, b);
}

static void pre_bind(struct plugin *p, struct binding *b)
{
	bind_step(p, b, OPS(bind_of(p))->pre_bind);
}

static void bind_pod(struct plugin *p, struct binding *b)
{
	bind_step(p, b, OPS(bind_of(p))->bind);
}

static void post_bind(struct plugin *p, struct cycle *c, struct str node)
{
	struct extension_instance *i = bind_of(p);

	extension_enter(i->module->extension);
	OPS(i)->post_bind(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
			  bind_name_of(i, node));
	extension_leave(i->module->extension);
}

void extension_bind_functions(struct extension_module *m)
{
	const struct dp_scheduler_plugin *o = &m->ops;

	m->kind.reserve = o->reserve ? reserve : NULL;
	m->kind.unreserve = o->unreserve ? unreserve : NULL;
	m->kind.permit = o->permit ? permit : NULL;
	m->kind.pre_bind = o->pre_bind ? pre_bind : NULL;
	m->kind.bind = o->bind ? bind_pod : NULL;
	m->kind.post_bind = o->post_bind ? post_bind : NULL;
}
