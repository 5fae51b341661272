/*
 * A container's environment is built in upstream's order: variables of envFrom, then each variable
 * of env, which may refer to all before it and to those of Services. Go's maps have no order; we
 * keep the spec's.
 */
#include "node/sources/env.h"

#include "api/api_limits.h"
#include "base/text/base64.h"
#include "node/node_limits.h"
#include "node/sources/env_impl.h"
#include "node/sources/sources.h"

/* --- the table ------------------------------------------------------------------------------ */

static void env_table_init(struct env_table *t, struct arena *a)
{
	*t = (struct env_table){ .arena = a };
	map_init(&t->by_name);
	t->last = &t->first;
}

static void env_table_release(struct env_table *t)
{
	map_release(&t->by_name);
}

void env_table_set(struct env_table *t, struct str name, struct str value)
{
	struct env_var *v = map_get(&t->by_name, name);

	t->bytes += name.n + value.n;
	if (v) {
		v->pair.value = value;
		return;
	}
	v = ARENA_NEW(t->arena, struct env_var);
	v->pair = (struct runtime_pair){ .key = name, .value = value };
	*t->last = v;
	t->last = &v->next;
	t->n++;
	(void)map_put(&t->by_name, v->pair.key, v);
}

/* Returns false if not found. */
static bool env_table_get(const struct env_table *t, struct str name, struct str *ret_value)
{
	const struct env_var *v = map_get(&t->by_name, name);

	if (v)
		*ret_value = v->pair.value;
	return v != NULL;
}

/* --- building ------------------------------------------------------------------------------- */

struct making {
	const struct pod *pod;
	const struct json *container;
	const struct env_context *context;
	struct arena *arena;
	struct env_table own, services;
};

static bool find_variable(void *arg, struct str name, struct str *ret_value)
{
	const struct making *m = arg;

	return env_table_get(&m->own, name, ret_value) ||
	       env_table_get(&m->services, name, ret_value);
}

static int set_variable(struct making *m, struct str name, struct str value, struct error *err)
{
	env_table_set(&m->own, name, value);
	if (m->own.bytes > ENV_MAX)
		return error_set(err, ERR_TOO_LARGE, "the environment is larger than %lu bytes",
				 ENV_MAX);
	return 0;
}

int env_binary(const struct json *data, struct str key, struct arena *a, bool *ret_found,
	       struct str *ret_value, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(SECRET_MAX);
	const struct json *v = json_get(data, key);
	int r;

	*ret_found = v != NULL;
	if (!v)
		return 0;
	r = base64_decode(&out, json_str(v), BASE64_STD, err);
	if (r < 0)
		return error_wrap(err, r, "key %.*s", STR_ARG(key));
	*ret_value = arena_str(a, buf_str(&out));
	return 0;
}

/* A ConfigMap or Secret named by a reference. */
struct object {
	bool secret;
	struct str name;
	const struct json *data; /* NULL: no data, or the object does not exist */
};

/* Returns 1 if it exists; 0 if it does not and is optional. */
static int find_object(struct making *m, const struct json *ref, bool secret, struct object *ret_o,
		       struct error *err)
{
	const struct sources *s = m->context->sources;
	struct object o = { .secret = secret, .name = json_text_at(ref, "name") };
	const struct json *tree;

	tree = secret ? sources_secret(s, m->pod->ns, o.name, m->arena)
		      : sources_config_map(s, m->pod->ns, o.name, m->arena);
	if (!tree && json_true_at(ref, "optional"))
		return 0;
	if (!tree)
		return error_set(err, ERR_NOT_FOUND, "%s \"%.*s\" not found",
				 secret ? "secret" : "configmap", STR_ARG(o.name));
	o.data = json_getz(tree, "data");
	*ret_o = o;
	return 1;
}

static int object_value(struct making *m, const struct object *o, struct str key, bool *ret_found,
			struct str *ret_value, struct error *err)
{
	const struct json *v;

	if (o->secret)
		return env_binary(o->data, key, m->arena, ret_found, ret_value, err);
	v = json_get(o->data, key);
	*ret_found = v != NULL;
	*ret_value = json_str(v);
	return 0;
}

/* --- envFrom -------------------------------------------------------------------------------- */

static int env_add_all(struct making *m, const struct object *o, struct str prefix,
		       struct error *err)
{
	struct str value = STR_NULL, name;
	bool found;
	int r = 0;

	JSON_FOREACH (it, o->data) {
		r = object_value(m, o, json_key(it), &found, &value, err);
		if (r < 0)
			break;
		name = json_key(it);
		if (prefix.n > 0)
			name = str_from(
				arena_printf(m->arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(name)));
		r = set_variable(m, name, value, err);
		if (r < 0)
			break;
	}
	return r;
}

