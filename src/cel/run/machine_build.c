/*
 * Literals of lists, maps and structs. Errors among the values were dealt with before
 * (cel_op_strict); what is left are optional entries, keys that maps do not take, and keys that
 * come twice, which the specification refuses.
 */
#include "base/core/buf.h"
#include "cel/core/wellknown.h"
#include "cel/run/machine.h"

enum {
	FEW = 8, /* keys that are compared each with each */
	KEY_SHOWN_MAX = 1024, /* characters of one in a message */
};

/*
 * Whether entry i has a value, which is unwrapped. Sets an error for `?` before a value that is not
 * an optional.
 */
static bool present(struct cel_eval *ev, const bool *optionals, size_t i, struct cel_value *v,
		    const char *what)
{
	if (!optionals || !optionals[i])
		return true;
	if (v->kind != CEL_OPTIONAL) {
		*v = cel_errorf(ev, "cannot initialize optional %s from non-optional value", what);
		return true;
	}
	if (!v->optional)
		return false;
	*v = *v->optional;
	return true;
}

struct cel_value cel_list_literal(struct cel_eval *ev, const struct cel_value *items, size_t n,
				  const bool *optionals)
{
	struct cel_value *copy = cel_alloc(ev, n * sizeof(*copy));
	size_t count = 0;

	if (!copy)
		return cel_too_large();
	for (size_t i = 0; i < n; i++) {
		copy[count] = items[i];
		if (!present(ev, optionals, i, &copy[count], "list element"))
			continue;
		if (cel_is_error(copy[count]))
			return copy[count];
		count++;
	}
	return cel_list(ev, copy, count);
}

static bool is_key(const struct cel_value *v)
{
	return v->kind == CEL_STRING || v->kind == CEL_INT || v->kind == CEL_UINT ||
	       v->kind == CEL_BOOL;
}

/* The first entry whose key came before, in few entries; or n. */
static size_t repeated_of_few(struct cel_eval *ev, const struct cel_value *pairs, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (cel_equal(ev, &pairs[2 * i], &pairs[2 * j]))
				return i;
	return n;
}

/*
 * The same of many: a map of keys to places gives the place of another one. n also without
 * memory, which making the map itself will tell.
 */
static size_t repeated_of_many(struct cel_eval *ev, const struct cel_value *pairs, size_t n)
{
	struct cel_value *places = cel_alloc(ev, 2 * n * sizeof(*places)), map, found;

	if (!places)
		return n;
	for (size_t i = 0; i < n; i++) {
		places[2 * i] = pairs[2 * i];
		places[2 * i + 1] = CEL_INT_V((int64_t)i);
	}
	map = cel_map(ev, places, n);
	for (size_t i = 0; i < n && map.kind == CEL_MAP; i++) {
		found = cel_map_find(ev, &map, &pairs[2 * i]);
		if (found.kind == CEL_INT && found.i != (int64_t)i)
			return i;
	}
	return n;
}

static size_t repeated(struct cel_eval *ev, const struct cel_value *pairs, size_t n)
{
	return n <= FEW ? repeated_of_few(ev, pairs, n) : repeated_of_many(ev, pairs, n);
}

struct cel_value cel_map_of_pairs(struct cel_eval *ev, const struct cel_value *pairs, size_t n)
{
	size_t again = repeated(ev, pairs, n);
	CLEANUP(buf_release) struct buf b = BUF_INIT(KEY_SHOWN_MAX);
	const struct cel_value *key;

	if (again == n)
		return cel_map(ev, pairs, n);
	key = &pairs[2 * again];
	cel_value_text(ev, key, &b);
	return cel_errorf(ev, "insert failed: key %.*s already exists", STR_ARG(buf_str(&b)));
}

struct cel_value cel_map_literal(struct cel_eval *ev, const struct cel_value *pairs, size_t n,
				 const bool *optionals)
{
	struct cel_value *copy = cel_alloc(ev, n * sizeof(*copy)), *value;
	size_t count = 0;

	if (!copy)
		return cel_too_large();
	for (size_t i = 0; i < n; i += 2) {
		copy[count] = pairs[i];
		value = &copy[count + 1];
		*value = pairs[i + 1];
		if (!present(ev, optionals, i / 2, value, "entry"))
			continue;
		if (cel_is_error(*value))
			return *value;
		if (!is_key(&copy[count]))
			return cel_errorf(ev, "unsupported key type: %.*s",
					  STR_ARG(cel_value_type(&copy[count])->name));
		count += 2;
	}
	if (repeated(ev, copy, count / 2) != count / 2)
		return cel_errorf(ev, "Failed with repeated key");
	return cel_map(ev, copy, count / 2);
}

static const struct cel_ins *machine_build_finish(struct cel_machine *m, const struct cel_ins *ins,
						  struct cel_value result)
{
	m->sp -= ins->n;
	*m->sp++ = result;
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_list(struct cel_machine *m, const struct cel_ins *ins)
{
	return machine_build_finish(m, ins,
				    cel_list_literal(m->ev, m->sp - ins->n, ins->n, ins->p));
}

const struct cel_ins *cel_op_map(struct cel_machine *m, const struct cel_ins *ins)
{
	return machine_build_finish(m, ins, cel_map_literal(m->ev, m->sp - ins->n, ins->n, ins->p));
}

/* Fields that are not there are left out, names and values alike. */
static struct cel_value struct_literal(struct cel_eval *ev, const struct cel_literal *literal,
				       const struct cel_value *values, size_t n)
{
	struct cel_value *copy = cel_alloc(ev, n * sizeof(*copy));
	struct str *fields = cel_alloc(ev, n * sizeof(*fields));
	size_t count = 0;

	if (!copy || !fields)
		return cel_too_large();
	for (size_t i = 0; i < n; i++) {
		copy[count] = values[i];
		fields[count] = literal->fields[i];
		if (!present(ev, literal->optionals, i, &copy[count], "entry"))
			continue;
		if (cel_is_error(copy[count]))
			return copy[count];
		count++;
	}
	return cel_wellknown_make(ev, literal->type, fields, copy, count);
}

const struct cel_ins *cel_op_struct(struct cel_machine *m, const struct cel_ins *ins)
{
	return machine_build_finish(m, ins, struct_literal(m->ev, ins->p, m->sp - ins->n, ins->n));
}
