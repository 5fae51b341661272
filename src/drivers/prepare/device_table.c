/*
 * Rejects what the API server would reject, with an error message to the driver's author. A slice
 * that is rejected later would only be a line in a log.
 */
#include "drivers/prepare/device_table.h"

#include "api/schema/names.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/abi.h"

enum { TEXT_MAX = 64, PLUGIN_ID_MAX = 253 };

static struct str device_table_text_of(const char *z)
{
	return str_from(z ? z : "");
}

char *device_message_dup(const char *text)
{
	struct str s = device_table_text_of(text);

	if (s.n > DRIVER_MESSAGE_MAX) {
		s.n = DRIVER_MESSAGE_MAX;
		while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
			s.n--;
	}
	return s.n > 0 && str_is_utf8(s) ? str_dup(s) : NULL;
}

/* --- checks ------------------------------------------------------------------------------- */

/* "[domain/]identifier" */
static const char *check_qualified(struct str name)
{
	ptrdiff_t slash = str_chr(name, '/');
	struct str id = slash < 0 ? name : str_skip(name, (size_t)slash + 1);

	if (slash >= 0 && (slash > NAMES_LABEL_MAX || names_dns_subdomain(str_of(name.p, slash))))
		return "its domain is not a DNS subdomain of at most 63 bytes";
	if (id.n == 0 || id.n > NAMES_IDENTIFIER_MAX || names_c_identifier(id))
		return "it is not a C identifier of at most 32 bytes";
	return NULL;
}

static int add_attribute(struct arena *a, struct json *to, const struct dp_attribute *at,
			 struct error *err)
{
	static const char *const types[] = { "string", "int", "bool", "version" };
	struct str name = device_table_text_of(at->name), text = device_table_text_of(at->text);
	struct json *value = json_make_object(a);
	const char *fault = check_qualified(name);

	if (!fault && at->type >= ARRAY_SIZE(types))
		fault = "its type is invalid";
	if (!fault && json_get(to, name))
		fault = "it is there twice";
	if (!fault && (text.n > TEXT_MAX || !str_is_utf8(text)))
		fault = "its text is not UTF-8 of at most 64 bytes";
	if (!fault && at->type == DP_VERSION)
		fault = names_semver(text);
	if (fault)
		return error_set(err, ERR_INVALID, "attribute \"%.*s\": %s", STR_ARG(name), fault);
	if (at->type == DP_INT)
		json_put_i64(a, value, types[at->type], at->number);
	else if (at->type == DP_BOOL)
		json_put_bool(a, value, types[at->type], at->number != 0);
	else
		json_put_str(a, value, types[at->type], arena_str(a, text));
	json_add(to, arena_str(a, name), value);
	return 0;
}

static int add_capacity(struct arena *a, struct json *to, const struct dp_capacity *c,
			struct error *err)
{
	struct str name = device_table_text_of(c->name), text = device_table_text_of(c->quantity);
	CLEANUP(buf_release) struct buf canonical = BUF_INIT(KIB);
	struct json *value = json_make_object(a);
	const char *fault = check_qualified(name);
	struct quantity q;
	struct error why;

	if (!fault && json_get(to, name))
		fault = "it is there twice";
	if (!fault && quantity_parse(text, &q, &why) < 0)
		fault = why.msg;
	if (fault)
		return error_set(err, ERR_INVALID, "capacity \"%.*s\": %s", STR_ARG(name), fault);
	(void)quantity_print(q, &canonical);
	json_put_str(a, value, "value", arena_str(a, buf_str(&canonical)));
	json_add(to, arena_str(a, name), value);
	return 0;
}

static int add_taint(struct arena *a, struct json *to, const struct dp_taint *t, struct error *err)
{
	struct str key = device_table_text_of(t->key), value = device_table_text_of(t->value),
		   effect = device_table_text_of(t->effect);
	struct json *taint = json_make_object(a);
	const char *fault = names_qualified(key);

	if (!fault && value.n > 0)
		fault = names_label_value(value);
	if (!fault && !str_eqz(effect, "NoSchedule") && !str_eqz(effect, "NoExecute") &&
	    !str_eqz(effect, "None"))
		fault = "its effect must be NoSchedule, NoExecute or None";
	if (fault)
		return error_set(err, ERR_INVALID, "taint \"%.*s\": %s", STR_ARG(key), fault);
	json_put_str(a, taint, "key", arena_str(a, key));
	if (value.n > 0)
		json_put_str(a, taint, "value", arena_str(a, value));
	json_put_str(a, taint, "effect", arena_str(a, effect));
	json_append(to, taint);
	return 0;
}

/* --- one device --------------------------------------------------------------------------- */

static int add_attributes(struct arena *a, struct device *d, const struct dp_device *in,
			  struct error *err)
{
	struct json *to = json_make_object(a);
	struct dp_attribute at;
	int r;

	for (uint32_t i = 0; i < in->nattributes; i++) {
		if (!ABI_READ(&at, in->attributes, i))
			return error_set(err, ERR_INVALID, "struct dp_attribute has no size");
		r = add_attribute(a, to, &at, err);
		if (r < 0)
			return r;
	}
	if (in->nattributes > 0)
		json_setz(d->spec, "attributes", to);
	return 0;
}

