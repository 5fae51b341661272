/*
 * Network data of a claim's devices has two spellings: upstream's, which is
 * stored, and the KEP's. A client that knows one of them reads both, changes its
 * own and sends both back. So where both come and differ, the one that differs
 * from what is stored is the change; that can be told only when the stored
 * object is at hand, so decoding remembers the pair and the update settles it.
 */
#include "api/write_impl.h"

struct write_alias {
	struct write_alias *next;
	const struct write_name *name;
	struct json *value; /* that came under the alias */
	size_t device; /* index in status.devices */
};

static const struct write_name names[] = {
	{ STR("ips"), STR("addresses") },
	{ STR("hardwareAddress"), STR("hwAddress") },
	{ STR_NULL, STR_NULL },
};

const struct write_name *write_names(void)
{
	return names;
}

bool write_is_claim(const struct schema_kind *kind)
{
	return str_eq(kind->storage_name, STR("resource.k8s.io/resourceclaims"));
}

static void fold(struct write *w, struct json *network, size_t device)
{
	for (const struct write_name *name = names; name->alias.p; name++) {
		struct json *alias = json_remove(network, name->alias);
		struct json *stored = json_get(network, name->stored);
		struct write_alias *pair;

		if (!alias)
			continue;
		if (!stored) {
			json_set(network, name->stored, alias);
		} else if (!json_equal(stored, alias)) {
			pair = ARENA_NEW(w->arena, struct write_alias);
			*pair = (struct write_alias){ w->aliases, name, alias, device };
			w->aliases = pair;
		}
	}
}

void write_fold_aliases(struct write *w, struct json *object)
{
	size_t i = 0;

	if (!write_is_claim(w->kind))
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
		if (write_same(it, device, "driver") && write_same(it, device, "pool") &&
		    write_same(it, device, "device") && write_same(it, device, "shareID"))
			return it;
	return NULL;
}

static void settle(struct write *w, const struct write_alias *pair, struct json *device,
		   const struct json *old)
{
	struct json *network = json_getz(device, "networkData");
	struct json *given = json_get(network, pair->name->stored);
	const struct json *before = json_get(json_getz(same_device(old, device), "networkData"),
					     pair->name->stored);
	struct field_path status = field_path_name(NULL, "status");
	struct field_path devices = field_path_name(&status, "devices");
	struct field_path item = field_path_index(&devices, pair->device);
	struct field_path data = field_path_name(&item, "networkData");
	struct field_path field = { &data, pair->name->alias, 0, FIELD_PATH_NAME };
	struct buf text = BUF_INIT(4096);

	if (!network || (before && json_equal(pair->value, before)))
		return;
	if (before && given && json_equal(given, before)) {
		json_set(network, pair->name->stored, write_copy(w->arena, pair->value));
		return;
	}
	(void)json_print(&text, pair->value, NULL);
	field_errors_addf(&w->errs, FIELD_INVALID, &field, FIELD_JSON(buf_str(&text)),
			  "differs from %.*s, and so does the stored value from both",
			  STR_ARG(pair->name->stored));
	buf_release(&text);
}

void write_settle_aliases(struct write *w, struct json *object, const struct json *old)
{
	const struct json *devices = json_getz(json_getz(object, "status"), "devices");

	for (const struct write_alias *pair = w->aliases; pair; pair = pair->next) {
		struct json *device = json_at(devices, pair->device);

		if (device)
			settle(w, pair, device, old);
	}
}

/* The path with its fifth piece renamed when it is a device's network data; else as it is. */
static struct str renamed_path(struct arena *a, struct str path)
{
	static const struct str before[] = { STR(""), STR("status"), STR("devices"), STR_NULL,
					     STR("networkData") };
	struct str rest = path, piece;

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (!str_split(&rest, '/', &piece) || (before[i].p && !str_eq(piece, before[i])))
			return path;
	if (!str_split(&rest, '/', &piece))
		return path;
	for (const struct write_name *name = names; name->alias.p; name++) {
		size_t head = (size_t)(piece.p - path.p);

		if (str_eq(piece, name->alias))
			return str_from(arena_printf(
				a, "%.*s%.*s%.*s", (int)head, path.p, STR_ARG(name->stored),
				(int)(path.n - head - piece.n), piece.p + piece.n));
	}
	return path;
}

void write_fold_patch_paths(struct write *w, struct json *patch)
{
	static const char *const members[] = { "path", "from" };

	if (!write_is_claim(w->kind) || !json_is(patch, JSON_ARRAY))
		return;
	JSON_FOREACH (op, patch) {
		for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
			struct str path = json_text_at(op, members[i]);

			if (path.p)
				json_put_str(w->arena, op, members[i],
					     renamed_path(w->arena, path));
		}
	}
}
