/*
 * Random managers write one object in random order, on the engine and on the slow reference. After
 * every step, both must have the same object, before and after it is fitted to its type. The same
 * managers must own the same fields since the same time, and a rejected write must have the same
 * conflicts. A custom kind is written in two versions with one schema. Further laws need no
 * reference.
 *
 * A run begins at seed 1. APPLY_SEED starts at another seed and runs only that one, unless
 * APPLY_SEEDS gives a number of seeds. A failure prints its seed, and the steps that remain after
 * removing all that do not matter.
 */
#include "api/crd/cases_fixture.h"
#include "api/managed/managed_fixture.h"
#include "api/managed/universes.h"
#include "base/core/limits.h"
#include "base/core/random.h"
#include "base/yaml/yaml.h"

enum { STEPS_MAX = 14, SEEDS = 1200, MANAGERS = 5 };

/* --- parts of a universe ------------------------------------------------------------------ */

struct maker {
	struct arena *arena;
	struct prng *prng;
	unsigned keep; /* percentage of the parts to keep */
	unsigned vary; /* percentage of the values to change */
	bool odd; /* also makes null and empty containers */
	/* Not random: one manager's part of several, so that no two set the same field. */
	bool split;
	size_t mine, of;
	uint64_t at; /* hash of the current path */
};

static bool chance(struct maker *m, unsigned percent)
{
	return prng_below(m->prng, 100) < percent;
}

static bool is_key(const struct schema_field *list, struct str name)
{
	for (const struct str *key = list ? list->list_keys : NULL; key && key->p; key++)
		if (str_eq(*key, name))
			return true;
	return false;
}

/* Another value of the same type. */
static struct json *varied(struct maker *m, const struct schema_field *field, const struct json *v)
{
	struct json *out = world_copy(m->arena, v);

	switch (v->type) {
	case JSON_INT:
		return json_make_i64(m->arena, v->i64 + 1);
	case JSON_BOOL:
		return json_make_bool(m->arena, !v->boolean);
	case JSON_STRING:
		if (field && field->value == SCHEMA_QUANTITY)
			return json_make_str(m->arena, STR("3"));
		if (field && field->value == SCHEMA_BYTES)
			return json_make_str(m->arena, STR("AQ=="));
		return json_make_str(
			m->arena, str_from(arena_printf(m->arena, "%.*s2", STR_ARG(json_str(v)))));
	case JSON_ARRAY:
	case JSON_OBJECT:
		if (out->n > 1)
			(void)json_unlink(out, out->first);
		return out;
	default:
		return out;
	}
}

static struct json *part(struct maker *m, const struct schema_field *field, bool single,
			 const struct json *v);

/* Whether this part of a container is included. */
static bool is_said(struct maker *m)
{
	if (m->split)
		return (m->at >> 17) % m->of == m->mine;
	return chance(m, m->keep);
}

/* Goes one step down; returns the previous hash. */
static uint64_t enter(struct maker *m, struct str step, size_t index)
{
	uint64_t was = m->at;

	m->at = (m->at ^ (index + 1)) * UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < step.n; i++)
		m->at = (m->at ^ (unsigned char)step.p[i]) * UINT64_C(1099511628211);
	return was;
}

/* Whether to leave out a key that has a default. */
static bool is_left(struct maker *m, const struct schema_field *key, const struct json *v)
{
	return key && key->rules && key->rules->initial.p && str_eqz(json_str(v), "TCP") &&
	       chance(m, 50);
}

/*
 * Makes a part of an object; `list`: it is an element of that list, whose keys are always included.
 */
static struct json *part_of_object(struct maker *m, const struct schema_field *field, bool map,
				   const struct schema_field *list, const struct json *v)
{
	struct json *out = json_make_object(m->arena);

	JSON_FOREACH (child, v) {
		bool key = is_key(list, json_key(child));
		const struct schema_field *below = map || !field || !field->type
							   ? field
							   : schema_field(field->type,
									  json_key(child));
		uint64_t was = enter(m, json_key(child), 0);
		struct json *copy = NULL;

		if (key && !is_left(m, below, child))
			copy = world_copy(m->arena, child);
		else if (!key && ((m->split && json_is_container(child)) || is_said(m)))
			copy = part(m, below, map, child);
		if (copy)
			json_add(out, json_key(child), copy);
		m->at = was;
	}
	return out;
}

static size_t count_keys(const struct schema_field *list)
{
	size_t n = 0;

	for (const struct str *key = list->list_keys; key && key->p; key++)
		n++;
	return n;
}

