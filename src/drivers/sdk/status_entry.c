/*
 * The list is processed as text. Values of other drivers are copied as they were written, so that a
 * server that compares them finds them unchanged.
 */
#include "drivers/sdk/status_entry.h"

#include <string.h>

#include "api/api_limits.h"
#include "api/schema/address.h"
#include "api/schema/names.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/writer.h"
#include "base/time/timestamp.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/abi.h"

/* --- what a vendor says ------------------------------------------------------------------- */

static struct str status_entry_text_of(const char *z)
{
	return z ? str_from(z) : STR("");
}

static void member(struct json_writer *w, const char *key, const char *value)
{
	if (!value)
		return;
	json_writer_keyz(w, key);
	json_writer_strz(w, value);
}

static int check_condition(const struct dp_condition *c, struct error *err)
{
	struct str type = status_entry_text_of(c->type), reason = status_entry_text_of(c->reason);
	const char *fault = names_qualified(type);

	if (fault)
		return error_set(err, ERR_INVALID, "condition type \"%.*s\": %s", STR_ARG(type),
				 fault);
	fault = names_condition_reason(reason);
	if (fault)
		return error_set(err, ERR_INVALID, "reason \"%.*s\" of condition %s: %s",
				 STR_ARG(reason), c->type, fault);
	if (c->status > DP_UNKNOWN_CONDITION)
		return error_set(err, ERR_INVALID, "status %u of condition %s is unknown",
				 c->status, c->type);
	if (status_entry_text_of(c->message).n > CONDITION_MESSAGE_MAX ||
	    !str_is_utf8(status_entry_text_of(c->message)))
		return error_set(err, ERR_INVALID,
				 "message of condition %s is not UTF-8 of at most %lu bytes",
				 c->type, CONDITION_MESSAGE_MAX);
	return 0;
}

static void write_condition(struct json_writer *w, const struct dp_condition *c)
{
	static const char *const words[] = { "False", "True", "Unknown" };

	json_writer_begin_object(w);
	member(w, "type", c->type);
	member(w, "status", words[c->status]);
	member(w, "reason", c->reason);
	member(w, "message", c->message ? c->message : "");
	json_writer_end_object(w);
}

static int write_conditions(struct json_writer *w, const struct dp_device_status *s,
			    struct error *err)
{
	struct dp_condition v[DEVICE_STATUS_CONDITIONS_MAX];
	int r = 0;

	if (s->nconditions > DEVICE_STATUS_CONDITIONS_MAX)
		return error_set(err, ERR_INVALID, "%u conditions are more than %d", s->nconditions,
				 DEVICE_STATUS_CONDITIONS_MAX);
	for (size_t i = 0; i < s->nconditions; i++) {
		if (!ABI_READ(&v[i], s->conditions, i))
			return error_set(err, ERR_INVALID, "struct dp_condition has no size");
		r = check_condition(&v[i], err);
		if (r < 0)
			return r;
		for (size_t k = 0; k < i; k++)
			if (strcmp(v[k].type, v[i].type) == 0)
				return error_set(err, ERR_INVALID, "condition %s is there twice",
						 v[i].type);
	}
	if (s->nconditions == 0)
		return 0;
	json_writer_keyz(w, "conditions");
	json_writer_begin_array(w);
	for (size_t i = 0; i < s->nconditions; i++)
		write_condition(w, &v[i]);
	json_writer_end_array(w);
	return 0;
}

static int write_data(struct json_writer *w, const char *data, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OPAQUE_PARAMETERS_MAX);
	struct json_options limits = { .size_max = OPAQUE_PARAMETERS_MAX * 8 };
	struct json *tree;
	struct arena a;
	int r;

	if (!data)
		return 0;
	arena_init(&a, OPAQUE_PARAMETERS_MAX * 256);
	r = json_parse(&a, str_from(data), &limits, &tree, err);
	if (r < 0)
		r = error_wrap(err, -ERR_INVALID, "data");
	else if (tree->type != JSON_OBJECT)
		r = error_set(err, ERR_INVALID, "data is not a JSON object");
	else if (json_print(&text, tree, NULL) < 0)
		r = error_set(err, ERR_INVALID, "data is longer than %lu bytes",
			      OPAQUE_PARAMETERS_MAX);
	arena_release(&a);
	if (r < 0)
		return r;
	json_writer_keyz(w, "data");
	json_writer_raw(w, buf_str(&text));
	return 0;
}

