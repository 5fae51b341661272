/*
 * One constant table made from GATE_MAP. A set of gates is an array of flags, so a lookup is an
 * index.
 */
#include "api/schema/gates.h"

#include "base/text/nearest.h"

struct gate_row {
	const char *name, *stage;
	bool initial;
	bool locked; /* cannot be changed from its default */
};

#define GATE_ROW(name, initial, stage, locked) { #name, stage, initial, locked },
static const struct gate_row rows[GATE_COUNT] = { { "", "", true, true }, GATE_MAP(GATE_ROW) };
#undef GATE_ROW

void gates_init(struct gates *g)
{
	for (size_t i = 0; i < GATE_COUNT; i++)
		g->on[i] = rows[i].initial;
}

static int unknown_gate(struct str name, struct error *err)
{
	struct nearest n;
	struct str best;

	nearest_init(&n, name);
	for (size_t i = GATE_NONE + 1; i < GATE_COUNT; i++)
		nearest_offer(&n, str_from(rows[i].name));
	best = nearest_get(&n);
	if (best.n == 0)
		return error_set(err, ERR_BAD_REQUEST, "unrecognized feature gate: %.*s",
				 STR_ARG(name));
	return error_set(err, ERR_BAD_REQUEST,
			 "unrecognized feature gate: %.*s (did you mean %.*s?)", STR_ARG(name),
			 STR_ARG(best));
}

/* Accepts what strconv.ParseBool does, like upstream's flag. */
static bool parse_bool(struct str s, bool *ret_value)
{
	static const char *const words[2][6] = { { "0", "f", "F", "false", "FALSE", "False" },
						 { "1", "t", "T", "true", "TRUE", "True" } };

	for (size_t value = 0; value < 2; value++)
		for (size_t i = 0; i < 6; i++)
			if (str_eqz(s, words[value][i])) {
				*ret_value = value;
				return true;
			}
	return false;
}

int gates_set(struct gates *g, struct str assignment, struct error *err)
{
	struct str value = str_trim(assignment), name;
	enum gate gate;
	bool on;

	if (!str_split(&value, '=', &name) || !value.p)
		return error_set(err, ERR_BAD_REQUEST, "missing bool value for %.*s",
				 STR_ARG(assignment));
	name = str_trim(name);
	value = str_trim(value);
	for (gate = GATE_NONE + 1; gate < GATE_COUNT; gate++)
		if (str_eqz(name, rows[gate].name))
			break;
	if (gate == GATE_COUNT)
		return unknown_gate(name, err);
	if (!parse_bool(value, &on))
		return error_set(err, ERR_BAD_REQUEST,
				 "invalid value of %.*s=%.*s, use true or false", STR_ARG(name),
				 STR_ARG(value));
	if (rows[gate].locked && on != rows[gate].initial)
		return error_set(err, ERR_BAD_REQUEST,
				 "cannot set feature gate %s to %s, feature is locked to %s",
				 rows[gate].name, on ? "true" : "false",
				 rows[gate].initial ? "true" : "false");
	g->on[gate] = on;
	return 0;
}

const char *gate_name(enum gate gate)
{
	return rows[gate].name;
}

const char *gate_stage(enum gate gate)
{
	return strcmp(rows[gate].stage, "GA") == 0 ? "" : rows[gate].stage;
}
