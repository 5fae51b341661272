/*
 * Network data in a claim's device status (KEP-4817) has two spellings: upstream's, which is
 * stored, and the KEP's. A client that knows one of them reads both, changes its own and sends both
 * back. So if both are sent and differ, the one that differs from the stored value is the change.
 * Only the update has the stored object, so decoding remembers the pair and the update decides.
 *
 * If a body has one name, it says nothing about the other. A JSON patch addresses single members,
 * so it is applied to the form that its client saw, with both names. If a name is missing
 * afterwards, the patch has removed it.
 */
#include "api/validate/validate.h"
#include "api/write/write_impl.h"

struct write_name {
	struct str stored, alias;
	enum json_type type; /* of its value */
};

struct write_alias {
	struct write_alias *next;
	const struct write_name *name;
	struct json *value; /* the alias's value; NULL: it was removed */
	size_t device; /* index in status.devices */
};

static const struct write_name names[] = {
	{ STR("ips"), STR("addresses"), JSON_ARRAY },
	{ STR("hardwareAddress"), STR("hwAddress"), JSON_STRING },
	{ STR_NULL, STR_NULL, JSON_NULL },
};

/* Whether the value is absent, null or empty. */
static bool is_none(const struct json *value)
{
	return validate_is_unset(value);
}

static bool alias_same(const struct json *a, const struct json *b)
{
	return is_none(a) || is_none(b) ? is_none(a) && is_none(b) : json_equal(a, b);
}

/* Whether the value does not fit the field. It is left for decode_fit() to report. */
static bool is_misfit(const struct write_name *name, const struct json *value)
{
	if (!value || json_is(value, JSON_NULL))
		return false;
	if (!json_is(value, name->type))
		return true;
	JSON_FOREACH (element, json_is(value, JSON_ARRAY) ? value : NULL)
		if (!json_is(element, JSON_STRING))
			return true;
	return false;
}

static void alias_remember(struct write *w, const struct write_name *name, struct json *value,
			   size_t device)
{
	struct write_alias *pair = ARENA_NEW(w->arena, struct write_alias);

	*pair = (struct write_alias){ w->aliases, name, value, device };
	w->aliases = pair;
}

static void fold(struct write *w, struct json *network, size_t device)
{
	for (const struct write_name *name = names; name->alias.p; name++) {
		struct json *alias = json_remove(network, name->alias);
		struct json *stored = json_get(network, name->stored);
		bool two = w->aliases_shown || (alias && stored);

		if (two && !is_misfit(name, alias))
			alias_remember(w, name, alias, device);
		else if (alias)
			json_set(network, name->stored, alias);
	}
}

void write_fold_aliases(struct write *w, struct json *object)
{
	size_t i = 0;

	if (!(w->kind->flags & SCHEMA_NETWORK_NAMES))
		return;
	JSON_FOREACH (device, json_getz(json_getz(object, "status"), "devices")) {
		struct json *network = json_getz(device, "networkData");

		if (json_is(network, JSON_OBJECT))
			fold(w, network, i);
		i++;
	}
}

static const struct json *same_device(const struct json *old, const struct json *device)
{
	JSON_FOREACH (it, json_getz(json_getz(old, "status"), "devices"))
		if (tree_same(it, device, "driver") && tree_same(it, device, "pool") &&
		    tree_same(it, device, "device") && tree_same(it, device, "shareID"))
			return it;
	return NULL;
}

static void refuse_pair(struct write *w, const struct write_alias *pair)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct field_path status = field_path_name(NULL, "status");
	struct field_path devices = field_path_name(&status, "devices");
	struct field_path item = field_path_index(&devices, pair->device);
	struct field_path data = field_path_name(&item, "networkData");
	struct field_path field = { &data, pair->name->alias, 0, FIELD_PATH_NAME };

	if (json_print(&text, pair->value, NULL) < 0)
		(void)buf_addz(&text, "...");
	field_errors_addf(&w->errs, FIELD_INVALID, &field, FIELD_JSON(buf_str(&text)),
			  "differs from %.*s, and both differ from the stored value; send only one "
			  "of them",
			  STR_ARG(pair->name->stored));
}

/* The value that is new wins; a value wins over nothing. */
static void alias_settle(struct write *w, const struct write_alias *pair, struct json *device,
			 const struct json *old)
{
	struct str stored = pair->name->stored;
	struct json *network = json_getz(device, "networkData");
	const struct json *given = json_get(network, stored);
	const struct json *before = json_get(json_getz(same_device(old, device), "networkData"),
					     stored);

	if (!network || alias_same(pair->value, given) || alias_same(pair->value, before))
		return;
	if (!alias_same(given, before) && !is_none(given)) {
		if (!is_none(pair->value))
			refuse_pair(w, pair);
		return;
	}
	if (is_none(pair->value))
		json_remove(network, stored);
	else
		json_set(network, stored, tree_copy(w->arena, pair->value));
}

/* Reverses the list, in which the last one remembered is first, to the order of devices. */
static const struct write_alias *in_order(struct write_alias *last)
{
	struct write_alias *first = NULL;

	while (last) {
		struct write_alias *before = last->next;

		last->next = first;
		first = last;
		last = before;
	}
	return first;
}

