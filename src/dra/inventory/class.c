/*
 * Device classes, and programs of selectors. A class owns the programs of its selectors. Programs
 * of claims are cached by text, most recently used first, as most claims of a cluster come from a
 * few templates.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "cel/cel_limits.h"
#include "dra/dra_limits.h"
#include "dra/inventory/store.h"

/* Like upstream for stored expressions: accepts everything that any release allowed. */
static const struct cel_device_features stored = { .consumable_capacity = true,
						   .list_attributes = true };

struct inventory_class_entry {
	struct inventory_class class;
	struct arena arena;
};

struct inventory_program {
	struct list link; /* of programs_used */
	struct str text;
	const struct cel_program *program; /* NULL: it does not compile */
	struct str fault;
	uint64_t id;
	struct arena arena;
};

/* Returns the program, or NULL with all issues as text. */
static const struct cel_program *class_compile(struct arena *a, struct str text,
					       struct cel_budget *budget, struct str *ret_fault)
{
	const struct cel_program *program;
	struct cel_issues issues;
	struct buf words;

	cel_issues_init(&issues, a, text);
	program = cel_device_compile(stored, text, budget, a, &issues);
	if (program)
		return program;
	buf_init(&words, CEL_TEXT_MAX);
	cel_issues_print(&issues, &words);
	*ret_fault = arena_str(a, buf_str(&words));
	buf_release(&words);
	return NULL;
}

/* --- classes ------------------------------------------------------------------------ */

static void class_free(struct inventory *inv, struct inventory_class_entry *entry)
{
	if (!entry)
		return;
	inv->bytes -= sizeof(*entry) + entry->arena.used;
	arena_release(&entry->arena);
	free(entry);
}

static void read_selectors(struct inventory_class *c, const struct json *array, struct arena *a)
{
	struct inventory_selector *list = ARENA_ARRAY(a, struct inventory_selector,
						      json_count(array));

	c->selectors = list;
	JSON_FOREACH (v, array) {
		struct inventory_selector *s = &list[c->nselectors++];

		s->text = arena_str(a, json_text_at(json_getz(v, "cel"), "expression"));
		s->program = class_compile(a, s->text, NULL, &s->fault);
	}
}

static int class_read(struct inventory_class_entry *entry, const struct json *v, struct error *err)
{
	const struct json *meta = json_getz(v, "metadata"), *spec = json_getz(v, "spec");
	const struct json *config = json_getz(spec, "config");
	struct inventory_class *c = &entry->class;
	struct json *copy = NULL;
	int64_t ns;

	c->name = arena_str(&entry->arena, json_text_at(meta, "name"));
	c->uid = arena_str(&entry->arena, json_text_at(meta, "uid"));
	c->extended_resource = arena_str(&entry->arena, json_text_at(spec, "extendedResourceName"));
	if (timestamp_parse(json_text_at(meta, "creationTimestamp"), &ns, NULL) == 0)
		c->created = ns / 1000000000;
	if (c->name.n == 0)
		return error_set(err, ERR_INVALID, "a DeviceClass needs a name");
	read_selectors(c, json_getz(spec, "selectors"), &entry->arena);
	if (json_count(config) > 0) {
		int r = json_copy(&entry->arena, config, &copy, err);

		if (r < 0)
			return r;
	}
	c->config = copy;
	return 0;
}

int inventory_put_class(struct inventory *inv, const struct json *device_class, struct error *err)
{
	struct inventory_class_entry *entry = XNEW(struct inventory_class_entry);
	int r;

	arena_init(&entry->arena, OBJECT_MAX * 16);
	r = class_read(entry, device_class, err);
	inventory_remove_class(inv, json_text_at(json_getz(device_class, "metadata"), "name"));
	inv->bytes += sizeof(*entry) + entry->arena.used;
	if (r < 0) {
		class_free(inv, entry);
		return r;
	}
	entry->class.id = ++inv->ids;
	map_put(&inv->classes, entry->class.name, entry);
	return 0;
}

void inventory_remove_class(struct inventory *inv, struct str name)
{
	class_free(inv, map_remove(&inv->classes, name));
}