static int check_ip(const struct dp_device_status *s, size_t at, struct error *err)
{
	CLEANUP(buf_release) struct buf canonical = BUF_INIT(128);
	struct str ip = status_entry_text_of(s->ips[at]);

	if (!address_canonical(ip, &canonical))
		return error_set(err, ERR_INVALID,
				 "\"%.*s\" is not an address such as 192.0.2.5/24", STR_ARG(ip));
	if (!str_eq(ip, buf_str(&canonical)))
		return error_set(err, ERR_INVALID, "address \"%.*s\" must be written as %s",
				 STR_ARG(ip), canonical.p);
	for (size_t i = 0; i < at; i++)
		if (strcmp(s->ips[i], s->ips[at]) == 0)
			return error_set(err, ERR_INVALID, "address %s is there twice", s->ips[at]);
	return 0;
}

static int check_text(const char *what, const char *text, size_t max, struct error *err)
{
	struct str s = status_entry_text_of(text);

	if (s.n > max || !str_is_utf8(s))
		return error_set(err, ERR_INVALID, "%s is not UTF-8 of at most %zu bytes", what,
				 max);
	return 0;
}

static int write_network(struct json_writer *w, const struct dp_device_status *s, struct error *err)
{
	int r = check_text("the interface's name", s->interface_name, DEVICE_STATUS_INTERFACE_MAX,
			   err);

	if (r == 0)
		r = check_text("the hardware address", s->hardware_address,
			       DEVICE_STATUS_HARDWARE_MAX, err);
	if (r == 0 && s->nips > DEVICE_STATUS_ADDRESSES_MAX)
		r = error_set(err, ERR_INVALID, "%u addresses are more than %d", s->nips,
			      DEVICE_STATUS_ADDRESSES_MAX);
	for (size_t i = 0; r == 0 && i < s->nips; i++)
		r = check_ip(s, i, err);
	if (r < 0 || (!s->interface_name && !s->hardware_address && s->nips == 0))
		return r;
	json_writer_keyz(w, "networkData");
	json_writer_begin_object(w);
	member(w, "interfaceName", s->interface_name);
	if (s->nips > 0) {
		json_writer_keyz(w, "ips");
		json_writer_begin_array(w);
		for (size_t i = 0; i < s->nips; i++)
			json_writer_strz(w, s->ips[i]);
		json_writer_end_array(w);
	}
	member(w, "hardwareAddress", s->hardware_address);
	json_writer_end_object(w);
	return 0;
}

static int status_entry_check_names(const struct dp_device_status *s, const char *pool,
				    struct error *err)
{
	struct str device = status_entry_text_of(s->device);
	const char *fault = names_dns_label(device);

	if (fault)
		return error_set(err, ERR_INVALID, "device \"%.*s\": %s", STR_ARG(device), fault);
	/* An invalid pool name cannot match any allocated device. */
	if (!*pool || !str_is_utf8(str_from(pool)))
		return error_set(err, ERR_INVALID, "the pool's name is invalid");
	fault = s->share_id ? names_uuid(str_from(s->share_id)) : NULL;
	if (fault)
		return error_set(err, ERR_INVALID, "share id \"%s\": %s", s->share_id, fault);
	return 0;
}

static int write_entry(struct json_writer *w, const struct dp_device_status *s, const char *driver,
		       const char *pool, struct error *err)
{
	int r;

	json_writer_begin_object(w);
	member(w, "driver", driver);
	member(w, "pool", pool);
	member(w, "device", s->device);
	member(w, "shareID", s->share_id);
	r = write_conditions(w, s, err);
	if (r == 0)
		r = write_data(w, s->data, err);
	if (r == 0)
		r = write_network(w, s, err);
	json_writer_end_object(w);
	return r;
}