/* Drops and reorders elements. */
static struct json *part_of_list(struct maker *m, const struct schema_field *field,
				 const struct json *v)
{
	bool keyed = field->merge == SCHEMA_LIST_MAP && !field->type->atomic;
	struct json *out = json_make_array(m->arena);
	size_t index = 0;

	JSON_FOREACH (child, v) {
		uint64_t was = enter(m, STR(""), index++);
		struct json *copy = keyed ? part_of_object(m, field, false, field, child)
					  : world_copy(m->arena, child);

		if (is_said(m) || (m->split && keyed && copy->n > count_keys(field)))
			json_insert(out, !m->split && chance(m, 30) ? 0 : out->n, copy);
		m->at = was;
	}
	return out;
}

static bool is_whole(const struct schema_field *field, bool single, const struct json *v)
{
	if (!json_is_container(v))
		return true;
	if (!field)
		return v->type == JSON_ARRAY;
	if (!single && field->shape != SCHEMA_ONE)
		return field->merge == SCHEMA_ATOMIC;
	if (field->value != SCHEMA_OBJECT || field->type->atomic)
		return true;
	return v->type == JSON_ARRAY ||
	       (field->shape == SCHEMA_ONE && field->merge == SCHEMA_ATOMIC);
}

/*
 * If a type prints a list even when it is empty, validation demands elements in it, as in a pod's
 * containers. The engine relies on that, so neither the list nor its parent may be odd.
 */
static bool is_demanded(const struct schema_field *field)
{
	if (!field)
		return false;
	if (field->shape == SCHEMA_LIST && (field->flags & SCHEMA_ALWAYS))
		return true;
	for (size_t i = 0; field->type && i < field->type->nfields; i++)
		if (field->type->fields[i].shape == SCHEMA_LIST &&
		    (field->type->fields[i].flags & SCHEMA_ALWAYS))
			return true;
	return false;
}

/* Makes a part of a value; NULL: nothing. */
static struct json *part(struct maker *m, const struct schema_field *field, bool single,
			 const struct json *v)
{
	bool odd = m->odd && !is_demanded(field);
	struct json *out;

	if (single && field && field->value == SCHEMA_NESTED)
		return part(m, schema_element(field), false, v);
	if (odd && chance(m, 4))
		return json_make_null(m->arena);
	/* Without a schema, an object may become a string. */
	if (!field && chance(m, m->vary))
		return json_make_str(m->arena, STR("turned"));
	if (is_whole(field, single, v)) {
		if (m->split && !is_said(m))
			return NULL;
		return chance(m, m->vary) ? varied(m, field, v) : world_copy(m->arena, v);
	}
	if (v->type == JSON_ARRAY)
		out = part_of_list(m, field, v);
	else
		out = part_of_object(m, field, !single && field && field->shape != SCHEMA_ONE, NULL,
				     v);
	/* Containers without content are odd. */
	return out->n || (odd && chance(m, 20)) ? out : NULL;
}

/* --- steps ------------------------------------------------------------------------------- */

enum verb { APPLY, FORCE, UPDATE, PATCH };

static const char *const verbs[] = { "apply", "force", "update", "patch" };
static const struct str managers[MANAGERS] = {
	{ "a", 1 }, { "b", 1 }, { "c", 1 }, { "d", 1 }, { "e", 1 }
};

struct step {
	enum verb verb;
	size_t manager;
	bool status;
	const struct schema_kind *kind; /* NULL: the one that is stored */
	const struct json *body;
	bool skipped;
};

struct history {
	struct arena *arena;
	const struct schema_kind *kind;
	const struct schema_kind *other; /* a version of the same schema; NULL: none */
	struct step v[STEPS_MAX];
	size_t n;
	bool odd;
	uint64_t seed; /* that made it */
};

static struct json *whole_body(struct arena *a, const struct schema_kind *kind, struct json *body)
{
	struct json *meta;

	json_put_str(a, body, "apiVersion", kind->api_version);
	json_put_str(a, body, "kind", kind->kind);
	meta = json_need_object(a, body, "metadata");
	json_put_str(a, meta, "name", STR("x"));
	json_put_str(a, meta, "namespace", STR("default"));
	return body;
}

static struct json *say(struct maker *m, const struct schema_kind *kind, const struct json *all)
{
	const struct schema_field root = { .type = kind->type, .value = SCHEMA_OBJECT };
	struct json *body = part_of_object(m, &root, false, NULL, all);

