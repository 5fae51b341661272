/*
 * Fields whose feature gate is off. Nearly every object has none of them, so the first pass only
 * searches. If it finds some, a second pass searches the stored object, and a third one drops
 * fields.
 */
#include "api/api_limits.h"
#include "api/codec/decode.h"

_Static_assert(GATE_COUNT <= 64, "sets of gates are words");

struct pass {
	const struct gates *gates;
	uint64_t found; /* gates, switched off, of the fields found */
	uint64_t drop; /* gates whose fields are dropped; 0: only search */
	bool served; /* only fields with SCHEMA_GATE_SERVED */
	bool changed;
	unsigned depth;
};

static void pass_object(struct pass *p, struct json *v, const struct schema_type *type);

static bool is_off(const struct pass *p, const struct schema_field *field)
{
	if (gates_on(p->gates, field->gate))
		return false;
	return !p->served || field->flags & SCHEMA_GATE_SERVED;
}

/* Visits objects at any level of a list, a map or a map of lists. */
static void pass_value(struct pass *p, struct json *v, const struct schema_field *field)
{
	bool lists = field->shape == SCHEMA_MAP_OF_LISTS;

	if (field->shape == SCHEMA_ONE) {
		pass_object(p, v, field->type);
		return;
	}
	JSON_FOREACH (child, v) {
		if (!lists)
			pass_object(p, child, field->type);
		JSON_FOREACH (element, lists ? child : NULL)
			pass_object(p, element, field->type);
	}
}

/* Handles a field whose gate is off. Returns true if it was dropped. */
static bool pass_gated(struct pass *p, struct json *v, struct json *member,
		       const struct schema_field *field)
{
	p->found |= 1ULL << field->gate;
	if (!(p->drop >> field->gate & 1))
		return false;
	json_unlink(v, member);
	return p->changed = true;
}

static void pass_object(struct pass *p, struct json *v, const struct schema_type *type)
{
	const struct schema_field *field;

	if (!json_is(v, JSON_OBJECT) || p->depth >= OBJECT_DEPTH_MAX)
		return;
	p->depth++;
	JSON_FOREACH_SAFE (member, v) {
		field = schema_field(type, json_key(member));
		if (!field)
			continue;
		if (is_off(p, field) && pass_gated(p, v, member, field))
			continue;
		if (field->type)
			pass_value(p, member, field);
	}
	p->depth--;
}

void decode_drop_gated(struct json *tree, const struct json *old, const struct schema_type *type,
		       const struct gates *gates)
{
	struct pass look = { .gates = gates }, look_old = { .gates = gates };

	pass_object(&look, tree, type);
	if (!look.found)
		return;
	/* Only searches, so the stored object is not changed. */
	pass_object(&look_old, (struct json *)old, type);
	look.drop = look.found & ~look_old.found;
	if (look.drop)
		pass_object(&look, tree, type);
}

bool decode_drop_served(struct json *tree, const struct schema_type *type,
			const struct gates *gates)
{
	struct pass p = { .gates = gates, .drop = UINT64_MAX, .served = true };

	pass_object(&p, tree, type);
	return p.changed;
}

/* Types visited or still to be visited; each is entered once. */
struct types_seen {
	const struct schema_type *v[512];
	size_t n;
};

static void add_type(struct types_seen *seen, const struct schema_type *type)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->v[i] == type)
			return;
	if (seen->n < ARRAY_SIZE(seen->v))
		seen->v[seen->n++] = type;
}

bool decode_drops_served(const struct schema_type *type, const struct gates *gates)
{
	struct types_seen seen = { .v = { type }, .n = 1 };

	for (size_t i = 0; i < seen.n; i++) {
		for (size_t k = 0; k < seen.v[i]->nfields; k++) {
			const struct schema_field *field = &seen.v[i]->fields[k];

			if (field->flags & SCHEMA_GATE_SERVED && !gates_on(gates, field->gate))
				return true;
			if (field->type)
				add_type(&seen, field->type);
		}
	}
	return false;
}