static int add_capacities(struct arena *a, struct device *d, const struct dp_device *in,
			  struct error *err)
{
	struct json *to = json_make_object(a);
	struct dp_capacity c;
	int r;

	for (uint32_t i = 0; i < in->ncapacity; i++) {
		if (!ABI_READ_GROWN(&c, in->capacity, i, default_quantity))
			return error_set(err, ERR_INVALID, "struct dp_capacity has no size");
		r = add_capacity(a, to, &c, err);
		if (r < 0)
			return r;
	}
	if (in->ncapacity > 0)
		json_setz(d->spec, "capacity", to);
	return 0;
}

static int add_taints(struct arena *a, struct device *d, const struct dp_device *in,
		      struct error *err)
{
	struct json *to = json_make_array(a);
	struct dp_taint t;
	int r;

	for (uint32_t i = 0; i < in->ntaints; i++) {
		if (!ABI_READ_GROWN(&t, in->taints, i, time_added))
			return error_set(err, ERR_INVALID, "struct dp_taint has no size");
		r = add_taint(a, to, &t, err);
		if (r < 0)
			return r;
	}
	if (in->ntaints > 0)
		json_setz(d->spec, "taints", to);
	return 0;
}

static int check_device(const struct device *d, const struct dp_device *in, bool plugin,
			struct error *err)
{
	const char *fault = NULL;

	if (plugin && (d->name.n == 0 || d->name.n > PLUGIN_ID_MAX || !str_is_utf8(d->name)))
		fault = "its name must be UTF-8 of 1 to 253 bytes";
	else if (!plugin)
		fault = names_dns_label(d->name);
	if (!fault && in->health > DP_UNREPORTED)
		fault = "its health is invalid";
	if (!fault && in->nattributes + (uint64_t)in->ncapacity > DEVICE_ATTRIBUTES_MAX)
		fault = "it has more than 32 attributes and capacities";
	if (!fault && in->ntaints >= DEVICE_TAINTS_MAX)
		fault = "it has more than 15 taints";
	return fault ? error_set(err, ERR_INVALID, "%s", fault) : 0;
}

static int device_table_fill(struct device_table *t, struct device *d, const struct dp_device *in,
			     const struct device_defaults *defaults, struct error *err)
{
	struct arena *a = &t->arena;
	int r;

	d->name = arena_str(a, device_table_text_of(in->name));
	d->pool = arena_str(a, in->pool && *in->pool ? str_from(in->pool) : defaults->pool);
	d->key = str_from(arena_printf(a, "%s/%s", d->pool.p, d->name.p));
	d->health = in->health;
	d->updated_s = defaults->now_s;
	d->timeout_s = in->health_timeout_s ? in->health_timeout_s : defaults->timeout_s;
	d->numa = in->has_numa ? in->numa : -1;
	d->spec = json_make_object(a);
	json_put_str(a, d->spec, "name", d->name);
	r = check_device(d, in, defaults->plugin, err);
	if (r == 0)
		r = add_attributes(a, d, in, err);
	if (r == 0)
		r = add_capacities(a, d, in, err);
	if (r == 0)
		r = add_taints(a, d, in, err);
	if (r < 0)
		return error_wrap(err, r, "device \"%s\"", d->name.p);
	if (map_put(&t->by_key, d->key, d))
		return error_set(err, ERR_INVALID, "device \"%s\" is there twice in pool \"%s\"",
				 d->name.p, d->pool.p);
	d->message = device_message_dup(in->message);
	return 0;
}

/* --- the table ---------------------------------------------------------------------------- */

int device_table_new(const struct dp_device *v, size_t n, const struct device_defaults *defaults,
		     struct device_table **ret_table, struct error *err)
{
	CLEANUP(device_table_free) struct device_table *t = XNEW(struct device_table);
	struct dp_device in;
	int r;

	arena_init(&t->arena, SIZE_MAX);
	map_init(&t->by_key);
	if (n > DRIVER_DEVICES_MAX)
		return error_set(err, ERR_TOO_LARGE, "%zu devices are more than %d", n,
				 DRIVER_DEVICES_MAX);
	t->v = xcalloc(n ? n : 1, sizeof(*t->v));
	map_reserve(&t->by_key, n);
	for (size_t i = 0; i < n; i++) {
		if (!ABI_READ_GROWN(&in, v, i, consumes))
			return error_set(err, ERR_INVALID, "struct dp_device has no size");
		t->n++;
		r = device_table_fill(t, &t->v[i], &in, defaults, err);
		if (r < 0)
			return r;
	}
	*ret_table = TAKE(t);
	return 0;
}

void device_table_free(struct device_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].message);
	free(t->v);
	map_release(&t->by_key);
	arena_release(&t->arena);
	free(t);
}

struct device *device_table_find(const struct device_table *t, struct str pool, struct str name)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(KIB);

	if (!t)
		return NULL;
	(void)buf_printf(&key, "%.*s/%.*s", STR_ARG(pool), STR_ARG(name));
	return map_get(&t->by_key, buf_str(&key));
}

void device_set_health(struct device *d, uint32_t health, char *message, int64_t now_s)
{
	free(d->message);
	d->message = message;
	d->health = health;
	d->updated_s = now_s;
}