int status_entry_new(const struct dp_device_status *status, const char *driver, const char *pool,
		     struct status_entry **ret_entry, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB * 2);
	struct dp_device_status s;
	struct json_writer w;
	struct status_entry *e;
	int r;

	if (!ABI_READ(&s, status, 0))
		return error_set(err, ERR_INVALID, "struct dp_device_status has no size");
	if (s.pool)
		pool = s.pool;
	r = status_entry_check_names(&s, pool, err);
	if (r < 0)
		return r;
	json_writer_init(&w, &text, NULL);
	r = write_entry(&w, &s, driver, pool, err);
	if (r < 0)
		return r;
	e = XNEW(struct status_entry);
	list_init(&e->link);
	e->pool = xstrdup(pool);
	e->device = xstrdup(s.device);
	e->share = xstrdup(s.share_id ? s.share_id : "");
	e->n = text.n;
	e->text = buf_take(&text);
	*ret_entry = e;
	return 0;
}

void status_entry_free(struct status_entry *e)
{
	if (!e)
		return;
	list_remove(&e->link);
	free(e->pool);
	free(e->device);
	free(e->share);
	free(e->text);
	free(e);
}

bool status_entry_same_device(const struct status_entry *a, const struct status_entry *b)
{
	return strcmp(a->device, b->device) == 0 && strcmp(a->pool, b->pool) == 0 &&
	       strcmp(a->share, b->share) == 0;
}

/* --- entries of the server ---------------------------------------------------------------- */

static bool is_of(const struct status_entry *e, const struct json *o)
{
	return str_eqz(json_text_at(o, "device"), e->device) &&
	       str_eqz(json_text_at(o, "pool"), e->pool) &&
	       str_eqz(json_text_at(o, "shareID"), e->share);
}

bool status_entry_is_allocated(const struct status_entry *e, const char *driver, struct str results)
{
	struct json *list;
	struct arena a;
	bool found = false;

	arena_init(&a, OBJECT_MAX * 16);
	if (results.n > 0 && json_parse(&a, results, NULL, &list, NULL) == 0)
		JSON_FOREACH (it, list)
			if (str_eqz(json_text_at(it, "driver"), driver) && is_of(e, it))
				found = true;
	arena_release(&a);
	return found;
}

/* Upstream servers know one name per field. Ours stores that name, and shows both. */
static void strip(struct json *network)
{
	static const struct {
		const char *stored, *alias;
	} names[] = { { "ips", "addresses" }, { "hardwareAddress", "hwAddress" } };

	for (size_t i = 0; json_is(network, JSON_OBJECT) && i < ARRAY_SIZE(names); i++) {
		struct json *v = json_remove(network, str_from(names[i].alias));

		if (v && !json_getz(network, names[i].stored))
			json_setz(network, names[i].stored, v);
	}
}

static int copy_network(struct arena *a, struct str raw, struct buf *out, struct error *err)
{
	struct json *network;
	int r = json_parse(a, raw, NULL, &network, err);

	if (r < 0)
		return r;
	strip(network);
	return json_print(out, network, NULL);
}

/* Copies an entry unchanged, except for the aliases in its network data. */
static int copy_entry(struct arena *a, struct str raw, struct buf *out, struct error *err)
{
	struct json_cursor c = json_cursor_of(raw);
	enum json_cursor_type type;
	struct str key, value;
	const char *sep = "", *quote;
	int r = 0;

	(void)json_cursor_enter(&c, '{');
	(void)buf_addc(out, '{');
	while (r == 0 && json_cursor_member(&c, &key, NULL) &&
	       json_cursor_value(&c, &value, &type)) {
		(void)buf_printf(out, "%s\"%.*s\":", sep, STR_ARG(key));
		sep = ",";
		quote = type <= JSON_CURSOR_ESCAPED ? "\"" : "";
		if (str_eq(key, STR("networkData")) && type == JSON_CURSOR_NESTED)
			r = copy_network(a, value, out, err);
		else
			(void)buf_printf(out, "%s%.*s%s", quote, STR_ARG(value), quote);
	}
	(void)buf_addc(out, '}');
	return r;
}

/* --- merging ------------------------------------------------------------------------------ */

/* A member that is null or an empty list counts as missing. */
static void drop_nulls(struct json *o)
{
	JSON_FOREACH_SAFE (it, o)
		if (it->type == JSON_NULL || (it->type == JSON_ARRAY && it->n == 0))
			(void)json_unlink(o, it);
}

