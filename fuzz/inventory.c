/*
 * An inventory with arbitrary changes: lines of one letter and JSON, or a name.
 *
 *	s {slice}  c {claim}  k {class}  t {rule}    put      S C K T name    remove
 *	a {claim}  assume its status.allocation      f name   forget
 *
 * After any changes, the status of every slice is small enough, and the inventory equals one that
 * is built only from the remaining objects.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "dra/availability/availability.h"
#include "dra/inventory/content.h"
#include "target.h"

/* An object that was put last under its name. */
struct object {
	char kind;
	struct str name; /* of a claim with its namespace */
	struct json *tree;
};

struct world {
	struct inventory *inv;
	struct arena arena; /* of all changes */
	VEC(struct object) objects;
	bool assumed; /* something was assumed: the remaining objects do not show it */
};

/* --- telling ------------------------------------------------------------------------- */

static int put(struct inventory *inv, char kind, const struct json *v)
{
	switch (kind) {
	case 's':
		return inventory_put_slice(inv, v, NULL);
	case 'c':
		return inventory_put_claim(inv, v, NULL);
	case 'k':
		return inventory_put_class(inv, v, NULL);
	default:
		return inventory_put_taint_rule(inv, v, NULL);
	}
}

static void forget_object(struct world *w, char kind, struct str name)
{
	for (size_t i = w->objects.n; i > 0; i--)
		if (w->objects.v[i - 1].kind == kind && str_eq(w->objects.v[i - 1].name, name))
			vec_remove(&w->objects, i - 1);
}

static struct str key_of(struct world *w, char kind, const struct json *v)
{
	const struct json *meta = json_getz(v, "metadata");
	struct str ns = json_text_at(meta, "namespace"), name = json_text_at(meta, "name");
	char *key;

	if (kind != 'c')
		return name;
	key = arena_alloc(&w->arena, ns.n + 1 + name.n);
	str_put(key, ns);
	key[ns.n] = '/';
	str_put(key + ns.n + 1, name);
	return str_of(key, ns.n + 1 + name.n);
}

/* A slice of the same uid and generation is the same slice, whatever it says. */
static bool same_slice(const struct world *w, char kind, struct str name, const struct json *v)
{
	const struct json *meta = json_getz(v, "metadata");

	for (size_t i = 0; kind == 's' && i < w->objects.n; i++) {
		const struct object *o = &w->objects.v[i];
		const struct json *old = json_getz(o->tree, "metadata");

		if (o->kind == 's' && str_eq(o->name, name))
			return json_text_at(old, "uid").n > 0 &&
			       str_eq(json_text_at(old, "uid"), json_text_at(meta, "uid")) &&
			       json_i64_at(old, "generation", 0) > 0 &&
			       json_i64_at(old, "generation", 0) ==
				       json_i64_at(meta, "generation", 0);
	}
	return false;
}

/* A claim that cannot be read keeps what it had, unless it is another one of that name. */
static bool same_claim(const struct world *w, char kind, struct str name, const struct json *v)
{
	struct str uid = json_text_at(json_getz(v, "metadata"), "uid");

	for (size_t i = 0; kind == 'c' && i < w->objects.n; i++) {
		const struct object *o = &w->objects.v[i];

		if (o->kind == 'c' && str_eq(o->name, name))
			return str_eq(json_text_at(json_getz(o->tree, "metadata"), "uid"), uid);
	}
	return false;
}

static void tell_put(struct world *w, char kind, struct json *v)
{
	struct str key = key_of(w, kind, v);
	int r;

	if (same_slice(w, kind, key, v)) {
		require(put(w->inv, kind, v) == 0);
		return;
	}
	r = put(w->inv, kind, v);
	if (r < 0 && same_claim(w, kind, key, v))
		return;
	forget_object(w, kind, key);
	if (r == 0)
		vec_push(&w->objects, (struct object){ kind, key, v });
}

/* A claim's name with its namespace, at the first slash. */
static struct str cut(struct str key, struct str *ret_name)
{
	ptrdiff_t at = str_chr(key, '/');

	*ret_name = at < 0 ? STR("") : str_skip(key, (size_t)at + 1);
	return at < 0 ? key : str_of(key.p, (size_t)at);
}

static void tell_remove(struct world *w, char kind, struct str key)
{
	struct str name, ns = cut(key, &name);

	forget_object(w, kind, key);
	if (kind == 's')
		inventory_remove_slice(w->inv, key);
	else if (kind == 'c')
		inventory_remove_claim(w->inv, ns, name);
	else if (kind == 'k')
		inventory_remove_class(w->inv, key);
	else
		inventory_remove_taint_rule(w->inv, key);
}