	if (json_is(json_getz(body, "metadata"), JSON_NULL))
		(void)json_remove(body, STR("metadata"));
	return whole_body(m->arena, kind, body);
}

static void make_history(struct history *h, struct prng *prng, const struct json *all)
{
	size_t writers = 3 + prng_below(prng, MANAGERS - 2);

	h->odd = prng_below(prng, 4) == 0;
	h->n = 2 + prng_below(prng, STEPS_MAX - 2);
	for (size_t i = 0; i < h->n; i++) {
		struct maker m = { .arena = h->arena, .prng = prng, .odd = h->odd };
		uint64_t dice = prng_below(prng, 10);

		const struct schema_kind *kind = h->other && prng_below(prng, 3) == 0 ? h->other
										      : h->kind;

		m.keep = 15 + (unsigned)prng_below(prng, 60);
		m.vary = prng_below(prng, 3) ? 0 : 20;
		h->v[i] = (struct step){
			.verb = dice < 5   ? APPLY
				: dice < 7 ? FORCE
				: dice < 8 ? UPDATE
					   : PATCH,
			.manager = prng_below(prng, writers),
			.status = i && (h->kind->flags & SCHEMA_STATUS) && prng_below(prng, 3) == 0,
			.kind = kind,
			.body = say(&m, kind, all),
		};
	}
}

static int run_step(struct world *w, const struct history *h, const struct step *s)
{
	const struct world_writer who = { .kind = s->kind ? s->kind : h->kind,
					  .manager = managers[s->manager],
					  .subresource = s->status ? STR("status") : STR("") };
	bool exists = w->by_reference ? w->state.object != NULL : w->live != NULL;

	if (s->verb == APPLY || s->verb == FORCE)
		return world_apply(w, &who, s->body, s->verb == FORCE);
	if (s->verb == PATCH && exists)
		world_patch(w, &who, s->body);
	else
		world_update(w, &who, world_copy(h->arena, s->body));
	return 0;
}

static struct str print_state(struct arena *a, const struct world *w, bool times)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);

	reference_print(&b, &w->state, times);
	return arena_str(a, buf_str(&b));
}

static struct str print_value(struct arena *a, const struct json *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);

	if (v)
		(void)json_print(&b, v, NULL);
	return arena_str(a, buf_str(&b));
}

/* --- engine and reference --------------------------------------------------------------- */

static int text_cmp(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Lists the conflicts, one per line, sorted. */
static struct str print_conflicts(struct arena *a, const struct world *w)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);
	size_t n = w->by_reference ? w->request.nconflicts : w->applied.nconflicts;
	struct str *lines = ARENA_ARRAY(a, struct str, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct managed_conflict *c = w->applied.conflicts;

		lines[i] = w->by_reference ? reference_conflict_text(a, &w->request.conflicts[i])
					   : str_from(arena_printf(a, "conflict with %.*s %.*s",
								   STR_ARG(c[i].manager),
								   STR_ARG(c[i].field)));
	}
	if (n)
		qsort(lines, n, sizeof(*lines), text_cmp);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&b, "%.*s\n", STR_ARG(lines[i]));
	return arena_str(a, buf_str(&b));
}

/*
 * Compares objects and entries. Times are not compared if there are odd values: a field that
 * upstream prints as null exists there and not here, so its change has a time only there.
 */
static bool is_same(const struct history *h, const struct world *engine,
		    const struct world *reference)
{
	return reference_equal(reference_whole(h->arena, h->kind, engine->made),
			       reference_whole(h->arena, h->kind, reference->made)) &&
	       reference_equal(engine->state.object, reference->state.object) &&
	       str_eq(print_state(h->arena, engine, !h->odd),
		      print_state(h->arena, reference, !h->odd));
}

/* Runs the steps in both worlds. Returns the first step after which they differ, or -1. */
static int play(const struct history *h, struct world *engine, struct world *reference)
{
	*engine = (struct world){ .arena = h->arena, .kind = h->kind };
	*reference = (struct world){ .arena = h->arena, .kind = h->kind, .by_reference = true };
	for (size_t i = 0; i < h->n; i++) {
		int left, right;

		if (h->v[i].skipped)
			continue;
		left = run_step(engine, h, &h->v[i]);
		right = run_step(reference, h, &h->v[i]);
		if (left != right || !is_same(h, engine, reference) ||
		    (left < 0 && !str_eq(print_conflicts(h->arena, engine),
					 print_conflicts(h->arena, reference))))
			return (int)i;
	}
	return -1;
}