const struct inventory_class *inventory_class(const struct inventory *inv, struct str name)
{
	const struct inventory_class_entry *entry = map_get(&inv->classes, name);

	return entry ? &entry->class : NULL;
}

static bool preferred(const struct inventory_class *a, const struct inventory_class *b)
{
	if (a->created != b->created)
		return a->created > b->created;
	return str_cmp(a->name, b->name) < 0;
}

const struct inventory_class *inventory_class_of_resource(const struct inventory *inv,
							  struct str resource)
{
	const struct str implicit = STR("deviceclass.resource.kubernetes.io/");
	const struct inventory_class *best = NULL;
	struct str name;
	size_t at = 0;
	void *value;

	if (str_starts(resource, implicit))
		return inventory_class(inv, str_skip(resource, implicit.n));
	while (resource.n > 0 && map_next(&inv->classes, &at, &name, &value)) {
		const struct inventory_class *c =
			&((const struct inventory_class_entry *)value)->class;

		if (str_eq(c->extended_resource, resource) && (!best || preferred(c, best)))
			best = c;
	}
	return best;
}

/* --- programs ----------------------------------------------------------------------- */

static void program_free(struct inventory *inv, struct inventory_program *p)
{
	map_remove(&inv->programs, p->text);
	list_remove(&p->link);
	inv->bytes -= sizeof(*p) + p->arena.used;
	inv->program_bytes -= p->arena.used;
	arena_release(&p->arena);
	free(p);
}

/* Returns NULL if too few steps are left. */
static struct inventory_program *program_new(struct inventory *inv, struct str text,
					     uint64_t *steps)
{
	struct inventory_program *p = XNEW(struct inventory_program);
	struct cel_budget budget = { .left = steps ? *steps : 0 };

	arena_init(&p->arena, CEL_PROGRAM_MAX);
	p->text = arena_str(&p->arena, text);
	p->program = class_compile(&p->arena, p->text, steps ? &budget : NULL, &p->fault);
	if (steps)
		*steps = budget.left;
	if (budget.spent) {
		arena_release(&p->arena);
		free(p);
		return NULL;
	}
	p->id = ++inv->ids;
	list_init(&p->link);
	map_put(&inv->programs, p->text, p);
	inv->bytes += sizeof(*p) + p->arena.used;
	inv->program_bytes += p->arena.used;
	return p;
}

int inventory_selector(struct inventory *inv, struct str text, uint64_t *steps,
		       struct inventory_compiled *ret_compiled, struct error *err)
{
	struct inventory_program *p = map_get(&inv->programs, text);

	if (!p)
		p = program_new(inv, text, steps);
	if (!p)
		return error_set(err, ERR_TOO_LARGE, "%s", CEL_COMPILE_EXCEEDED);
	list_remove(&p->link);
	list_push_front(&inv->programs_used, &p->link);
	if (!p->program)
		return error_set(err, ERR_INVALID, "%.*s", STR_ARG(p->fault));
	*ret_compiled = (struct inventory_compiled){ p->program, p->id };
	return 0;
}

void inventory_programs_trim(struct inventory *inv)
{
	while (inv->programs.n > INVENTORY_PROGRAMS_MAX ||
	       (inv->programs.n > INVENTORY_PROGRAMS_MAX / 2 &&
		inv->program_bytes > INVENTORY_PROGRAM_BYTES_MAX))
		program_free(inv,
			     LIST_ENTRY(inv->programs_used.prev, struct inventory_program, link));
}

void inventory_count_evaluation(struct inventory *inv, uint64_t cost)
{
	inv->counts.evaluations++;
	inv->counts.cost += cost;
}

struct inventory_counts inventory_counts(const struct inventory *inv)
{
	return inv->counts;
}

void inventory_classes_release(struct inventory *inv)
{
	struct str name;
	size_t at = 0;
	void *value;

	while (map_next(&inv->classes, &at, &name, &value))
		class_free(inv, value);
	map_release(&inv->classes);
	LIST_FOREACH_SAFE (it, &inv->programs_used)
		program_free(inv, LIST_ENTRY(it, struct inventory_program, link));
	map_release(&inv->programs);
}
