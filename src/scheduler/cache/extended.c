/*
 * A plugin's struct may be shorter than ours: it is copied into ours, and the rest is zero. Names
 * and structs are copied, so plugins may pass structs on their stack.
 */
#include "scheduler/cache/extended.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/informer/cached.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/scheduler_limits.h"

void extended_types_init(struct extended_types *t, const struct log *log)
{
	vec_init(&t->v, EXTENDED_TYPES_MAX);
	t->log = log;
}

void extended_types_release(struct extended_types *t)
{
	/* In reverse: a later one may lean on an earlier one. */
	for (size_t i = t->v.n; i > 0; i--) {
		struct extended_type *e = t->v.v[i - 1];

		if (e->handle.close)
			e->handle.close(e->handle.state);
		free(e);
	}
	vec_release(&t->v);
}

struct extended_type *extended_types_find(const struct extended_types *t, struct str name)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (str_eq(t->v.v[i]->name, name))
			return t->v.v[i];
	return NULL;
}

static int check_ops(const struct dp_resource_type *ops, struct error *err)
{
	if (!ops->name || ops->name[0] == '\0')
		return error_set(err, ERR_INVALID, "a type of extended resource has no name");
	if (!ops->add_pod || !ops->remove_pod || !ops->clone || !ops->free)
		return error_set(
			err, ERR_INVALID,
			"the type %s of extended resource lacks add_pod, remove_pod, clone or free",
			ops->name);
	return 0;
}

static int make_handle(struct extended_type *e, dp_handle_factory *make, void *arg,
		       struct error *err)
{
	/* Extra room for the longer struct of a newer plugin. */
	union {
		struct dp_handle handle;
		char room[sizeof(struct dp_handle) + 512];
	} made = { .handle = { .size = sizeof(made.handle) } };
	struct dp_reason why = { .size = sizeof(why) };

	if (!make)
		return 0;
	if (make(arg, &made.handle, &why) != 0)
		return error_set(err, ERR_INVALID, "the handle of %.*s cannot be made: %.*s",
				 STR_ARG(e->name), (int)strnlen(why.text, sizeof(why.text)),
				 why.text);
	memcpy(&e->handle, &made.handle, MIN((size_t)made.handle.size, sizeof(e->handle)));
	e->handle.size = sizeof(e->handle);
	return 0;
}

static struct extended_type *type_new(const struct dp_resource_type *ops, uint32_t id)
{
	struct str name = str_from(ops->name), layout = str_from(ops->layout);
	struct extended_type *e = xcalloc(1, sizeof(*e) + name.n + 1 + layout.n + 1);
	char *text = (char *)(e + 1);

	str_put(text, name);
	str_put(text + name.n + 1, layout);
	e->id = id;
	e->name = str_of(text, name.n);
	e->ops = *ops;
	e->ops.name = text;
	e->ops.layout = layout.n > 0 ? text + name.n + 1 : NULL;
	return e;
}

/*
 * Another plugin reads and writes the values of the first one, so both must mean the same struct.
 * The profiles of one plugin register the same functions. Plugins of ABI 1.0 cannot name a layout:
 * they share as before, and the log says so.
 */
static int check_sharing(const struct extended_type *e, const struct dp_resource_type *ops,
			 struct error *err)
{
	struct str first = str_from(e->ops.layout), other = str_from(ops->layout);

	if (!str_eq(first, other) || e->ops.layout_version != ops->layout_version)
		return error_set(
			err, ERR_INVALID,
			"the type %.*s of extended resource has the layout \"%.*s\" version "
			"%u, and this plugin has \"%.*s\" version %u",
			STR_ARG(e->name), STR_ARG(first), e->ops.layout_version, STR_ARG(other),
			ops->layout_version);
	if (first.n == 0 && e->ops.add_pod != ops->add_pod && e->log)
		log_warn(e->log, "two plugins share an extended resource without naming its layout",
			 LOG_STR("type", e->name));
	return 0;
}

int extended_types_register(struct extended_types *t, const struct dp_resource_type *given,
			    dp_handle_factory *make, void *arg, struct extended_type **ret_type,
			    struct error *err)
{
	struct dp_resource_type ops = { 0 };
	struct extended_type *e;
	int r;

	memcpy(&ops, given, MIN((size_t)given->size, sizeof(ops)));
	ops.size = sizeof(ops);
	r = check_ops(&ops, err);
	if (r < 0)
		return r;
	e = extended_types_find(t, str_from(ops.name));
	if (e) {
		*ret_type = e;
		return check_sharing(e, &ops, err);
	}
	if (t->v.n == t->v.max)
		return error_set(err, ERR_TOO_LARGE, "there are %zu types of extended resources",
				 t->v.n);
	e = type_new(&ops, (uint32_t)t->v.n);
	e->log = t->log;
	r = make_handle(e, make, arg, err);
	if (r < 0) {
		free(e);
		return r;
	}
	(void)vec_push(&t->v, e);
	*ret_type = e;
	return 0;
}

/* Counts the rejection in the type, which is const for all other code. */
static void extended_refuse(const struct extended_type *t, const struct podinfo *p, int code)
{
	((struct extended_type *)(uintptr_t)t)->refused++;
	if (t->log)
		log_warn(t->log, "an extended resource rejected a pod", LOG_STR("type", t->name),
			 LOG_STR("pod", p->key), LOG_STR("node", p->node), LOG_INT("code", code));
}

bool extended_add_pod(const struct extended_type *t, void *value, const struct podinfo *p)
{
	struct dp_object o = { p->object, p };
	int r = t->ops.add_pod(value, &o);

	if (r == 0)
		return true;
	extended_refuse(t, p, r);
	return false;
}

void extended_remove_pod(const struct extended_type *t, void *value, const struct podinfo *p)
{
	struct dp_object o = { p->object, p };
	int r = t->ops.remove_pod(value, &o);

	if (r != 0 && t->log)
		log_warn(t->log, "an extended resource could not remove a pod",
			 LOG_STR("type", t->name), LOG_STR("pod", p->key), LOG_STR("node", p->node),
			 LOG_INT("code", r));
}

void *extended_clone(const struct extended_type *t, const void *value)
{
	return t->ops.clone(value);
}

void extended_free(const struct extended_type *t, void *value)
{
	if (value)
		t->ops.free(value);
}

void extended_describe(const struct extended_type *t, const void *value, struct buf *out)
{
	struct dp_sink sink = { .out = BUF_INIT(EXTENDED_TEXT_MAX) };
	struct arena a;
	struct json *parsed;

	if (!value || !t->ops.describe) {
		(void)buf_addz(out, "null");
		return;
	}
	t->ops.describe(value, &sink);
	/* It goes into a document of ours, which must stay one. */
	arena_init(&a, EXTENDED_TEXT_MAX * 16);
	if (json_parse(&a, buf_str(&sink.out), NULL, &parsed, NULL) == 0)
		(void)buf_add_str(out, buf_str(&sink.out));
	else
		(void)buf_addz(out, "\"(not JSON)\"");
	arena_release(&a);
	buf_release(&sink.out);
}
