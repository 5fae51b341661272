/*
 * Encodes and decodes every type, filled at random: the result must equal the original. Seeds are
 * fixed, so failures are reproducible.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/decode.h"
#include "api/codec/protobuf.h"
#include "base/core/limits.h"
#include "base/core/random.h"

enum { ROUNDS = 20, DEPTH_MAX = 6 };

struct maker {
	struct arena *arena;
	struct prng random;
	unsigned depth;
};

static struct json *make_object(struct maker *m, const struct schema_type *type);

static struct str pick(struct maker *m, const struct str *texts, size_t n)
{
	return texts[prng_below(&m->random, n)];
}

static struct json *make_text(struct maker *m)
{
	static const struct str texts[] = {
		{ "", 0 },
		{ "a", 1 },
		{ "gpu.example.com", 15 },
		{ "\xc3\xa4\xe2\x82\xac", 5 },
	};

	return json_make_str(m->arena, pick(m, texts, ARRAY_SIZE(texts)));
}

static struct json *make_number(struct maker *m, bool small)
{
	int64_t v = (int64_t)prng_u64(&m->random) >> prng_below(&m->random, 64);

	return json_make_i64(m->arena, small ? (int32_t)v : v);
}

static struct json *make_raw(struct maker *m, bool object)
{
	static const struct str texts[] = {
		{ "{}", 2 },   { "{\"a\":[1,{\"b\":null}]}", 20 },
		{ "null", 4 }, { "[1.5,\"x\"]", 9 },
		{ "7", 1 },    { "\"t\"", 3 },
	};
	struct json *v = NULL;

	assert_int_equal(json_parse(m->arena, pick(m, texts, object ? 2 : ARRAY_SIZE(texts)), NULL,
				    &v, NULL),
			 0);
	return v;
}

static struct json *make_list_of(struct maker *m, struct json *(*make)(struct maker *m))
{
	struct json *list = json_make_array(m->arena);

	for (uint64_t n = 1 + prng_below(&m->random, 3); n > 0; n--)
		json_append(list, make(m));
	return list;
}

static struct json *make_props(struct maker *m, const struct schema_field *f)
{
	struct json *list;

	if (prng_below(&m->random, 2))
		return make_object(m, f->type);
	if (f->value == SCHEMA_PROPS_OR_BOOL)
		return json_make_bool(m->arena, prng_below(&m->random, 2));
	if (f->value == SCHEMA_PROPS_OR_STRINGS)
		return make_list_of(m, make_text);
	list = json_make_array(m->arena);
	json_append(list, make_object(m, f->type));
	return list;
}

static struct json *make_from_texts(struct maker *m, const struct schema_field *f)
{
	static const struct str times[] = { { "1970-01-01T00:00:00Z", 20 },
					    { "2024-02-29T12:34:56Z", 20 },
					    { "1969-12-31T23:59:58Z", 20 } };
	static const struct str micros[] = { { "2024-02-29T12:34:56.000001Z", 27 },
					     { "1950-01-01T00:00:00.999999Z", 27 } };
	static const struct str durations[] = { { "0s", 2 }, { "1h30m0s", 7 }, { "-1.5s", 5 } };
	static const struct str quantities[] = { { "0", 1 }, { "100m", 4 }, { "1Gi", 3 } };
	static const struct str bytes[] = { { "", 0 }, { "AAECAw==", 8 }, { "/+8=", 4 } };

	switch (f->value) {
	case SCHEMA_TIME:
		return json_make_str(m->arena, pick(m, times, ARRAY_SIZE(times)));
	case SCHEMA_MICRO_TIME:
		return json_make_str(m->arena, pick(m, micros, ARRAY_SIZE(micros)));
	case SCHEMA_DURATION:
		return json_make_str(m->arena, pick(m, durations, ARRAY_SIZE(durations)));
	case SCHEMA_QUANTITY:
		return json_make_str(m->arena, pick(m, quantities, ARRAY_SIZE(quantities)));
	case SCHEMA_BYTES:
		return json_make_str(m->arena, pick(m, bytes, ARRAY_SIZE(bytes)));
	default:
		return make_text(m);
	}
}

static struct json *make_one(struct maker *m, const struct schema_field *f)
{
	switch (f->value) {
	case SCHEMA_BOOL:
		return json_make_bool(m->arena, prng_below(&m->random, 2));
	case SCHEMA_INT32:
	case SCHEMA_INT64:
		return make_number(m, f->value == SCHEMA_INT32);
	case SCHEMA_DOUBLE:
		return json_make_f64(m->arena, prng_unit(&m->random) * 1e9 - 5e8);
	case SCHEMA_INT_OR_STRING:
		return prng_below(&m->random, 2) ? make_number(m, true) : make_text(m);
	case SCHEMA_RAW_OBJECT:
	case SCHEMA_ANY:
		return make_raw(m, f->value == SCHEMA_RAW_OBJECT);
	case SCHEMA_OBJECT:
		return make_object(m, f->type);
	case SCHEMA_PROPS_OR_LIST:
	case SCHEMA_PROPS_OR_BOOL:
	case SCHEMA_PROPS_OR_STRINGS:
		return make_props(m, f);
	default:
		return make_from_texts(m, f);
	}
}

/* Lists and maps are never empty: in protobuf that is the same as absent. */
static struct json *make_value(struct maker *m, const struct schema_field *f)
{
	struct json *v;
	uint64_t n = 1 + prng_below(&m->random, 3);