static void print_history(const struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (!h->v[i].skipped)
			fprintf(stderr, "#   %s %.*s%s %.*s\n", verbs[h->v[i].verb],
				STR_ARG(managers[h->v[i].manager]), h->v[i].status ? "/status" : "",
				STR_ARG(print_value(h->arena, h->v[i].body)));
}

/* Removes steps that do not matter, and prints the rest. */
static void tell(struct history *h, uint64_t seed)
{
	struct world engine, reference;

	for (size_t i = h->n; i-- > 0;) {
		h->v[i].skipped = true;
		if (play(h, &engine, &reference) < 0)
			h->v[i].skipped = false;
	}
	(void)play(h, &engine, &reference);
	fprintf(stderr, "# APPLY_SEED=%llu, of %.*s:\n", (unsigned long long)seed,
		STR_ARG(h->kind->kind));
	print_history(h);
	fprintf(stderr, "# engine: %s\n%.*s# reference:\n%.*s", engine.err.msg,
		STR_ARG(print_conflicts(h->arena, &engine)),
		STR_ARG(print_conflicts(h->arena, &reference)));
	fprintf(stderr, "# engine made\n%.*s\n# reference made\n%.*s\n",
		STR_ARG(print_value(h->arena, engine.made)),
		STR_ARG(print_value(h->arena, reference.made)));
	fprintf(stderr, "# engine has\n%.*s%.*s\n# reference has\n%.*s%.*s\n",
		STR_ARG(print_state(h->arena, &engine, true)),
		STR_ARG(print_value(h->arena, engine.state.object)),
		STR_ARG(print_state(h->arena, &reference, true)),
		STR_ARG(print_value(h->arena, reference.state.object)));
}

/* --- laws --------------------------------------------------------------------------------- */

/* Every value after an apply existed before or is in the configuration; null counts as absent. */
static bool makes_nothing_up(struct arena *a, const struct schema_kind *kind,
			     const struct json *before, const struct json *config,
			     const struct json *after)
{
	struct json *copy = world_copy(a, after);
	struct reference_set made, said = reference_fields(a, kind, config), had = { 0 };

	if (before)
		had = reference_fields(a, kind, before);
	(void)json_remove(json_getz(copy, "metadata"), STR("managedFields"));
	made = reference_fields(a, kind, copy);
	for (size_t i = 0; i < made.n; i++)
		if (!reference_set_has(&said, made.v[i]) && !reference_set_has(&had, made.v[i]) &&
		    !reference_is_null(a, kind, copy, made.v[i]))
			return false;
	return true;
}

/* Applying the same configuration again changes nothing, and invents nothing. */
static const char *check_apply(struct history *h, struct world *w, const struct step *s)
{
	struct json *before = world_copy(h->arena, w->live);
	struct json *value;
	struct str state;
	bool times;

	if (run_step(w, h, s) < 0 || s->verb > FORCE)
		return NULL;
	if (!makes_nothing_up(h->arena, h->kind, before, s->body, w->applied.object))
		return "made something up";
	/* Odd values change when they are stored; fields without an owner get one the next time. */
	if (h->odd || w->state.n == 0)
		return NULL;
	/*
	 * A field that the request resets changes each time it is applied, so it gets a new time.
	 */
	times = !(h->kind->flags & SCHEMA_STATUS);
	state = print_state(h->arena, w, times);
	value = w->state.object;
	if (run_step(w, h, s) < 0)
		return "the same again is refused";
	if (!str_eq(state, print_state(h->arena, w, times)) || !json_equal(value, w->state.object))
		return "the same again changes something";
	return NULL;
}

/* Prints the value with members and elements sorted. */
static struct str settled(struct arena *a, const struct json *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);
	struct str *parts = ARENA_ARRAY(a, struct str, json_count(v) + 1);
	size_t n = 0;

	if (!json_is_container(v))
		return print_value(a, v);
	JSON_FOREACH (child, v) {
		struct str text = settled(a, child);

		parts[n++] = str_from(
			arena_printf(a, "%.*s:%.*s", STR_ARG(json_key(child)), STR_ARG(text)));
	}
	if (n)
		qsort(parts, n, sizeof(*parts), text_cmp);
	(void)buf_addc(&b, '{');
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&b, "%.*s,", STR_ARG(parts[i]));
	(void)buf_addc(&b, '}');
	return arena_str(a, buf_str(&b));
}

