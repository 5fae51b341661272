/*
 * The first document becomes a tree of nodes with line numbers. It is walked like in go-yaml's
 * decoder, with a set of keys for each map. This is slower than parsing, and meant for texts that
 * are known to have repeated keys.
 *
 * Aliases make walks long, so every visited node counts against a limit.
 */
#include "base/yaml/yaml.h"

#include <yaml.h>

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/vec.h"
#include "base/text/print.h"
#include "base/yaml/scalar.h"

enum { KEY_SHOWN_MAX = 8192 };

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP, NODE_ALIAS };

struct node {
	struct node *next, *first, *last; /* sibling; children, of a map keys and values in turn */
	struct node *target; /* of an alias */
	struct str name; /* of a scalar that may be a key: its type and how Go prints it */
	size_t line;
	size_t n; /* children */
	enum node_kind kind;
	bool merges; /* is the key << */
};

struct builder {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; empty between events */
	struct arena *arena;
	struct map anchors; /* of struct node */
	VEC(struct node *) open; /* from the root to the innermost */
	struct node *root;
	size_t nodes, nodes_max;
	struct error *err;
};

struct walk {
	struct arena *arena; /* of what is found */
	struct yaml_repeat **tail;
	size_t left; /* repeats that may still be reported */
	size_t steps; /* steps that are left */
	unsigned depth;
};

/* --- nodes ------------------------------------------------------------------------ */

static int repeats_fail(const struct builder *b, const char *what)
{
	return error_set(b->err, ERR_BAD_REQUEST, "line %zu: %s", b->event.start_mark.line + 1,
			 what);
}

/* Its type and its text, so that 1 and "1" are two names. */
static struct str scalar_name(struct arena *a, const struct json *v)
{
	static const char types[] = {
		[JSON_NULL] = 'n', [JSON_BOOL] = 'b',   [JSON_INT] = 'i',
		[JSON_UINT] = 'u', [JSON_DOUBLE] = 'd', [JSON_STRING] = 's',
	};
	CLEANUP(buf_release) struct buf b = BUF_INIT(UINT32_MAX);

	(void)buf_addc(&b, types[v->type]);
	if (v->type == JSON_STRING)
		(void)print_quoted(&b, json_str(v));
	else if (v->type == JSON_DOUBLE)
		(void)print_f64(&b, v->f64);
	else
		(void)json_print(&b, v, NULL);
	return arena_str(a, buf_str(&b));
}

/* Only what is a key, or may be one by an alias, has a name. */
static int read_scalar(struct builder *b, struct node *n, bool is_key)
{
	const yaml_event_t *e = &b->event;
	struct str text = str_of(e->data.scalar.value, e->data.scalar.length);
	const char *tag = (const char *)e->data.scalar.tag, *why = "too large";
	bool plain = e->data.scalar.plain_implicit;
	struct json v = { 0 };

	if (!is_key && !e->data.scalar.anchor)
		return 0;
	n->merges = yaml_scalar_is_merge(text, tag, plain);
	if (!yaml_scalar_read(b->arena, text, tag, plain, &v, &why))
		return repeats_fail(b, why);
	n->name = scalar_name(b->arena, &v);
	return 0;
}

static int read_alias(struct builder *b, struct node *n)
{
	n->target = map_get(&b->anchors, str_from((const char *)b->event.data.alias.anchor));
	return n->target ? 0 : repeats_fail(b, "an alias names an unknown anchor");
}

static void add_anchor(struct builder *b, const yaml_char_t *name, struct node *n)
{
	if (name)
		(void)map_put(&b->anchors, str_from(arena_strdup(b->arena, str_from((char *)name))),
			      n);
}

/* The node of the current event, behind the last of what is open. */
static struct node *make_node(struct builder *b, enum node_kind kind)
{
	struct node *up = b->open.n ? b->open.v[b->open.n - 1] : NULL;
	struct node *n = ARENA_NEW(b->arena, struct node);

	*n = (struct node){ .kind = kind, .line = b->event.start_mark.line + 1 };
	b->nodes++;
	if (!up) {
		b->root = n;
		return n;
	}
	if (up->last)
		up->last->next = n;
	else
		up->first = n;
	up->last = n;
	up->n++;
	return n;
}

static int open_node(struct builder *b, enum node_kind kind, const yaml_char_t *anchor)
{
	struct node *n = make_node(b, kind);

	add_anchor(b, anchor, n);
	return vec_push(&b->open, n) ? 0 : repeats_fail(b, "lists and maps are nested too deeply");
}

