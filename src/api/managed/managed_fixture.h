/*
 * managed_fixture - one object and its writers, on the engine or on the slow reference.
 *
 * A world does what a server does around managed.h: the object is stored in one version and fits
 * its schema, and fields that a request resets keep their value. Defaults and validation are left
 * out.
 */
#ifndef API_MANAGED_MANAGED_FIXTURE_H
#define API_MANAGED_MANAGED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/decode.h"
#include "api/convert/convert.h"
#include "api/crd/crd.h"
#include "api/managed/managed.h"
#include "api/managed/reference.h"
#include "api/patch/patch.h"

#define WORLD_BEGIN_S INT64_C(1700000000)
#define SECOND_NS     INT64_C(1000000000)

struct world {
	struct arena *arena;
	const struct schema_kind *kind; /* the version in which it is stored */
	bool by_reference;
	struct reference_state state; /* the current state */
	struct json *live; /* the same with its managedFields; NULL: no object */
	int64_t steps; /* each takes a second */
	/* Results of the last step: */
	struct error err;
	struct managed_applied applied;
	struct reference_request request;
	struct json *made; /* result of an apply, before it fits: without managedFields; or NULL */
};

/* The writer, and the path of its request. */
struct world_writer {
	const struct schema_kind *kind; /* of the request */
	struct str manager, subresource;
};

static inline struct json *world_copy(struct arena *a, const struct json *v)
{
	struct json *copy = NULL;

	if (v)
		assert_int_equal(json_copy(a, v, &copy, NULL), 0);
	return copy;
}

/* Converts from any of the two versions, stored and request's, to the other. */
static inline void world_convert(struct arena *a, struct json *object,
				 const struct schema_kind *from, const struct schema_kind *to)
{
	if (!object || from == to)
		return;
	convert_to_storage(a, object, from);
	convert_from_storage(a, object, to);
	json_put_str(a, object, "apiVersion", to->api_version);
}

/*
 * Returns the parent of a dotted path, and its last name. Returns NULL if there is no such object.
 */
static inline struct json *world_parent(struct json *object, struct str path, struct str *ret_name)
{
	struct str rest = path, name = STR_NULL;

	while (object && str_split(&rest, '.', &name) && rest.p)
		object = json_get(object, name);
	*ret_name = name;
	return json_is(object, JSON_OBJECT) ? object : NULL;
}

/* The stored value, with the managedFields of the sent one: managedFields are never reset. */
static inline struct json *world_reset_value(struct world *w, const struct json *old,
					     struct json *removed)
{
	struct json *value = world_copy(w->arena, old);
	struct json *managed = json_is(removed, JSON_OBJECT)
				       ? json_remove(removed, STR("managedFields"))
				       : NULL;

	if (json_is(value, JSON_OBJECT))
		(void)json_remove(value, STR("managedFields"));
	if (managed && !value)
		value = json_make_object(w->arena);
	if (managed)
		json_add(value, STR("managedFields"), managed);
	return value;
}

/* Gives the fields that the request resets their stored value; a new object loses its status. */
static inline void world_reset(struct world *w, const struct world_writer *who, struct json *object)
{
	const struct str *reset = schema_resets(who->kind, who->subresource);
	struct json *stored = w->live ? w->live : w->state.object;

	for (; stored && reset && reset->p; reset++) {
		struct str name;
		struct json *parent = world_parent(object, *reset, &name), *value;

		if (!parent || str_eqz(name, "managedFields"))
			continue;
		value = world_reset_value(w, json_get(world_parent(stored, *reset, &name), name),
					  json_remove(parent, name));
		if (value)
			json_add(parent, arena_str(w->arena, name), value);
	}
	if (!stored)
		(void)json_remove(object, STR("status"));
}

static inline void world_fit_to(struct world *w, const struct schema_kind *kind,
				struct json *object)
{
	struct error err = { 0 };
	int r = kind->custom ? crd_fit(w->arena, object, kind, NULL, &err)
			     : decode_fit(w->arena, object, kind->type, NULL, &err);

	if (r < 0)
		fail_msg("%s", err.msg);
}

/* Fits the object, which is of the request's version, and converts it to the stored one. */
static inline struct json *world_fit(struct world *w, const struct world_writer *who,
				     struct json *object)
{
	world_fit_to(w, who->kind, object);
	world_convert(w->arena, object, who->kind, w->kind);
	world_reset(w, who, object);
	world_fit_to(w, w->kind, object);
	return object;
}

