/*
 * libyaml's events are turned into the tree one by one. As in the JSON parser,
 * an open container points to its parent through `next`; a list of levels
 * beside it holds what else is known about each open container.
 *
 * In a mapping the event of a key makes the member's node, and the next event
 * fills it. A merge key makes a member without a key, which is replaced by what
 * it brings when the mapping ends. An alias is a copy of the tree that its
 * anchor names. Each anchor knows how many nodes that tree has and how high it
 * is, so both limits are checked before anything is copied.
 */
#include "base/yaml/yaml.h"

#include <math.h>
#include <yaml.h>

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/json/building.h"
#include "base/yaml/merge.h"
#include "base/yaml/scalar.h"

/* A named tree; in the arena, found by its name. */
struct anchor {
	struct json value; /* its children are the tree's */
	size_t nodes;
	size_t height; /* of a scalar 0, of a container one more than its highest child */
	bool open; /* not complete: an alias would contain itself */
	char name[];
};

struct level {
	size_t height; /* of the highest child so far */
	size_t nodes_before; /* made before its own */
	struct anchor *anchor; /* its own, or NULL */
	bool merges; /* has merge keys */
};

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; empty between events */
	struct str text;
	struct yaml_options options;
	struct json_report unused; /* where the caller wants no report */
	bool failed, ended;

	/* State of the document being read. */
	struct arena *arena;
	struct error *err;
	struct map anchors; /* of struct anchor */
	struct json *root, *open;
	struct json *member; /* has its key and waits for its value */
	VEC(struct level) levels;
	size_t nodes, alias_nodes;
};

struct yaml_reader *yaml_reader_new(struct str text, const struct yaml_options *options)
{
	struct yaml_reader *r = XNEW(struct yaml_reader);
	struct yaml_options *o = &r->options;

	/* It fails only for want of memory. */
	if (!yaml_parser_initialize(&r->parser))
		abort();
	r->text = text.p ? text : STR("");
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text.p, r->text.n);
	map_init(&r->anchors);
	if (options)
		*o = *options;
	o->size_max = o->size_max ? MIN(o->size_max, (size_t)UINT32_MAX) : UINT32_MAX;
	o->depth_max = o->depth_max ? o->depth_max : YAML_DEPTH_MAX;
	o->alias_nodes_max = o->alias_nodes_max ? o->alias_nodes_max : YAML_ALIAS_NODES_MAX;
	o->duplicates_max = o->duplicates_max ? o->duplicates_max : JSON_DUPLICATES_MAX;
	o->report = o->report ? o->report : &r->unused;
	vec_init(&r->levels, o->depth_max);
	return r;
}

void yaml_reader_free(struct yaml_reader *r)
{
	if (!r)
		return;
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->parser);
	map_release(&r->anchors);
	vec_release(&r->levels);
	free(r);
}

/* At the beginning of the current event. */
static int fail_here(struct yaml_reader *r, const char *what)
{
	struct json_report *report = r->options.report;

	report->line = r->event.start_mark.line + 1;
	report->column = r->event.start_mark.column + 1;
	return error_set(r->err, ERR_BAD_REQUEST, "line %zu, column %zu: %s", report->line,
			 report->column, what);
}

static int fail_limit(struct yaml_reader *r, const char *what, size_t limit)
{
	return error_set(r->err, ERR_TOO_LARGE, "line %zu: %s, limit %zu",
			 r->event.start_mark.line + 1, what, limit);
}

static int fail_memory(struct yaml_reader *r)
{
	return fail_limit(r, "the document needs too much memory", r->arena->max);
}

/* libyaml's reader works on bytes before they are decoded, and only has their offset. */
static void mark_of_offset(struct str text, size_t offset, yaml_mark_t *ret_mark)
{
	*ret_mark = (yaml_mark_t){ 0 };
	for (size_t i = 0; i < MIN(offset, text.n); i++) {
		ret_mark->column++;
		if (text.p[i] != '\n')
			continue;
		ret_mark->line++;
		ret_mark->column = 0;
	}
}