/* Splits all fields among `n` managers, so that no two set the same field. */
static void split_all(struct arena *a, const struct schema_kind *kind, const struct json *all,
		      uint64_t seed, struct history *h, size_t n)
{
	struct prng prng;

	prng_init(&prng, seed);
	*h = (struct history){ .arena = a, .kind = kind, .n = n, .seed = seed };
	for (size_t i = 0; i < n; i++) {
		struct maker m = {
			.arena = a, .prng = &prng, .split = true, .mine = i, .of = n, .at = seed
		};

		h->v[i] = (struct step){ .verb = APPLY, .manager = i, .body = say(&m, kind, all) };
	}
}

static void play_in_order(struct history *h, struct world *w, struct prng *prng)
{
	size_t order[MANAGERS];

	*w = (struct world){ .arena = h->arena, .kind = h->kind };
	for (size_t i = 0; i < h->n; i++) {
		size_t at = prng_below(prng, i + 1);

		order[i] = order[at];
		order[at] = i;
	}
	for (size_t i = 0; i < h->n; i++) {
		if (run_step(w, h, &h->v[order[i]]) == 0)
			continue;
		print_history(h);
		fail_msg("seed %llu: conflict of what is disjoint: %.*s",
			 (unsigned long long)h->seed, STR_ARG(w->applied.conflicts[0].field));
	}
}

/* The manager's fields that nobody else owns. */
static struct reference_set owned_alone(struct arena *a, const struct world *w, struct str manager)
{
	struct reference_set out = { 0 };

	for (size_t i = 0; i < w->state.n; i++) {
		const struct reference_set *set = &w->state.v[i].set;

		if (!str_eq(w->state.v[i].manager, manager))
			continue;
		out.v = ARENA_ARRAY(a, struct str, set->n + 1);
		for (size_t k = 0; k < set->n; k++) {
			bool shared = false;

			for (size_t j = 0; j < w->state.n; j++)
				shared |= j != i &&
					  reference_set_has(&w->state.v[j].set, set->v[k]);
			if (!shared)
				out.v[out.n++] = set->v[k];
		}
	}
	return out;
}

/* --- the tests ---------------------------------------------------------------------------- */

struct bench {
	struct arena fixed; /* lives for all seeds */
	struct crd *crd;
	const struct schema_kind *kinds[ARRAY_SIZE(universes)], *others[ARRAY_SIZE(universes)];
	struct json *all[ARRAY_SIZE(universes)];
	uint64_t first, n; /* seeds */
};

/* Adds the same version again as v2, which is not stored. */
static void add_version(struct arena *a, struct json *versions)
{
	struct json *version = world_copy(a, json_at(versions, 0));

	json_put_str(a, version, "name", STR("v2"));
	json_setz(version, "storage", json_make_bool(a, false));
	json_append(versions, version);
}

static void define(struct bench *b)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct json *definition = NULL;
	struct str title = STR_NULL;
	struct lines lines;
	struct cases cases;
	struct gates gates;

	cases_open(&cases, API_CASES "/apply_custom.cases");
	while (cases_next(&cases, &title, &lines))
		for (size_t i = 0; str_eqz(title, "definition") && i < lines.n; i++)
			(void)buf_printf(&text, "%.*s\n", STR_ARG(lines.v[i]));
	gates_init(&gates);
	assert_int_equal(yaml_parse(&b->fixed, buf_str(&text), NULL, &definition, NULL), 0);
	add_version(&b->fixed, json_getz(json_getz(definition, "spec"), "versions"));
	assert_int_equal(crd_compile(definition, &gates, &b->crd, NULL), 0);
}

static void find_custom(struct bench *b, size_t i)
{
	size_t n;
	const struct schema_kind *const *kinds = crd_kinds(b->crd, &n);

	for (size_t k = 0; k < n; k++)
		if (str_eqz(kinds[k]->api_version, universes[i].api_version))
			b->kinds[i] = kinds[k];
		else
			b->others[i] = kinds[k];
	assert_true(b->kinds[i] && b->others[i]);
}