static int read_event(struct builder *b)
{
	const struct node *up = b->open.n ? b->open.v[b->open.n - 1] : NULL;
	bool is_key = up && up->kind == NODE_MAP && up->n % 2 == 0;
	yaml_event_t *e = &b->event;
	struct node *n;

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		n = make_node(b, NODE_SCALAR);
		add_anchor(b, e->data.scalar.anchor, n);
		return read_scalar(b, n, is_key);
	case YAML_ALIAS_EVENT:
		return read_alias(b, make_node(b, NODE_ALIAS));
	case YAML_SEQUENCE_START_EVENT:
		return open_node(b, NODE_LIST, e->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT:
		return open_node(b, NODE_MAP, e->data.mapping_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b->open.n--;
		return 0;
	default:
		return 0; /* the beginning of the stream and of the document */
	}
}

static int build(struct builder *b)
{
	int r = 0;

	while (r == 0) {
		yaml_event_delete(&b->event);
		if (!yaml_parser_parse(&b->parser, &b->event))
			return error_set(b->err, ERR_BAD_REQUEST, "cannot be read as YAML");
		if (b->event.type == YAML_DOCUMENT_END_EVENT ||
		    b->event.type == YAML_STREAM_END_EVENT)
			return 0;
		if (b->nodes >= b->nodes_max)
			return error_set(b->err, ERR_TOO_LARGE, "more than %zu values",
					 b->nodes_max);
		r = read_event(b);
	}
	return r;
}

/* --- the walk --------------------------------------------------------------------- */

static bool repeats_look_at(struct walk *w, const struct node *n);

static const struct node *named(const struct node *n)
{
	return n->kind == NODE_ALIAS ? n->target : n;
}

/* Keys may be long, and an alias may repeat one often, so long ones are cut. */
static struct str repeats_shown(struct str key)
{
	if (key.n <= KEY_SHOWN_MAX)
		return key;
	key.n = KEY_SHOWN_MAX;
	while (key.n && (key.p[key.n] & 0xc0) == 0x80)
		key.n--;
	return key;
}

static void set_key(struct walk *w, struct map *keys, const struct node *key,
		    const struct node *value)
{
	struct yaml_repeat *repeat;

	key = named(key);
	if (!key->name.p || !map_put(keys, key->name, (void *)key) || w->left == 0)
		return;
	repeat = ARENA_NEW(w->arena, struct yaml_repeat);
	*repeat = (struct yaml_repeat){
		.line = value->line,
		.key = arena_str(w->arena, repeats_shown(str_skip(key->name, 1))),
	};
	*w->tail = repeat;
	w->tail = &repeat->next;
	w->left--;
}

static bool repeats_merge(struct walk *w, struct map *keys, const struct node *from);

/* Adds the keys of a map to `keys`, which are its own or those of a map that it is merged into. */
static bool set_members(struct walk *w, struct map *keys, const struct node *map)
{
	for (const struct node *key = map->first; key && key->next; key = key->next->next) {
		const struct node *value = key->next;

		if (key->kind == NODE_SCALAR && key->merges) {
			if (!repeats_merge(w, keys, value))
				return false;
			continue;
		}
		if (!repeats_look_at(w, value))
			return false;
		set_key(w, keys, key, value);
	}
	return true;
}

/* Counts the way down; false when it is too deep or too long. */
static bool step_down(struct walk *w)
{
	if (w->steps == 0 || w->depth >= YAML_DEPTH_MAX)
		return false;
	w->steps--;
	w->depth++;
	return true;
}

/* The last of a list comes first, since earlier ones win. */
static bool merge_list(struct walk *w, struct map *keys, const struct node *list)
{
	VEC(const struct node *) maps;
	bool ok = true;

	vec_init(&maps, list->n + 1);
	for (const struct node *n = list->first; n; n = n->next)
		(void)vec_push(&maps, n);
	while (ok && maps.n)
		ok = repeats_merge(w, keys, maps.v[--maps.n]);
	vec_release(&maps);
	return ok;
}

static bool repeats_merge(struct walk *w, struct map *keys, const struct node *from)
{
	bool ok = true;

	if (!step_down(w))
		return false;
	from = named(from);
	if (from->kind == NODE_MAP)
		ok = set_members(w, keys, from);
	else if (from->kind == NODE_LIST)
		ok = merge_list(w, keys, from);
	w->depth--;
	return ok;
}

static bool repeats_look_at(struct walk *w, const struct node *n)
{
	struct map keys = { 0 };
	bool ok = true;

	if (!step_down(w))
		return false;
	n = named(n);
	if (n->kind == NODE_MAP) {
		map_init(&keys);
		ok = set_members(w, &keys, n);
		map_release(&keys);
	} else if (n->kind == NODE_LIST) {
		for (const struct node *item = n->first; item && ok; item = item->next)
			ok = repeats_look_at(w, item);
	}
	w->depth--;
	return ok;
}

int yaml_repeats(struct arena *a, struct str text, size_t max, struct yaml_repeat **ret_repeats,
		 struct error *err)
{
	CLEANUP(arena_release) struct arena nodes;
	struct builder b = { .arena = &nodes, .err = err };
	struct walk w = { .arena = a, .left = max };
	struct yaml_repeat *found = NULL;
	int r;

	if (!yaml_parser_initialize(&b.parser))
		abort(); /* it fails only for want of memory */
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)(text.p ? text.p : ""),
				     text.n);
	arena_init(&nodes, SIZE_MAX);
	b.nodes_max = a->max / sizeof(struct node);
	map_init(&b.anchors);
	vec_init(&b.open, YAML_DEPTH_MAX);
	r = build(&b);
	w.tail = &found;
	w.steps = b.nodes + YAML_ALIAS_NODES_MAX;
	if (r == 0 && b.root && !repeats_look_at(&w, b.root))
		r = error_set(err, ERR_TOO_LARGE, "aliases expand to too many values");
	yaml_event_delete(&b.event);
	yaml_parser_delete(&b.parser);
	map_release(&b.anchors);
	vec_release(&b.open);
	if (r == 0)
		*ret_repeats = found;
	return r;
}