static int fail_parser(struct yaml_reader *r)
{
	const yaml_parser_t *p = &r->parser;
	struct json_report *report = r->options.report;
	yaml_mark_t mark = p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		abort();
	if (p->error == YAML_READER_ERROR)
		mark_of_offset(r->text, p->problem_offset, &mark);
	report->line = mark.line + 1;
	report->column = mark.column + 1;
	return error_set(r->err, ERR_BAD_REQUEST, "line %zu, column %zu: %s%s%s", report->line,
			 report->column, p->problem ? p->problem : "cannot be read as YAML",
			 p->context ? " " : "", p->context ? p->context : "");
}

static int next_event(struct yaml_reader *r)
{
	yaml_event_delete(&r->event);
	return yaml_parser_parse(&r->parser, &r->event) ? 0 : fail_parser(r);
}

static struct json *make_node(struct yaml_reader *r)
{
	struct json *v = arena_try_alloc(r->arena, sizeof(*v));

	if (!v)
		return NULL;
	*v = (struct json){ .type = JSON_NULL };
	r->nodes++;
	return v;
}

/* The node that the current event fills: the waiting member, a new element, or the root. */
static int take_place(struct yaml_reader *r, struct json **ret_node)
{
	struct json *v = r->member;

	if (!v)
		v = make_node(r);
	if (!v)
		return fail_memory(r);
	if (!r->open)
		r->root = v;
	else if (!r->member)
		json_link(r->open, v);
	r->member = NULL;
	*ret_node = v;
	return 0;
}

static int add_anchor(struct yaml_reader *r, const yaml_char_t *name, const struct json *v,
		      struct anchor **ret_anchor)
{
	struct str s = str_from((const char *)name);
	struct anchor *anchor = arena_try_alloc(r->arena, sizeof(*anchor) + s.n);

	if (!anchor)
		return fail_memory(r);
	*anchor = (struct anchor){ .value = *v, .nodes = 1 };
	str_put(anchor->name, s);
	(void)map_put(&r->anchors, str_of(anchor->name, s.n), anchor);
	*ret_anchor = anchor;
	return 0;
}

/* Type and value of the current event's scalar. */
static int set_scalar(struct yaml_reader *r, struct json *v)
{
	const yaml_event_t *e = &r->event;
	const char *why = NULL;
	bool plain = e->data.scalar.plain_implicit;

	if (yaml_scalar_read(r->arena, str_of(e->data.scalar.value, e->data.scalar.length),
			     (const char *)e->data.scalar.tag, plain, v, &why))
		return 0;
	return why ? fail_here(r, why) : fail_memory(r);
}

/* Infinity and NaN may be keys, but not values. */
static bool is_json(const struct json *v)
{
	return v->type != JSON_DOUBLE || isfinite(v->f64);
}

static int read_scalar(struct yaml_reader *r)
{
	const yaml_char_t *name = r->event.data.scalar.anchor;
	struct anchor *anchor;
	struct json *v;
	int rc = take_place(r, &v);

	if (rc < 0)
		return rc;
	rc = set_scalar(r, v);
	if (rc < 0)
		return rc;
	if (!is_json(v))
		return fail_here(r, "infinity and NaN cannot be represented in JSON");
	return name ? add_anchor(r, name, v, &anchor) : 0;
}

/* Makes the member whose key is the scalar `key`. */
static int begin_member(struct yaml_reader *r, const struct json *key)
{
	const char *why = NULL;
	struct str text;

	if (!yaml_scalar_key(r->arena, key, &text, &why))
		return why ? fail_here(r, why) : fail_memory(r);
	r->member = make_node(r);
	if (!r->member)
		return fail_memory(r);
	r->member->key = text.p;
	r->member->key_n = (uint32_t)text.n;
	json_link(r->open, r->member);
	return 0;
}

static int begin_merge(struct yaml_reader *r)
{
	r->member = make_node(r);
	if (!r->member)
		return fail_memory(r);
	r->levels.v[r->levels.n - 1].merges = true;
	r->options.report->merges = true;
	json_link(r->open, r->member);
	return 0;
}