static void tell_json(struct world *w, char kind, struct str text)
{
	struct json *v;

	if (json_parse(&w->arena, text, NULL, &v, NULL) < 0)
		return;
	if (kind != 'a') {
		tell_put(w, kind, v);
		return;
	}
	w->assumed = true;
	(void)inventory_assume(w->inv, v, json_pointer(v, STR("/status/allocation")), NULL);
}

static void tell(struct world *w, struct str line)
{
	static const char puts[] = "sckta", removes[] = "SCKT";
	char kind = line.n ? line.p[0] : '\0';
	struct str rest = str_skip(line, MIN(line.n, (size_t)2)), name, ns;

	if (kind && strchr(puts, kind)) {
		tell_json(w, kind, rest);
	} else if (kind && strchr(removes, kind)) {
		tell_remove(w, (char)(kind | 0x20), rest);
	} else if (kind == 'f') {
		ns = cut(rest, &name);
		inventory_forget(w->inv, ns, name);
	}
}

/* --- asking -------------------------------------------------------------------------- */

static void ask_node(struct inventory *inv, struct str name, const struct json *labels,
		     struct arena *a, struct buf *out)
{
	struct inventory_node node = { name, labels };
	struct inventory_node_pool *pools;
	size_t n = inventory_node_pools(inv, &node, a, &pools);

	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "\n%.*s %d %d", STR_ARG(pools[i].pool->key), pools[i].incomplete,
			   pools[i].invalid);
		buf_add_str(out, pools[i].invalid_reason);
		for (size_t k = 0; k < pools[i].n; k++)
			buf_add_str(out, pools[i].slices[k]->name);
	}
}

static void ask_slice(struct inventory *inv, struct str name, struct arena *a, struct buf *out)
{
	const struct inventory_slice *slice = inventory_slice(inv, name);
	struct json *status = availability_slice_status(inv, NULL, name, NULL, 0, a);
	size_t before = out->n, taint;
	int64_t total;

	if (!status)
		return;
	require(json_print(out, status, NULL) == 0);
	require(out->n - before + slice->bytes <= OBJECT_MAX || slice->bytes == OBJECT_MAX);
	for (size_t i = 0; i < slice->ndevices; i++) {
		taint = 0;
		while (inventory_next_taint(&slice->devices[i], &taint))
			buf_addc(out, '!');
	}
	status = json_make_object(a);
	json_put_str(a, status, "driver", slice->pool->driver);
	(void)availability_pools(inv, status, a, &total);
}

/* Everything that can be asked, as text. */
static void ask(struct inventory *inv, const struct world *w, struct buf *out)
{
	struct json *labels;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	labels = json_make_object(&a);
	json_put_str(&a, labels, "a", STR("b"));
	ask_node(inv, STR("n"), labels, &a, out);
	ask_node(inv, STR("m"), NULL, &a, out);
	for (size_t i = 0; i < w->objects.n; i++)
		if (w->objects.v[i].kind == 's')
			ask_slice(inv, w->objects.v[i].name, &a, out);
	buf_printf(out, "\n%zu", inventory_devices(inv));
	require(inventory_bytes(inv) > 0);
	arena_release(&a);
}

static void compare(const struct world *w, const struct buf *told)
{
	struct inventory *fresh = inventory_new(inventory_defaults);
	struct buf other = BUF_INIT(64 * MIB);

	for (size_t i = 0; i < w->objects.n; i++)
		require(put(fresh, w->objects.v[i].kind, w->objects.v[i].tree) == 0);
	ask(fresh, w, &other);
	require(str_eq(buf_str(told), buf_str(&other)));
	buf_release(&other);
	inventory_free(fresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .inv = inventory_new(inventory_defaults) };
	struct str rest = str_of(data, size), line;
	struct buf told = BUF_INIT(64 * MIB);

	arena_init(&w.arena, 64 * MIB);
	vec_init(&w.objects, SIZE_MAX);
	while (str_split(&rest, '\n', &line)) {
		tell(&w, line);
		/* Half of the changes find an inventory that was asked before. */
		if (line.n % 2) {
			buf_clear(&told);
			ask(w.inv, &w, &told);
		}
	}
	buf_clear(&told);
	ask(w.inv, &w, &told);
	if (!w.assumed)
		compare(&w, &told);
	buf_release(&told);
	vec_release(&w.objects);
	inventory_free(w.inv);
	arena_release(&w.arena);
	return 0;
}