/* Sets each condition's time: the stored one if its status is the same, else now. */
static void fill_times(struct arena *a, struct json *entry, const struct json *stored,
		       int64_t now_ns)
{
	char now[TIMESTAMP_SIZE];
	struct str text = arena_str(a, timestamp_print(now_ns, TIMESTAMP_SECONDS, now));

	JSON_FOREACH (it, json_getz(entry, "conditions")) {
		const struct json *old = json_find(json_getz(stored, "conditions"), "type",
						   json_text_at(it, "type"));
		struct str time = json_text_at(old, "lastTransitionTime");
		bool same = str_eq(json_text_at(old, "status"), json_text_at(it, "status"));

		json_put_str(a, it, "lastTransitionTime", same && time.n > 0 ? time : text);
	}
}

/* Prints the new entry. Returns 1 if it differs from `stored`, which may be NULL. */
static int put_entry(struct arena *a, const struct status_merge *m, const struct status_entry *e,
		     struct json *stored, struct buf *out)
{
	struct json *entry = NULL;
	int r = json_parse(a, str_of(e->text, e->n), NULL, &entry, NULL);

	if (r < 0)
		return r;
	if (stored) {
		strip(json_getz(stored, "networkData"));
		drop_nulls(stored);
	}
	fill_times(a, entry, stored, m->now_ns);
	r = json_print(out, entry, NULL);
	return r < 0 ? r : !json_equal(entry, stored);
}

static struct status_entry *find_wanted(const struct status_merge *m, const struct json *stored)
{
	LIST_FOREACH (it, m->wanted) {
		struct status_entry *e = LIST_ENTRY(it, struct status_entry, link);

		if (!e->placed && is_of(e, stored))
			return e;
	}
	return NULL;
}

static void comma(struct buf *out, size_t from)
{
	if (out->n > from + 1)
		(void)buf_addc(out, ',');
}

/* Copies, replaces or removes one entry of the server's list. Returns 1 if it changes. */
static int merge_one(struct arena *a, const struct status_merge *m, struct str raw, struct buf *out,
		     size_t from)
{
	struct status_entry *e;
	struct json *stored;
	int r = json_parse(a, raw, NULL, &stored, NULL);
	bool ours;

	if (r < 0)
		return r;
	ours = str_eqz(json_text_at(stored, "driver"), m->driver);
	e = ours ? find_wanted(m, stored) : NULL;
	if (ours && !e && m->clear)
		return 1;
	comma(out, from);
	if (!e)
		return copy_entry(a, raw, out, NULL);
	e->placed = true;
	return put_entry(a, m, e, stored, out);
}

static int merge_stored(struct arena *a, const struct status_merge *m, struct str devices,
			struct buf *out, size_t from)
{
	struct json_cursor c = json_cursor_of(devices);
	enum json_cursor_type type;
	struct str raw;
	int changed = 0, r = 0;

	if (devices.n == 0)
		return 0;
	(void)json_cursor_enter(&c, '[');
	while (r >= 0 && json_cursor_element(&c) && json_cursor_value(&c, &raw, &type)) {
		r = merge_one(a, m, raw, out, from);
		changed |= r > 0;
	}
	return r < 0 ? r : c.p ? changed : -ERR_PROTOCOL;
}

static int merge_new(struct arena *a, const struct status_merge *m, struct buf *out, size_t from)
{
	int changed = 0, r = 0;

	LIST_FOREACH (it, m->wanted) {
		struct status_entry *e = LIST_ENTRY(it, struct status_entry, link);

		if (e->placed || r < 0)
			continue;
		comma(out, from);
		r = put_entry(a, m, e, NULL, out);
		changed = 1;
	}
	return r < 0 ? r : changed;
}

int status_entry_merge(const struct status_merge *m, struct str devices, struct buf *out,
		       struct error *err)
{
	size_t from = out->n;
	struct arena a;
	int old, added = 0;

	arena_init(&a, OBJECT_MAX * 32);
	LIST_FOREACH (it, m->wanted)
		LIST_ENTRY(it, struct status_entry, link)->placed = false;
	(void)buf_addc(out, '[');
	old = merge_stored(&a, m, devices, out, from);
	if (old >= 0)
		added = merge_new(&a, m, out, from);
	arena_release(&a);
	if (old < 0 || added < 0)
		return error_set(err, ERR_PROTOCOL, "the claim's status.devices cannot be read");
	if (out->n == from + 1) {
		out->n = from;
		(void)buf_addz(out, "null");
	} else {
		(void)buf_addc(out, ']');
	}
	return old || added;
}