static int find_anchor(struct yaml_reader *r, struct anchor **ret_anchor)
{
	struct str name = str_from((const char *)r->event.data.alias.anchor);
	struct anchor *anchor = map_get(&r->anchors, name);

	if (!anchor)
		return fail_here(r, "an alias names an unknown anchor");
	if (anchor->open)
		return fail_here(r, "an anchor's value contains itself");
	*ret_anchor = anchor;
	return 0;
}

static int read_key(struct yaml_reader *r)
{
	yaml_event_t *e = &r->event;
	struct json key = { 0 };
	struct anchor *anchor;
	int rc;

	if (e->type == YAML_ALIAS_EVENT) {
		rc = find_anchor(r, &anchor);
		return rc < 0 ? rc : begin_member(r, &anchor->value);
	}
	if (e->type != YAML_SCALAR_EVENT)
		return fail_here(r, "a key must be a scalar");
	if (yaml_scalar_is_merge(str_of(e->data.scalar.value, e->data.scalar.length),
				 (const char *)e->data.scalar.tag, e->data.scalar.plain_implicit))
		return begin_merge(r);
	rc = set_scalar(r, &key);
	if (rc == 0 && e->data.scalar.anchor)
		rc = add_anchor(r, e->data.scalar.anchor, &key, &anchor);
	return rc < 0 ? rc : begin_member(r, &key);
}

static int read_alias(struct yaml_reader *r)
{
	struct json *v, *copy;
	struct anchor *anchor;
	struct level *top;
	int rc = find_anchor(r, &anchor);

	if (rc < 0)
		return rc;
	if (!is_json(&anchor->value))
		return fail_here(r, "infinity and NaN cannot be represented in JSON");
	if (r->levels.n + anchor->height > r->options.depth_max)
		return fail_here(r, "lists and maps are nested too deeply");
	r->alias_nodes += anchor->nodes;
	if (r->alias_nodes > r->options.alias_nodes_max)
		return fail_limit(r, "aliases expand to too many values",
				  r->options.alias_nodes_max);
	rc = take_place(r, &v);
	if (rc < 0)
		return rc;
	if (json_copy(r->arena, &anchor->value, &copy, NULL) < 0)
		return fail_memory(r);
	json_assign(v, copy);
	r->nodes += anchor->nodes - 1;
	/* A document that is nothing but an alias has no anchor, so something is open. */
	top = &r->levels.v[r->levels.n - 1];
	top->height = MAX(top->height, anchor->height);
	return 0;
}

static int open_container(struct yaml_reader *r, enum json_type type, const yaml_char_t *name)
{
	struct level level = { 0 };
	struct json *v;
	int rc;

	if (r->levels.n >= r->options.depth_max)
		return fail_here(r, "lists and maps are nested too deeply");
	rc = take_place(r, &v);
	if (rc == 0 && name)
		rc = add_anchor(r, name, v, &level.anchor);
	if (rc < 0)
		return rc;
	if (level.anchor)
		level.anchor->open = true;
	level.nodes_before = r->nodes - 1;
	v->type = type;
	v->first = v->last = NULL;
	v->n = 0;
	v->next = r->open;
	r->open = v;
	return vec_push(&r->levels, level) ? 0 : fail_memory(r);
}

/* Repeated keys are looked for among those written, not among those merged in. */
static int finish_mapping(struct yaml_reader *r, bool merges)
{
	struct json_report unused = { 0 };
	int rc;

	if (!json_unique(r->arena, r->open, r->options.duplicates_max, r->options.report))
		return fail_memory(r);
	if (!merges)
		return 0;
	rc = yaml_merge(r->arena, r->open);
	if (rc == -ERR_BAD_REQUEST)
		return fail_here(r, "<< can only merge a map or a list of maps");
	return rc == 0 && json_unique(r->arena, r->open, 0, &unused) ? 0 : fail_memory(r);
}