	if (f->shape == SCHEMA_ONE)
		return make_one(m, f);
	v = f->shape == SCHEMA_LIST ? json_make_array(m->arena) : json_make_object(m->arena);
	for (; n > 0; n--) {
		struct str key = str_from(arena_printf(m->arena, "k%d", (int)(n * 7 % 5)));

		if (f->shape == SCHEMA_LIST)
			json_append(v, make_one(m, f));
		else if (f->shape == SCHEMA_MAP)
			json_set(v, key, make_one(m, f));
		else
			json_set(v, key, make_list_of(m, make_text));
	}
	return v;
}

static struct json *make_object(struct maker *m, const struct schema_type *type)
{
	struct json *object = json_make_object(m->arena);
	unsigned one_of = m->depth < 3 ? 2 : 4;

	if (m->depth == DEPTH_MAX)
		return object;
	m->depth++;
	for (unsigned i = 0; i < type->nfields; i++)
		if (type->fields[i].number && prng_below(&m->random, one_of) == 0)
			json_add(object, type->fields[i].name, make_value(m, &type->fields[i]));
	m->depth--;
	return object;
}

static void fail_with(const struct schema_type *type, const char *what, const struct json *a,
		      const struct json *b)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	(void)json_print(&text, a, NULL);
	(void)buf_addz(&text, "\n");
	if (b)
		(void)json_print(&text, b, NULL);
	fail_msg("%.*s: %s\n%.*s", STR_ARG(type->openapi), what, (int)text.n, text.p);
}

static void check_round(const struct schema_type *type, uint64_t seed)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(16 * MIB);
	struct maker m = { .arena = &a };
	struct json *tree, *back = NULL;
	struct error err = { 0 };
	size_t unknown = 0;

	arena_init(&a, 64 * MIB);
	prng_init(&m.random, seed);
	tree = make_object(&m, type);
	if (decode_fit(&a, tree, type, NULL, &err) < 0 ||
	    protobuf_encode(type, tree, &bytes, &err) < 0 ||
	    protobuf_decode(&a, type, buf_str(&bytes), &unknown, &back, &err) < 0)
		fail_with(type, err.msg, tree, NULL);
	assert_int_equal(unknown, 0);
	if (decode_fit(&a, back, type, NULL, &err) < 0)
		fail_with(type, err.msg, back, NULL);
	if (!json_equal(tree, back))
		fail_with(type, "differs", tree, back);
}

static void every_type_comes_back_as_it_was(void **state)
{
	size_t n;
	const struct schema_type *const *types = schema_types(&n);

	assert_true(n > 500);
	for (size_t i = 0; i < n; i++)
		for (uint64_t seed = 0; seed < ROUNDS; seed++)
			check_round(types[i], seed);
}

/* The field's position as one number: 2.1 comes before 2.2.1, and that before 3. */
static uint64_t place(const struct schema_field *f)
{
	if (!f->inline_number)
		return (uint64_t)f->number << 32;
	if (!f->inline_inner)
		return (uint64_t)f->inline_number << 32 | (uint64_t)f->number << 16;
	return (uint64_t)f->inline_number << 32 | (uint64_t)f->inline_inner << 16 | f->number;
}

