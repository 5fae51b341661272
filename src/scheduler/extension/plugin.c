/*
 * The points that decide, as ours. A kind has a function where the plugin has one, so a plugin that
 * takes no part in a point costs nothing there.
 */
#include "base/core/mem.h"
#include "base/json/json.h"
#include "scheduler/extension/extension_impl.h"
#include "scheduler/queue/podqueue.h"
#include "scheduler/scheduler_limits.h"

#define OPS(i) (&(i)->module->ops)

static struct extension_instance *plugin_of(const struct plugin *p)
{
	return p->state;
}

static const struct dp_node_info *node(const struct nodeinfo *n)
{
	return (const struct dp_node_info *)n;
}

/* For calls about one node: handle_get then reads the value of exactly this node. */
static void enter_at(struct extension *e, const struct nodeinfo *n)
{
	extension_enter(e);
	e->node = n;
}

static void leave_at(struct extension *e)
{
	e->node = NULL;
	extension_leave(e);
}

static struct dp_cycle *cycle(struct cycle *c)
{
	return (struct dp_cycle *)c;
}

struct verdict extension_verdict(struct arena *a, uint32_t code, const struct dp_reason *why)
{
	struct str text = extension_reason(why);

	if (code == DP_SUCCESS)
		return VERDICT_OK;
	if (code > DP_PENDING)
		return verdict_print(a, VERDICT_ERROR, "it answered %u, which is no code here",
				     code);
	if (text.n == 0)
		return (struct verdict){ .code = (enum verdict_code)code };
	return verdict_of(a, (enum verdict_code)code, arena_str(a, text));
}

/* The same as before for the next node, mostly. */
static struct verdict filter_verdict(struct extension_instance *i, struct cycle *c, uint32_t code,
				     const struct dp_reason *why)
{
	struct extension_cycle *x;

	if (code == DP_SUCCESS)
		return VERDICT_OK;
	x = extension_cycle(i, c);
	if (x->last.n != 1 || x->last.code != (enum verdict_code)code ||
	    !str_eq(x->last.reasons[0], extension_reason(why)))
		x->last = extension_verdict(&c->arena, code, why);
	return x->last;
}

static struct dp_reason no_reason(void)
{
	return (struct dp_reason){ .size = sizeof(struct dp_reason) };
}

/* --- life ------------------------------------------------------------------------ */

static void plugin_release(struct plugin *p)
{
	struct extension_instance *i = plugin_of(p);
	struct extension *e = i->module->extension;
	struct list *link;

	extension_watches_end(e, i->host.id);
	if (OPS(i)->close) {
		extension_enter(e);
		OPS(i)->close(i->state);
		extension_leave(e);
	}
	list_remove(&i->link);
	while ((link = list_pop_front(&i->bindings)))
		free(LIST_ENTRY(link, struct dp_binding, link));
	free(i->events);
	free(i);
	p->state = NULL;
}

static int call_init(struct extension_instance *i, const char *args, struct error *err)
{
	struct dp_reason why = no_reason();
	int r;

	if (!OPS(i)->init)
		return 0;
	i->initialising = true;
	extension_enter(i->module->extension);
	r = OPS(i)->init(&i->host.table, args, &i->state, &why);
	extension_leave(i->module->extension);
	i->initialising = false;
	if (r == 0)
		return 0;
	if (extension_reason(&why).n == 0)
		return error_set(err, ERR_INVALID, "its init returned %d and no reason", r);
	return error_set(err, ERR_INVALID, "%.*s", STR_ARG(extension_reason(&why)));
}

static void discard(struct extension_instance *i)
{
	extension_watches_end(i->module->extension, i->host.id);
	list_remove(&i->link);
	free(i->events);
	free(i);
}

static int plugin_init(struct plugin *p, const struct json *args, struct error *err)
{
	struct extension_module *m = CONTAINER_OF((uintptr_t)p->kind, struct extension_module,
						  kind);
	struct extension_instance *i = XNEW(struct extension_instance);
	struct buf text = BUF_INIT(PLUGIN_ARGS_MAX);
	int r = 0;

	i->module = m;
	i->plugin = p;
	list_init(&i->bindings);
	list_push_back(&m->extension->instances, &i->link);
	extension_host_init(&i->host, m->extension, i);
	if (args && json_print(&text, args, NULL) < 0)
		r = error_set(err, ERR_TOO_LARGE, "its args are too large");
	if (r == 0)
		r = call_init(i, args ? text.p : NULL, err);
	buf_release(&text);
	if (r < 0) {
		discard(i);
		return r;
	}
	p->state = i;
	r = extension_read_interests(i, err);
	if (r < 0)
		plugin_release(p);
	return r;
}

/* --- queue ----------------------------------------------------------------------- */

static struct verdict pre_enqueue(struct plugin *p, const struct podinfo *pod, struct arena *a)
{
	struct extension_instance *i = plugin_of(p);
	struct dp_reason why = no_reason();
	uint32_t code;

	extension_enter(i->module->extension);
	code = OPS(i)->pre_enqueue(i->state, &(struct dp_object){ pod->object, pod }, &why);
	extension_leave(i->module->extension);
	return extension_verdict(a, code, &why);
}