void write_settle_aliases(struct write *w, struct json *object, const struct json *old)
{
	const struct write_alias *pair = in_order(w->aliases);
	size_t i = 0;

	w->aliases = NULL;
	JSON_FOREACH (device, json_getz(json_getz(object, "status"), "devices")) {
		for (; pair && pair->device == i; pair = pair->next)
			alias_settle(w, pair, device, old);
		i++;
	}
}

/* --- JSON patches ------------------------------------------------------------------- */

bool write_show_names(struct arena *a, struct json *network)
{
	bool changed = false;

	if (!json_is(network, JSON_OBJECT))
		return false;
	for (const struct write_name *name = names; name->alias.p; name++) {
		const struct json *value = json_get(network, name->stored);

		if (!value || json_get(network, name->alias))
			continue;
		json_set(network, name->alias, tree_copy(a, value));
		changed = true;
	}
	return changed;
}

void write_show_aliases(struct write *w, struct json *object)
{
	if (!(w->kind->flags & SCHEMA_NETWORK_NAMES))
		return;
	JSON_FOREACH (device, json_getz(json_getz(object, "status"), "devices"))
		(void)write_show_names(w->arena, json_getz(device, "networkData"));
	w->aliases_shown = true;
}

/* Adds the other name to network data that a client sent with one, so that it always has both. */
static void give_both(struct arena *a, struct json *network)
{
	(void)write_show_names(a, network);
	for (const struct write_name *name = names; name->alias.p; name++) {
		const struct json *value = json_get(network, name->alias);

		if (value && !json_get(network, name->stored))
			json_set(network, name->stored, tree_copy(a, value));
	}
}

static void give_both_in(struct arena *a, struct json *devices)
{
	JSON_FOREACH (device, devices)
		if (json_is(json_getz(device, "networkData"), JSON_OBJECT))
			give_both(a, json_getz(device, "networkData"));
}

/*
 * Returns how far the path leads towards a device's network data: 0 for the whole object, 4 for
 * network data itself; -1 if it leads elsewhere, or further.
 */
static int steps_to_network(struct str path)
{
	static const struct str names_of[] = { STR("status"), STR("devices"), STR_NULL,
					       STR("networkData") };
	ptrdiff_t slash = str_chr(path, '/');
	struct str rest = slash < 0 ? STR_NULL : str_skip(path, (size_t)slash + 1), piece;
	int steps = 0;

	while (str_split(&rest, '/', &piece)) {
		if (steps == ARRAY_SIZE(names_of) ||
		    (names_of[steps].p && !str_eq(piece, names_of[steps])))
			return -1;
		steps++;
	}
	return steps;
}

static void complete_value(struct arena *a, struct json *value, int steps)
{
	if (steps == 0)
		value = json_getz(value, "status");
	if (steps == 0 || steps == 1)
		value = json_getz(value, "devices");
	if (steps == 3)
		value = json_getz(value, "networkData");
	if (steps >= 0 && steps <= 2 && json_is(value, JSON_ARRAY))
		give_both_in(a, value);
	if (steps >= 3 && json_is(value, JSON_OBJECT))
		give_both(a, value);
}

/* Returns the offset of the last piece if it is one of the two names of network data; else 0. */
static size_t network_name(struct str path)
{
	size_t at = path.n;

	while (at && path.p[at - 1] != '/')
		at--;
	if (!at || steps_to_network(str_of(path.p, at - 1)) != 4)
		return 0;
	for (const struct write_name *name = names; name->alias.p; name++)
		if (str_eq(str_skip(path, at), name->alias) ||
		    str_eq(str_skip(path, at), name->stored))
			return at;
	return 0;
}

static bool is_other_name(struct str a, struct str b)
{
	for (const struct write_name *name = names; name->alias.p; name++)
		if ((str_eq(a, name->alias) && str_eq(b, name->stored)) ||
		    (str_eq(b, name->alias) && str_eq(a, name->stored)))
			return true;
	return false;
}

/* Whether the operation moves one name to the other. That changes nothing: both are one field. */
static bool moves_to_other_name(const struct json *op)
{
	struct str path = json_text_at(op, "path"), from = json_text_at(op, "from");
	size_t n = network_name(path), m = network_name(from);

	return str_eqz(json_text_at(op, "op"), "move") && n && n == m &&
	       memcmp(path.p, from.p, n) == 0 &&
	       is_other_name(str_skip(path, n), str_skip(from, n));
}

const struct json *write_complete_patch(struct write *w, const struct json *patch)
{
	struct json *own;

	if (!(w->kind->flags & SCHEMA_NETWORK_NAMES) || !json_is(patch, JSON_ARRAY))
		return patch;
	own = tree_copy(w->arena, patch);
	JSON_FOREACH (op, own) {
		complete_value(w->arena, json_getz(op, "value"),
			       steps_to_network(json_text_at(op, "path")));
		if (moves_to_other_name(op))
			json_put_str(w->arena, op, "op", STR("copy"));
	}
	return own;
}