static void check_order(const struct schema_type *type)
{
	uint64_t last = 0;

	for (unsigned j = 0; j < type->nfields; j++) {
		const struct schema_field *f = &type->fields[j];

		if (f->number && place(f) <= last)
			fail_msg("%.*s.%.*s", STR_ARG(type->name), STR_ARG(f->name));
		last = f->number ? place(f) : last;
	}
}

/* Encoding follows the tables' order, and writes adjacent fields of an inlined message together. */
static void numbers_of_every_type_rise(void **state)
{
	size_t n;
	const struct schema_type *const *types = schema_types(&n);

	for (size_t i = 0; i < n; i++)
		check_order(types[i]);
}

static void check_body(const struct schema_kind *kind)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf body = BUF_INIT(16 * MIB);
	struct maker m = { .arena = &a };
	struct json *tree, *back;
	struct error err = { 0 };

	arena_init(&a, 64 * MIB);
	prng_init(&m.random, 1);
	tree = make_object(&m, kind->type);
	json_put_str(&a, tree, "apiVersion", kind->api_version);
	json_put_str(&a, tree, "kind", kind->kind);
	if (decode_fit(&a, tree, kind->type, NULL, &err) < 0 ||
	    protobuf_encode_object(kind, tree, &body, &err) < 0 ||
	    decode_body(&a, buf_str(&body), DECODE_PROTOBUF, kind, NULL, &back, &err) < 0 ||
	    decode_fit(&a, back, kind->type, NULL, &err) < 0)
		fail_with(kind->type, err.msg, tree, NULL);
	if (!json_equal(tree, back))
		fail_with(kind->type, "differs", tree, back);
}

static void every_kind_and_its_list_are_bodies(void **state)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++) {
		const struct schema_kind *list = schema_find_kind(kinds[i]->api_version,
								  kinds[i]->list_kind);

		check_body(kinds[i]);
		if (list)
			check_body(list);
	}
}

static unsigned number_of(const struct schema_kind *kind, const char *name)
{
	const struct schema_field *f = schema_field(kind->type, str_from(name));

	return f ? f->number : 0;
}

/* Replies are assembled from pieces: a list from its items, partial objects from metadata. */
static void metadata_comes_first_in_every_kind_and_then_a_list_s_items(void **state)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++) {
		const struct schema_kind *list = schema_find_kind(kinds[i]->api_version,
								  kinds[i]->list_kind);

		if (number_of(kinds[i], "metadata") != 1)
			fail_msg("%.*s", STR_ARG(kinds[i]->kind));
		if ((kinds[i]->verbs & SCHEMA_LIST_VERB) && !list)
			fail_msg("no list of %.*s", STR_ARG(kinds[i]->kind));
		if (list && (number_of(list, "metadata") != 1 || number_of(list, "items") != 2))
			fail_msg("%.*s", STR_ARG(list->kind));
	}
}

static void every_cut_of_a_message_is_refused_or_read(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(16 * MIB);
	const struct schema_kind *pod = schema_find_kind(STR("v1"), STR("Pod"));
	struct maker m = { .arena = &a };
	struct json *tree;
	size_t refused = 0;

	arena_init(&a, 1024 * MIB);
	prng_init(&m.random, 3);
	assert_int_equal(protobuf_encode(pod->type, make_object(&m, pod->type), &bytes, NULL), 0);
	assert_true(bytes.n > 100);
	for (size_t n = 0; n < MIN(bytes.n, (size_t)4096); n++)
		refused += protobuf_decode(&a, pod->type, str_of(bytes.p, n), NULL, &tree, NULL) <
			   0;
	assert_true(refused > 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_every_type_rise),
		cmocka_unit_test(every_type_comes_back_as_it_was),
		cmocka_unit_test(every_kind_and_its_list_are_bodies),
		cmocka_unit_test(metadata_comes_first_in_every_kind_and_then_a_list_s_items),
		cmocka_unit_test(every_cut_of_a_message_is_refused_or_read),
	};

	return cmocka_run_group_tests_name("api/protobuf_kinds", tests, NULL, NULL);
}
