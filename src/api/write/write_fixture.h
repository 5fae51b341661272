/*
 * write_fixture - helpers that the tests of write share: a request, and short functions to make
 * trees and to look into them. Included by tests only.
 */
#ifndef API_WRITE_WRITE_FIXTURE_H
#define API_WRITE_WRITE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/write/write.h"
#include "base/core/limits.h"
#include "base/time/timestamp.h"

struct fixture {
	struct arena arena;
	struct prng prng;
	struct gates gates;
	struct write w;
	struct error err;
	struct json *out; /* the object of the last write */
};

static inline int64_t fixture_time(const char *text)
{
	int64_t ns = 0;

	assert_int_equal(timestamp_parse(str_from(text), &ns, NULL), 0);
	return ns;
}

/* A request for the resource at 2026-01-02T00:00:00Z in namespace "ns". */
static inline void fixture_init(struct fixture *f, const char *group, const char *version,
				const char *resource)
{
	const struct schema_kind *kind = schema_find_resource(str_from(group), str_from(version),
							      str_from(resource));

	if (!kind)
		fail_msg("no such resource: %s", resource);
	*f = (struct fixture){ 0 };
	arena_init(&f->arena, 64 * MIB);
	prng_init(&f->prng, 1);
	gates_init(&f->gates);
	f->w = (struct write){
		.arena = &f->arena,
		.kind = kind,
		.ns = kind->flags & SCHEMA_NAMESPACED ? STR("ns") : STR_NULL,
		.gates = &f->gates,
		.now_ns = fixture_time("2026-01-02T00:00:00Z"),
		.prng = &f->prng,
		.user_agent = STR("tester/1.0"),
		.options.field_validation = WRITE_WARN,
	};
	write_init(&f->w);
}

static inline void fixture_release(struct fixture *f)
{
	arena_release(&f->arena);
}

/* Resets the results of the last write, so that another can be made on the same path. */
static inline void fixture_again(struct fixture *f)
{
	write_init(&f->w);
	f->err = (struct error){ 0 };
	f->out = NULL;
}

static inline struct json *fixture_tree(struct fixture *f, const char *text)
{
	struct json *tree = NULL;

	if (json_parse(&f->arena, str_from(text), NULL, &tree, &f->err) < 0)
		fail_msg("bad test text: %s: %s", f->err.msg, text);
	return tree;
}

static inline struct json *fixture_body(struct fixture *f, const char *text)
{
	struct json *body = NULL;

	if (write_decode(&f->w, str_from(text), DECODE_JSON, &body, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	return body;
}

static inline int fixture_create(struct fixture *f, const char *text)
{
	return write_create(&f->w, fixture_body(f, text), &f->out, &f->err);
}

/* Creates an object and makes it look stored: with a resourceVersion, and its name in the path. */
static inline const struct json *fixture_stored(struct fixture *f, const char *text)
{
	struct buf b = BUF_INIT(MIB);
	struct json *object;

	if (fixture_create(f, text) < 0) {
		(void)field_errors_aggregate(&f->w.errs, &b);
		fail_msg("%s %s", f->err.msg, b.p ? b.p : "");
	}
	object = f->out;
	json_put_str(&f->arena, json_getz(object, "metadata"), "resourceVersion", STR("7"));
	f->w.name = json_str(json_pointer(object, STR("/metadata/name")));
	fixture_again(f);
	return object;
}

static inline int fixture_update(struct fixture *f, const struct json *old, const char *text)
{
	return write_update(&f->w, old, fixture_body(f, text), &f->out, &f->err);
}

static inline int fixture_patch(struct fixture *f, const struct json *old, enum patch_type type,
				const char *text)
{
	return write_patch(&f->w, old, type, fixture_tree(f, text), &f->out, &f->err);
}

/* Returns the text at a JSON pointer; "" if nothing is there. */
static inline const char *fixture_at(struct fixture *f, const struct json *tree,
				     const char *pointer)
{
	struct buf b = BUF_INIT(MIB);
	const struct json *v = json_pointer(tree, str_from(pointer));
	char *text;

	if (json_is(v, JSON_STRING))
		(void)buf_add_str(&b, json_str(v));
	else if (v)
		(void)json_print(&b, v, NULL);
	text = arena_strdup(&f->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* All faults of the last write, as a Status shows them. */
static inline const char *fixture_faults(struct fixture *f)
{
	struct buf b = BUF_INIT(MIB);
	char *text;

	if (field_errors_any(&f->w.errs))
		(void)field_errors_aggregate(&f->w.errs, &b);
	text = arena_strdup(&f->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

#define assert_at(f, tree, pointer, want) \
	assert_string_equal(fixture_at((f), (tree), (pointer)), (want))

/* Asserts that the write succeeded; prints the errors otherwise. */
#define assert_written(f, result)                                                      \
	do {                                                                           \
		if ((result) < 0)                                                      \
			fail_msg("refused: %s %s", (f)->err.msg, fixture_faults((f))); \
	} while (0)

#endif