static int begin(void **state)
{
	const char *one = getenv("APPLY_SEED"), *many = getenv("APPLY_SEEDS");
	struct bench *b = calloc(1, sizeof(*b));
	struct error err;

	assert_non_null(b);
	arena_init(&b->fixed, 64 * MIB);
	define(b);
	for (size_t i = 0; i < ARRAY_SIZE(universes); i++) {
		const struct universe *u = &universes[i];

		b->kinds[i] = schema_find_kind(str_from(u->api_version), str_from(u->kind));
		if (!b->kinds[i])
			find_custom(b, i);
		if (yaml_parse(&b->fixed, str_from(u->text), NULL, &b->all[i], &err) < 0)
			fail_msg("%s: %s", u->kind, err.msg);
	}
	b->first = one ? strtoull(one, NULL, 10) : 1;
	b->n = many ? strtoull(many, NULL, 10) : one ? 1 : SEEDS;
	print_message("# %llu seeds from APPLY_SEED=%llu on\n", (unsigned long long)b->n,
		      (unsigned long long)b->first);
	*state = b;
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	crd_unref(b->crd);
	arena_release(&b->fixed);
	free(b);
	return 0;
}

static void engine_and_reference_agree(void **state)
{
	struct bench *b = *state;

	for (uint64_t seed = b->first; seed < b->first + b->n; seed++) {
		CLEANUP(arena_release) struct arena a;
		size_t which = seed % ARRAY_SIZE(universes);
		struct history h = { .arena = &a,
				     .kind = b->kinds[which],
				     .other = b->others[which] };
		struct world engine, reference;
		struct prng prng;

		arena_init(&a, 1024 * MIB);
		prng_init(&prng, seed);
		make_history(&h, &prng, b->all[which]);
		if (play(&h, &engine, &reference) < 0)
			continue;
		tell(&h, seed);
		fail_msg("seed %llu", (unsigned long long)seed);
	}
}

static void check_seed(struct bench *b, uint64_t seed)
{
	CLEANUP(arena_release) struct arena a;
	size_t which = seed % ARRAY_SIZE(universes);
	struct history h = { .arena = &a, .kind = b->kinds[which], .other = b->others[which] };
	struct world w = { .arena = &a, .kind = b->kinds[which] };
	const char *why = NULL;
	struct prng prng;

	arena_init(&a, 1024 * MIB);
	prng_init(&prng, seed);
	make_history(&h, &prng, b->all[which]);
	for (size_t i = 0; i < h.n && !why; i++)
		why = check_apply(&h, &w, &h.v[i]);
	if (!why)
		return;
	print_history(&h);
	fail_msg("seed %llu, step %lld: %s", (unsigned long long)seed, (long long)w.steps, why);
}

static void the_same_again_changes_nothing_and_nothing_is_made_up(void **state)
{
	struct bench *b = *state;

	for (uint64_t seed = b->first; seed < b->first + b->n; seed++)
		check_seed(b, seed);
}

static void disjoint_managers_commute_and_drop_what_was_theirs_alone(void **state)
{
	struct bench *b = *state;

	for (uint64_t seed = b->first; seed < b->first + b->n; seed++) {
		CLEANUP(arena_release) struct arena a;
		size_t which = seed % ARRAY_SIZE(universes);
		const struct schema_kind *kind = b->kinds[which];
		struct reference_set alone, left;
		struct world w, v;
		struct history h;
		struct prng prng;

		arena_init(&a, 1024 * MIB);
		prng_init(&prng, seed);
		split_all(&a, kind, b->all[which], seed, &h, 2 + seed % (MANAGERS - 1));
		play_in_order(&h, &w, &prng);
		play_in_order(&h, &v, &prng);
		if (!str_eq(print_state(&a, &w, false), print_state(&a, &v, false)) ||
		    !str_eq(settled(&a, w.state.object), settled(&a, v.state.object)))
			fail_msg("seed %llu: another order made something else",
				 (unsigned long long)seed);
		alone = owned_alone(&a, &w, managers[0]);
		h.v[0].body = whole_body(&a, kind, json_make_object(&a));
		assert_int_equal(run_step(&w, &h, &h.v[0]), 0);
		left = reference_fields(&a, kind, w.applied.object);
		for (size_t i = 0; i < alone.n; i++)
			if (reference_set_has(&left, alone.v[i]) &&
			    !reference_is_null(&a, kind, w.applied.object, alone.v[i]))
				fail_msg("seed %llu: %.*s is left", (unsigned long long)seed,
					 STR_ARG(alone.v[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_and_reference_agree),
		cmocka_unit_test(the_same_again_changes_nothing_and_nothing_is_made_up),
		cmocka_unit_test(disjoint_managers_commute_and_drop_what_was_theirs_alone),
	};

	return cmocka_run_group_tests_name("api/managed_property", tests, begin, end);
}