static int close_container(struct yaml_reader *r)
{
	struct level level = r->levels.v[r->levels.n - 1], *above;
	struct json *v = r->open;
	int rc = v->type == JSON_OBJECT ? finish_mapping(r, level.merges) : 0;

	if (rc < 0)
		return rc;
	level.height++;
	r->levels.n--;
	r->open = v->next;
	v->next = NULL;
	if (level.anchor) {
		level.anchor->open = false;
		level.anchor->value = *v;
		level.anchor->height = level.height;
		level.anchor->nodes = r->nodes - level.nodes_before;
	}
	if (r->levels.n) {
		above = &r->levels.v[r->levels.n - 1];
		above->height = MAX(above->height, level.height);
	}
	return 0;
}

static int read_event(struct yaml_reader *r)
{
	const yaml_event_t *e = &r->event;

	if (e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT)
		return close_container(r);
	if (json_is(r->open, JSON_OBJECT) && !r->member)
		return read_key(r);
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(r);
	case YAML_ALIAS_EVENT:
		return read_alias(r);
	case YAML_SEQUENCE_START_EVENT:
		return open_container(r, JSON_ARRAY, e->data.sequence_start.anchor);
	default:
		return open_container(r, JSON_OBJECT, e->data.mapping_start.anchor);
	}
}

/* From behind the start of a document to its end. */
static int read_document(struct yaml_reader *r)
{
	int rc;

	map_clear(&r->anchors);
	r->root = r->open = r->member = NULL;
	r->levels.n = r->nodes = r->alias_nodes = 0;
	for (;;) {
		rc = next_event(r);
		if (rc < 0)
			return rc;
		if (r->event.type == YAML_DOCUMENT_END_EVENT)
			return 0;
		rc = read_event(r);
		if (rc < 0)
			return rc;
	}
}

/* 1 with a document in r->root, 0 at the end. */
static int read_stream(struct yaml_reader *r)
{
	int rc;

	if (r->text.n > r->options.size_max)
		return error_set(r->err, ERR_TOO_LARGE, "the text has %zu bytes, limit %zu",
				 r->text.n, r->options.size_max);
	while (!r->ended) {
		rc = next_event(r);
		if (rc == 0 && r->event.type == YAML_DOCUMENT_START_EVENT)
			rc = read_document(r);
		if (rc < 0)
			return rc;
		if (r->event.type == YAML_DOCUMENT_END_EVENT && r->root->type != JSON_NULL)
			return 1;
		r->ended = r->event.type == YAML_STREAM_END_EVENT;
	}
	return 0;
}

int yaml_reader_next(struct yaml_reader *r, struct arena *a, struct json **ret_value,
		     struct error *err)
{
	int rc;

	if (r->failed)
		return error_set(err, ERR_BAD_REQUEST,
				 "an earlier document of the text is not valid YAML");
	r->arena = a;
	r->err = err;
	*r->options.report = (struct json_report){ 0 };
	rc = read_stream(r);
	r->failed = rc < 0;
	if (rc > 0)
		*ret_value = r->root;
	return rc;
}

int yaml_parse(struct arena *a, struct str text, const struct yaml_options *options,
	       struct json **ret_value, struct error *err)
{
	CLEANUP(yaml_reader_free) struct yaml_reader *r = yaml_reader_new(text, options);
	struct json_report report;
	struct json *v, *other;
	int rc;

	rc = yaml_reader_next(r, a, &v, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		v = json_make_null(a);
	report = *r->options.report;
	rc = yaml_reader_next(r, a, &other, err);
	if (rc > 0)
		return error_set(err, ERR_BAD_REQUEST, "only one document is allowed here");
	if (rc < 0)
		return rc;
	*r->options.report = report;
	*ret_value = v;
	return 0;
}

bool yaml_is_json(struct str text)
{
	while (text.n && (text.p[0] == ' ' || (text.p[0] >= '\t' && text.p[0] <= '\r')))
		text = str_skip(text, 1);
	return text.n && text.p[0] == '{';
}
