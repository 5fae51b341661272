/*
 * The result for a node is printed without its name and compared as text. Names of devices differ
 * between nodes, so they are left out, too; a group of a single node gets them back.
 */
#include "cli/fit/report.h"

#include "base/core/map.h"
#include "base/core/vec.h"
#include "cli/cli_limits.h"
#include "cli/devices/claim_sight.h"
#include "dra/allocate/explain.h"

enum {
	DEVICES_MAX = 8, /* named in a line */
	TREE_DEVICES_MAX = 1000, /* of each reason, as data */
};

struct making {
	const struct fit_query *query;
	struct arena *arena;
	struct arena scratch; /* for one node */
	struct explain last; /* of that node */
	struct map by_key;
	VEC(struct fit_group *) groups;
};

/* Removes the prefix "node : request .." and indents. */
static void add_lines(struct str text, struct buf *out)
{
	struct str rest = text, line;

	while (str_split(&rest, '\n', &line)) {
		if (str_starts(line, STR("node : ")))
			line = str_skip(line, 7);
		if (line.n)
			(void)buf_printf(out, "  %.*s\n", STR_ARG(line));
	}
}

static bool has_devices(const struct explain *e)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->requests[i].n > 0 || e->requests[i].fault.n > 0)
			return true;
	return false;
}

/* The fault of a pool may name a claim. */
static void hide_claims(struct making *m, const struct explain *e)
{
	const struct explain_sight *sight = m->query->sight;

	for (size_t i = 0; sight && i < e->n; i++) {
		for (size_t k = 0; k < e->requests[i].n; k++) {
			struct explain_device *d = &e->requests[i].devices[k];

			if (d->reason == EXPLAIN_POOL_INVALID)
				d->detail = claim_sight_message(&m->scratch, sight->may, sight->arg,
								d->detail);
		}
	}
}

/* Whether the claims fit on the node; if not, appends the reasons. */
static bool explain_node(struct making *m, const struct fit_node *n, size_t devices_max,
			 struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);
	struct allocate_node node = { .name = n->name, .labels = n->labels }, nobody = { 0 };
	struct explain *e = &m->last;

	arena_clear(&m->scratch);
	explain_fit(m->query->inventory, &node, m->query->claims, m->query->nclaims,
		    m->query->sight, &m->scratch, e);
	if (e->fits)
		return true;
	hide_claims(m, e);
	explain_print(e, &nobody, devices_max, &text);
	add_lines(buf_str(&text), out);
	if (!has_devices(e))
		(void)buf_addz(out, "    no device can be reached from there\n");
	return false;
}

/* Keeps what was found for the last node as data. */
static void keep_requests(struct making *m, struct fit_group *g, size_t devices_max)
{
	g->requests = explain_tree(&m->last, devices_max, m->arena);
	g->between = arena_str(m->arena, m->last.between);
}

static struct fit_group *find_group(struct making *m, const struct fit_node *n, bool fits,
				    struct str text)
{
	struct str key = str_from(
		arena_printf(&m->scratch, "%d\n%.*s\n%.*s", fits, STR_ARG(n->away), STR_ARG(text)));
	struct fit_group *g = map_get(&m->by_key, key);

	if (g)
		return g;
	g = ARENA_NEW(m->arena, struct fit_group);
	*g = (struct fit_group){ .devices = fits,
				 .fits = fits && n->away.n == 0,
				 .away = arena_str(m->arena, n->away),
				 .text = arena_str(m->arena, text) };
	(void)map_put(&m->by_key, arena_str(m->arena, key), g);
	(void)vec_push(&m->groups, g);
	if (!fits)
		keep_requests(m, g, 0);
	return g;
}

static void add_node(struct making *m, const struct fit_node *n)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);
	bool fits = explain_node(m, n, m->query->detailed ? DEVICES_MAX : 0, &text);
	struct fit_group *g = find_group(m, n, fits, buf_str(&text));

	if (g->n == g->cap) {
		struct str *more = ARENA_ARRAY(m->arena, struct str, MAX(2 * g->cap, (size_t)4));

		if (g->n)
			memcpy(more, g->nodes, g->n * sizeof(*more));
		g->nodes = more;
		g->cap = MAX(2 * g->cap, (size_t)4);
	}
	g->nodes[g->n++] = n->name;
}

static int compare_groups(const void *a, const void *b)
{
	const struct fit_group *x = a, *y = b;

	if (x->fits != y->fits)
		return x->fits ? -1 : 1;
	if (x->devices != y->devices)
		return x->devices ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return str_cmp(x->nodes[0], y->nodes[0]);
}