static bool less(const struct plugin *p, const struct queued_pod *a, const struct queued_pod *b)
{
	struct extension_instance *i = plugin_of(p);
	bool before;

	extension_enter(i->module->extension);
	before = OPS(i)->less(i->state, &(struct dp_object){ a->pod->object, a->pod }, a->since_ms,
			      &(struct dp_object){ b->pod->object, b->pod }, b->since_ms) != 0;
	extension_leave(i->module->extension);
	return before;
}

/* --- filters --------------------------------------------------------------------- */

static struct verdict plugin_pre_filter(struct plugin *p, struct cycle *c)
{
	struct extension_instance *i = plugin_of(p);
	struct extension_cycle *x = extension_cycle(i, c);
	struct dp_reason why = no_reason();
	uint32_t code;

	extension_enter(i->module->extension);
	code = OPS(i)->pre_filter(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
				  &why);
	extension_leave(i->module->extension);
	if (x->only.n > 0)
		cycle_only(c, x->only.v, x->only.n);
	return extension_verdict(&c->arena, code, &why);
}

static void plugin_add_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
			   const struct nodeinfo *n)
{
	struct extension_instance *i = plugin_of(p);

	enter_at(i->module->extension, n);
	OPS(i)->pre_filter_add_pod(i->state, cycle(c), &(struct dp_object){ other->object, other },
				   node(n));
	leave_at(i->module->extension);
}

static void remove_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		       const struct nodeinfo *n)
{
	struct extension_instance *i = plugin_of(p);

	enter_at(i->module->extension, n);
	OPS(i)->pre_filter_remove_pod(i->state, cycle(c),
				      &(struct dp_object){ other->object, other }, node(n));
	leave_at(i->module->extension);
}

static struct verdict plugin_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	struct extension_instance *i = plugin_of(p);
	struct dp_reason why;
	uint32_t code;

	why.size = sizeof(why);
	why.text[0] = '\0';
	enter_at(i->module->extension, n);
	code = OPS(i)->filter(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
			      node(n), &why);
	leave_at(i->module->extension);
	return filter_verdict(i, c, code, &why);
}

static struct verdict post_filter(struct plugin *p, struct cycle *c, struct str *ret_nominated)
{
	struct extension_instance *i = plugin_of(p);
	struct dp_reason why = no_reason();
	char nominated[256] = "";
	uint32_t code;

	extension_enter(i->module->extension);
	code = OPS(i)->post_filter(i->state, cycle(c),
				   &(struct dp_object){ c->pod->object, c->pod }, nominated, &why);
	extension_leave(i->module->extension);
	nominated[sizeof(nominated) - 1] = '\0';
	if (code == DP_SUCCESS && nominated[0] != '\0')
		*ret_nominated = arena_str(&c->arena, str_from(nominated));
	return extension_verdict(&c->arena, code, &why);
}

/* --- scores ---------------------------------------------------------------------- */

static struct verdict plugin_pre_score(struct plugin *p, struct cycle *c)
{
	struct extension_instance *i = plugin_of(p);
	struct dp_reason why = no_reason();
	uint32_t code;

	extension_enter(i->module->extension);
	code = OPS(i)->pre_score(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
				 &why);
	extension_leave(i->module->extension);
	return extension_verdict(&c->arena, code, &why);
}

static struct verdict plugin_score(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score)
{
	struct extension_instance *i = plugin_of(p);
	struct dp_reason why;
	uint32_t code;

	why.size = sizeof(why);
	why.text[0] = '\0';
	*ret_score = 0;
	enter_at(i->module->extension, c->feasible[at]);
	code = OPS(i)->score(i->state, cycle(c), &(struct dp_object){ c->pod->object, c->pod },
			     node(c->feasible[at]), ret_score, &why);
	leave_at(i->module->extension);
	return extension_verdict(&c->arena, code, &why);
}

static void normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n)
{
	struct extension_instance *i = plugin_of(p);

	extension_enter(i->module->extension);
	OPS(i)->normalize(i->state, cycle(c), scores, n);
	extension_leave(i->module->extension);
}

void extension_plugin_functions(struct extension_module *m)
{
	const struct dp_scheduler_plugin *o = &m->ops;

	m->kind.name = o->name;
	m->kind.init = plugin_init;
	m->kind.release = plugin_release;
	m->kind.events_of = extension_events_of;
	m->kind.clone_state = extension_clone_state;
	m->kind.pre_enqueue = o->pre_enqueue ? pre_enqueue : NULL;
	m->kind.less = o->less ? less : NULL;
	m->kind.pre_filter = o->pre_filter ? plugin_pre_filter : NULL;
	m->kind.add_pod = o->pre_filter_add_pod ? plugin_add_pod : NULL;
	m->kind.remove_pod = o->pre_filter_remove_pod ? remove_pod : NULL;
	m->kind.filter = o->filter ? plugin_filter : NULL;
	m->kind.post_filter = o->post_filter ? post_filter : NULL;
	m->kind.pre_score = o->pre_score ? plugin_pre_score : NULL;
	m->kind.score = o->score ? plugin_score : NULL;
	m->kind.normalize = o->normalize ? normalize : NULL;
	extension_bind_functions(m);
}