static int add_from(struct making *m, const struct json *from, struct error *err)
{
	const struct json *ref = json_getz(from, "configMapRef");
	bool secret = !ref;
	struct object o;
	int r;

	if (secret)
		ref = json_getz(from, "secretRef");
	if (!ref)
		return 0;
	r = find_object(m, ref, secret, &o, err);
	if (r <= 0)
		return r;
	return env_add_all(m, &o, json_text_at(from, "prefix"), err);
}

/* --- env ------------------------------------------------------------------------------------ */

/* Returns 1 and *ret_value; 0 if the variable is left out. */
static int value_of_key(struct making *m, const struct json *ref, bool secret,
			struct str *ret_value, struct error *err)
{
	struct str key = json_text_at(ref, "key");
	struct object o;
	bool found;
	int r;

	r = find_object(m, ref, secret, &o, err);
	if (r <= 0)
		return r;
	r = object_value(m, &o, key, &found, ret_value, err);
	if (r < 0 || found)
		return r < 0 ? r : 1;
	if (json_true_at(ref, "optional"))
		return 0;
	return error_set(err, ERR_NOT_FOUND, "couldn't find key %.*s in %s %.*s/%.*s", STR_ARG(key),
			 secret ? "Secret" : "ConfigMap", STR_ARG(m->pod->ns), STR_ARG(o.name));
}

static int value_of_field(struct making *m, const struct json *ref, struct str *ret_value,
			  struct error *err)
{
	struct str version = json_text_at(ref, "apiVersion");
	int r;

	if (version.n > 0 && !str_eqz(version, "v1"))
		return error_set(err, ERR_INVALID, "unsupported pod version: %.*s",
				 STR_ARG(version));
	r = env_field(m->pod, json_text_at(ref, "fieldPath"), m->context, m->arena, ret_value, err);
	return r < 0 ? r : 1;
}

static int value_from(struct making *m, const struct json *from, struct str *ret_value,
		      struct error *err)
{
	const struct json *ref;
	int r;

	if ((ref = json_getz(from, "fieldRef")))
		return value_of_field(m, ref, ret_value, err);
	if ((ref = json_getz(from, "resourceFieldRef"))) {
		r = env_resource(m->pod, m->container, ref, m->context, m->arena, ret_value, err);
		return r < 0 ? r : 1;
	}
	if ((ref = json_getz(from, "configMapKeyRef")))
		return value_of_key(m, ref, false, ret_value, err);
	if ((ref = json_getz(from, "secretKeyRef")))
		return value_of_key(m, ref, true, ret_value, err);
	if (json_getz(from, "fileKeyRef"))
		return error_set(err, ERR_UNIMPLEMENTED,
				 "valueFrom.fileKeyRef is not supported by this node");
	return 1;
}

static int add_variable(struct making *m, const struct json *env, struct error *err)
{
	const struct json *from = json_getz(env, "valueFrom");
	struct str value = json_text_at(env, "value"), name = json_text_at(env, "name");
	int r;

	if (value.n > 0) {
		r = env_replace(value, find_variable, m, m->arena, &value, err);
	} else {
		r = from ? value_from(m, from, &value, err) : 1;
		if (r == 0)
			return 0;
	}
	return r < 0 ? r : set_variable(m, name, value, err);
}

/* --- the environment ------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
	return str_cmp(((const struct runtime_pair *)a)->key,
		       ((const struct runtime_pair *)b)->key);
}

static void env_gather(struct making *m, struct runtime_pairs *ret_env)
{
	struct runtime_pair *v = ARENA_ARRAY(m->arena, struct runtime_pair,
					     m->own.n + m->services.n + 1);
	size_t n = 0, own;
	struct str unused;

	for (const struct env_var *it = m->own.first; it; it = it->next)
		v[n++] = it->pair;
	own = n;
	for (const struct env_var *it = m->services.first; it; it = it->next) {
		if (!env_table_get(&m->own, it->pair.key, &unused))
			v[n++] = it->pair;
	}
	qsort(v + own, n - own, sizeof(*v), by_key);
	*ret_env = (struct runtime_pairs){ .v = v, .n = n };
}

static int sources_env_make(struct making *m, struct error *err)
{
	int r = 0;

	env_services(m->pod, m->context->sources, &m->services);
	JSON_FOREACH (it, json_getz(m->container, "envFrom")) {
		r = add_from(m, it, err);
		if (r < 0)
			return r;
	}
	JSON_FOREACH (it, json_getz(m->container, "env")) {
		r = add_variable(m, it, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int env_make(const struct pod *pod, const struct json *container, const struct env_context *c,
	     struct arena *a, struct runtime_pairs *ret_env, struct error *err)
{
	struct making m = { .pod = pod, .container = container, .context = c, .arena = a };
	int r;

	env_table_init(&m.own, a);
	env_table_init(&m.services, a);
	r = sources_env_make(&m, err);
	if (r == 0)
		env_gather(&m, ret_env);
	env_table_release(&m.own);
	env_table_release(&m.services);
	return r;
}