static inline struct managed_writer world_writer(struct world *w, const struct world_writer *who)
{
	return (struct managed_writer){
		.manager = who->manager,
		.api_version = who->kind->api_version,
		.subresource = who->subresource,
		.now_ns = (WORLD_BEGIN_S + ++w->steps) * SECOND_NS,
	};
}

/* The object as the request sees it. */
static inline struct json *world_live(struct world *w, const struct world_writer *who)
{
	struct json *live = world_copy(w->arena, w->live);

	world_convert(w->arena, live, w->kind, who->kind);
	return live;
}

static inline void world_begin_request(struct world *w, const struct world_writer *who,
				       const struct managed_writer *writer, bool force)
{
	w->request = (struct reference_request){
		.arena = w->arena,
		.kind = who->kind,
		.writer = writer,
		.resets = schema_resets(who->kind, who->subresource),
		.force = force,
	};
}

/* The reference's state, as the request sees it. */
static inline struct reference_state world_state(struct world *w, const struct world_writer *who)
{
	struct reference_state state = w->state;

	state.object = world_copy(w->arena, state.object);
	world_convert(w->arena, state.object, w->kind, who->kind);
	return state;
}

static inline int world_apply(struct world *w, const struct world_writer *who,
			      const struct json *config, bool force)
{
	struct managed_writer writer = world_writer(w, who);
	struct reference_state next = w->state, seen;
	int r;

	w->err = (struct error){ 0 };
	w->applied = (struct managed_applied){ 0 };
	w->made = NULL;
	if (w->by_reference) {
		world_begin_request(w, who, &writer, force);
		seen = world_state(w, who);
		r = reference_apply(&w->request, &seen, config, &next);
		if (r == 0)
			w->made = world_copy(w->arena, next.object);
		if (r == 0)
			next.object = world_fit(w, who, next.object);
		w->state = next;
		return r;
	}
	r = managed_apply(w->arena, who->kind, world_live(w, who), config, &writer, force,
			  &w->applied, &w->err);
	if (r < 0)
		return r;
	w->made = world_copy(w->arena, w->applied.object);
	(void)json_remove(json_getz(w->made, "metadata"), STR("managedFields"));
	w->live = world_fit(w, who, world_copy(w->arena, w->applied.object));
	w->state = reference_read(w->arena, w->live);
	return 0;
}

/*
 * `object` is complete, of the request's version, and has managedFields if the client edits them.
 */
static inline void world_update(struct world *w, const struct world_writer *who,
				struct json *object)
{
	struct managed_writer writer = world_writer(w, who);
	struct reference_state seen;

	w->err = (struct error){ 0 };
	w->applied = (struct managed_applied){ 0 };
	w->made = NULL;
	object = world_fit(w, who, object);
	world_convert(w->arena, object, w->kind, who->kind);
	if (w->by_reference) {
		bool reset = json_getz(json_getz(object, "metadata"), "managedFields") != NULL;

		(void)json_remove(json_getz(object, "metadata"), STR("managedFields"));
		world_begin_request(w, who, &writer, false);
		seen = world_state(w, who);
		reference_update(&w->request, &seen, object, &w->state);
		world_convert(w->arena, w->state.object, who->kind, w->kind);
		w->state.n = reset ? 0 : w->state.n;
		return;
	}
	managed_update(w->arena, who->kind, object, world_live(w, who), &writer);
	world_convert(w->arena, object, who->kind, w->kind);
	w->live = object;
	w->state = reference_read(w->arena, object);
}

/* Applies a merge patch to the stored object. */
static inline void world_patch(struct world *w, const struct world_writer *who,
			       const struct json *patch)
{
	struct json *object = world_copy(w->arena, w->by_reference ? w->state.object : w->live);

	world_convert(w->arena, object, w->kind, who->kind);
	assert_int_equal(patch_merge(w->arena, &object, patch, NULL), 0);
	world_update(w, who, object);
}

/* Sets fields as the server's defaults do: no manager owns them. */
static inline void world_default(struct world *w, const struct json *patch)
{
	struct json **object = w->by_reference ? &w->state.object : &w->live;

	assert_int_equal(patch_merge(w->arena, object, patch, NULL), 0);
	if (!w->by_reference)
		w->state = reference_read(w->arena, w->live);
}

#endif
