/*
 * Creation, in upstream's order: drops the fields that the client may not set, generates the name,
 * fills in the path's namespace, runs the kind's own preparation, and then validates everything at
 * once. Field ownership is recorded before the kind adds the server's own fields.
 */
#include "api/write/write_impl.h"

#include "api/crd/crd.h"
#include "api/defaults/defaults.h"
#include "api/validate/validate.h"
#include "base/system/uuid.h"
#include "cel/cel_limits.h"
#include "cel/core/env.h"

/* Removes system fields, which clients may not set. */
static void wipe_meta(struct json *meta)
{
	static const struct str system[] = {
		STR("creationTimestamp"),          STR("uid"),      STR("deletionTimestamp"),
		STR("deletionGracePeriodSeconds"), STR("selfLink"), STR("generation"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(system); i++)
		json_remove(meta, system[i]);
}

static void fill_meta(struct write *w, struct json *meta)
{
	struct uuid uuid;

	if (!w->uid[0]) {
		uuid_make_seeded(&uuid, w->prng);
		(void)uuid_print(&uuid, w->uid);
	}
	json_put_str(w->arena, meta, "uid", arena_str(w->arena, str_from(w->uid)));
	tree_set_time(w->arena, meta, "creationTimestamp", w->now_ns);
	if (write_rules(w)->flags & SCHEMA_GENERATION)
		json_put_i64(w->arena, meta, "generation", 1);
}

/* Copies the name out of the arena, which may be another one next time. */
static void keep_name(struct write *w, struct str name)
{
	size_t n = MIN(name.n, sizeof(w->generated_name) - 1);

	memcpy(w->generated_name, name.p, n);
	w->generated_name[n] = '\0';
}

static void name_it(struct write *w, struct json *meta)
{
	struct str base = json_text_at(meta, "generateName");

	if (base.n == 0 || json_text_at(meta, "name").n)
		return;
	if (!w->generated_name[0])
		keep_name(w, write_generate_name(w, base));
	json_put_str(w->arena, meta, "name", arena_str(w->arena, str_from(w->generated_name)));
	w->generated_from = base;
}

static int create_meta(struct write *w, struct json *object, struct error *err)
{
	struct json *meta = write_meta(w->arena, object);
	struct str revision = json_text_at(meta, "resourceVersion");
	int r;

	r = write_check_namespace(w, object, err);
	if (r == 0 && w->name.n)
		r = write_check_name(w, object, err);
	if (r < 0)
		return r;
	w->has_revision = revision.n && !str_eq(revision, STR("0"));
	json_remove(meta, STR("resourceVersion"));
	wipe_meta(meta);
	write_dedup_owners(w, object);
	name_it(w, meta);
	fill_meta(w, meta);
	return 0;
}

/*
 * A new object has only the status members that are always printed. Exceptions: kinds that register
 * with their status, and objects that the server makes through the subresource.
 */
static void clear_status(struct write *w, struct json *object)
{
	const struct schema_kind *kind = write_rules(w);
	const struct schema_field *field = schema_field(kind->type, STR("status"));
	struct json *status;

	if (!(kind->flags & SCHEMA_STATUS) || (kind->flags & SCHEMA_STATUS_ON_CREATE) ||
	    str_eq(w->subresource, STR("status")))
		return;
	json_remove(object, STR("status"));
	if (!field || !(field->flags & SCHEMA_ALWAYS) || !field->type)
		return;
	status = json_make_object(w->arena);
	(void)decode_fit(w->arena, status, field->type, NULL, NULL);
	json_setz(object, "status", status);
}

/* Adds what every new object of a compiled kind gets, and removes what it may not have. */
static void create_complete(struct write *w, struct json *body)
{
	const struct schema_kind *kind = write_rules(w);

	clear_status(w, body);
	if (kind->custom)
		return;
	decode_drop_gated(body, NULL, kind->type, w->gates);
	defaults_fill(w->arena, body, kind->type, w->now_ns);
}

/* Fields that admission adds are not the client's: no manager owns them. */
static int mutate(struct write *w, struct json *body, struct error *err)
{
	int r;

	if (!w->mutate)
		return 0;
	r = w->mutate(w, NULL, body, err);
	if (r == 0 && w->mutated)
		create_complete(w, body);
	return r;
}

int write_check_revision(const struct write *w, struct error *err)
{
	if (!w->has_revision)
		return 0;
	return error_set(err, ERR_BAD_REQUEST,
			 "resourceVersion should not be set on objects to be created");
}

int write_create(struct write *w, struct json *body, struct json **ret_object, struct error *err)
{
	const struct schema_kind *kind = write_rules(w);
	struct cel_budget budget = { .left = CEL_COMPILE_MAX };
	struct validation v = {
		.errs = &w->errs,
		.arena = w->arena,
		.gates = w->gates,
		.kind = kind,
		.object = body,
		.now_ns = w->now_ns,
		.warnings = &w->warnings,
		.namespace_labels = w->namespace_labels,
		.selectors = w->selectors,
		.trial = w->trial,
		.budget = &budget,
	};
	int r;

	if (!kind->custom)
		write_to_storage(w->arena, body, w->kind);
	r = create_meta(w, body, err);
	if (r < 0)
		return r;
	create_complete(w, body);
	write_manage(w, body, NULL);
	r = mutate(w, body, err);
	if (r < 0)
		return r;
	if (kind->prepare_create)
		kind->prepare_create(w, body);
	write_order_meta(w->arena, body);
	if (kind->custom)
		crd_validate(&v);
	else
		validate_create(&v);
	w->compile_steps = CEL_COMPILE_MAX - budget.left;
	r = write_result(w, err);
	if (r < 0)
		return r;
	if (kind->custom)
		write_to_storage(w->arena, body, w->kind);
	*ret_object = body;
	return 0;
}

void write_rename(struct write *w, struct json *object)
{
	keep_name(w, write_generate_name(w, w->generated_from));
	json_put_str(w->arena, json_getz(object, "metadata"), "name",
		     arena_str(w->arena, str_from(w->generated_name)));
}
