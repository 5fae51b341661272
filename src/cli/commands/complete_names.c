/*
 * Names that only a server knows, offered while a user types: objects, namespaces, nodes, drivers,
 * pools and devices; and the roles of `devplane up`. The flags on the line that say which server
 * and namespace count. Errors offer nothing: a message would end up in the middle of the line.
 */
#include "base/core/map.h"
#include "cli/commands/commands.h"
#include "cli/devices/view.h"
#include "cli/program/completion.h"
#include "cli/up/state.h"
#include "client/api/discovery.h"

enum { PATIENCE_S = 3 /* a shell waits */ };

struct where {
	struct kube_options kube;
	const char *data_dir;
};

static const struct flag where_flags[] = {
	UP_DIR_FLAG(struct where),
	KUBE_FLAGS(struct where, kube),
	{ NULL },
};

struct naming {
	struct cli *cli;
	const struct completion_query *query;
	struct buf *out;
	struct where where;
	struct kube kube;
	struct map offered;
};

/* --- which server ----------------------------------------------------------------------------- */

/* Keeps only the flags that say where to ask. */
static int read_where(struct naming *n)
{
	const struct completion_query *q = n->query;
	char **argv = ARENA_ARRAY(&n->cli->arena, char *, (size_t)q->argc + 1);
	struct flags f = { .table = where_flags, .options = &n->where, .arena = &n->cli->arena };
	int kept = 0, r;

	for (int i = 0; i < q->argc; i++) {
		const struct flag *flag = completion_flag(where_flags, str_from(q->argv[i]));

		bool apart = flag && flags_wants_value(flag) && !strchr(q->argv[i], '=');

		/* The last one may be the flag whose value is being typed. */
		if (!flag || (apart && i + 1 == q->argc))
			continue;
		argv[kept++] = q->argv[i];
		if (apart)
			argv[kept++] = q->argv[++i];
	}
	r = flags_parse(&f, kept, argv, NULL);
	n->where.kube.request_timeout = PATIENCE_S * CLOCK_SEC;
	return r;
}

/* Several slices have the same driver and pool. */
static void name_offer(struct naming *n, struct str word)
{
	if (map_get(&n->offered, word))
		return;
	(void)map_put(&n->offered, arena_str(&n->cli->arena, word), n);
	completion_offer(n->out, n->query->so_far, n->query->before, word, NULL);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void name_objects(struct naming *n, const struct resource *resource)
{
	struct kube_query q = {
		.resource = resource,
		.accept = STR("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,"
			      "application/json")
	};
	struct json *list;

	if (resource->namespaced)
		q.ns = n->kube.config.ns;
	if (kube_read(&n->kube, &q, &list, NULL) < 0)
		return;
	JSON_FOREACH (it, json_getz(list, "items"))
		name_offer(n, json_text_at(json_getz(it, "metadata"), "name"));
}

static void name_builtin(struct naming *n, const char *plural)
{
	struct resource r = resource_builtin("", "v1", plural);

	name_objects(n, &r);
}

/* --- slices ----------------------------------------------------------------------------------- */

enum part { PART_DRIVER, PART_POOL, PART_DEVICE };

static void name_slice(struct naming *n, const struct json *spec, enum part part)
{
	struct str driver = json_text_at(spec, "driver");
	struct str pool = json_text_at(json_getz(spec, "pool"), "name");

	if (part == PART_DRIVER)
		name_offer(n, driver);
	if (part == PART_POOL)
		name_offer(n, pool);
	if (part != PART_DEVICE)
		return;
	JSON_FOREACH (it, json_getz(spec, "devices"))
		name_offer(n, str_from(arena_printf(&n->cli->arena, "%.*s/%.*s/%.*s",
						    STR_ARG(driver), STR_ARG(pool),
						    STR_ARG(json_text_at(it, "name")))));
}

static void name_slices(struct naming *n, enum part part)
{
	struct resource r;
	struct kube_query q = { .resource = &r };
	struct json *list;

	if (device_view_resource(&n->kube, "resourceslices", &r, NULL) < 0 ||
	    kube_read(&n->kube, &q, &list, NULL) < 0)
		return;
	JSON_FOREACH (it, json_getz(list, "items"))
		name_slice(n, json_getz(it, "spec"), part);
}

/* --- roles ------------------------------------------------------------------------------------ */

static void name_roles(struct naming *n)
{
	struct up_layout l;
	struct up_state state;

	if (up_layout_init(&l, &n->cli->arena, n->where.data_dir, NULL) < 0 ||
	    up_state_read(&l, &state, NULL) < 0)
		return;
	for (size_t i = 0; i < state.n; i++)
		name_offer(n, state.roles[i].name);
}

/* --- what is named ---------------------------------------------------------------------------- */

/* Types that no server has; they have the names that pool_args.h knows. */
static bool is_called(struct str type, const char *singular, const char *plural)
{
	return str_ieq(type, str_from(singular)) || str_ieq(type, str_from(plural));
}

static void name_type(struct naming *n, struct str type)
{
	const struct discovery_resource *served;

	if (is_called(type, "device", "devices"))
		name_slices(n, PART_DEVICE);
	else if (is_called(type, "pool", "pools") ||
		 is_called(type, "resourcepool", "resourcepools"))
		name_slices(n, PART_POOL);
	else if (kube_resource(&n->kube, type, &served, NULL) == 0)
		name_objects(n, &served->resource);
}

static void name_flag(struct naming *n, const char *flag)
{
	if (strcmp(flag, "namespace") == 0)
		name_builtin(n, "namespaces");
	else if (strcmp(flag, "node") == 0)
		name_builtin(n, "nodes");
	else if (strcmp(flag, "driver") == 0)
		name_slices(n, PART_DRIVER);
	else if (strcmp(flag, "pool") == 0)
		name_slices(n, PART_POOL);
}

static void name_served(struct naming *n)
{
	if (n->query->flag)
		name_flag(n, n->query->flag->name);
	else
		name_type(n, n->query->type);
}

void complete_names(struct cli *cli, const struct completion_query *query, struct buf *out)
{
	struct naming n = { .cli = cli, .query = query, .out = out };

	if (read_where(&n) < 0)
		return;
	map_init(&n.offered);
	if (!query->flag && str_eqz(query->type, "roles"))
		name_roles(&n);
	else if (kube_open(&n.kube, cli, &n.where.kube, NULL) == 0)
		name_served(&n);
	kube_close(&n.kube);
	map_release(&n.offered);
}