static const struct fit_node *report_node_of(const struct making *m, struct str name)
{
	for (size_t i = 0; i < m->query->nnodes; i++)
		if (str_eq(m->query->nodes[i].name, name))
			return &m->query->nodes[i];
	return NULL;
}

/* A single node has room for names. */
static void tell_details(struct making *m, struct fit_group *g)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);

	if (g->n != 1 || g->devices || m->query->detailed)
		return;
	(void)explain_node(m, report_node_of(m, g->nodes[0]), DEVICES_MAX, &text);
	g->text = arena_str(m->arena, buf_str(&text));
	keep_requests(m, g, TREE_DEVICES_MAX);
}

static void report_gather(struct making *m, struct fit_report *r)
{
	size_t at = 0;

	r->n = m->groups.n;
	r->groups = ARENA_ARRAY(m->arena, struct fit_group, r->n);
	for (size_t i = 0; i < r->n; i++)
		r->groups[i] = *m->groups.v[i];
	if (r->n)
		qsort(r->groups, r->n, sizeof(*r->groups), compare_groups);
	for (size_t i = 0; i < r->n; i++)
		r->fitting += r->groups[i].fits ? r->groups[i].n : 0;
	r->names = ARENA_ARRAY(m->arena, struct str, r->fitting);
	for (size_t i = 0; i < r->n; i++) {
		tell_details(m, &r->groups[i]);
		for (size_t k = 0; r->groups[i].fits && k < r->groups[i].n; k++)
			r->names[at++] = r->groups[i].nodes[k];
	}
}

void fit_report_make(const struct fit_query *q, struct arena *a, struct fit_report *r)
{
	struct making m = { .query = q, .arena = a };

	*r = (struct fit_report){ 0 };
	arena_init(&m.scratch, SIZE_MAX);
	map_init(&m.by_key);
	vec_init(&m.groups, SIZE_MAX);
	for (size_t i = 0; i < q->nnodes; i++)
		add_node(&m, &q->nodes[i]);
	for (size_t i = 0; i < q->nnodes; i++)
		r->nodes += !q->nodes[i].gone;
	report_gather(&m, r);
	vec_release(&m.groups);
	map_release(&m.by_key);
	arena_release(&m.scratch);
}

/* --- printing -------------------------------------------------------------------------------- */

void fit_report_names(struct buf *out, const struct str *names, size_t n, size_t max)
{
	size_t told = max == 0 || n <= max ? n : max;

	for (size_t i = 0; i < told; i++)
		(void)buf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(names[i]));
	if (told < n)
		(void)buf_printf(out, " and %zu more", n - told);
}

static void print_group(const struct fit_group *g, size_t names_max, struct buf *out)
{
	(void)buf_printf(out, "\nnode%s ", g->n == 1 ? "" : "s");
	fit_report_names(out, g->nodes, g->n, names_max);
	(void)buf_addz(out, ":\n");
	if (g->away.n)
		(void)buf_printf(out, "  %.*s\n", STR_ARG(g->away));
	(void)buf_add_str(out, g->text);
	if (g->devices && g->away.n)
		(void)buf_addz(out, "  (devices would be there)\n");
}

void fit_report_print(const struct fit_report *r, size_t names_max, struct buf *out)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->groups[i].fits)
			print_group(&r->groups[i], names_max, out);
}

static struct json *lines_of(struct str text, struct arena *a)
{
	struct json *lines = json_make_array(a);
	struct str rest = text, line;

	while (str_split(&rest, '\n', &line))
		if (line.n)
			json_append(lines,
				    json_make_str(a, str_skip(line, MIN(line.n, (size_t)2))));
	return lines;
}

struct json *fit_report_tree(const struct fit_report *r, struct arena *a)
{
	struct json *groups = json_make_array(a);

	for (size_t i = 0; i < r->n; i++) {
		const struct fit_group *g = &r->groups[i];
		struct json *o = json_make_object(a), *names = json_make_array(a);

		for (size_t k = 0; k < g->n; k++)
			json_append(names, json_make_str(a, g->nodes[k]));
		json_setz(o, "nodes", names);
		json_put_bool(a, o, "fits", g->fits);
		if (g->away.n)
			json_put_str(a, o, "nodeReason", g->away);
		if (g->requests)
			json_setz(o, "requests", g->requests);
		if (g->between.n)
			json_put_str(a, o, "between", str_trim_space(g->between));
		if (g->text.n)
			json_setz(o, "explanation", lines_of(g->text, a));
		json_append(groups, o);
	}
	return groups;
}
