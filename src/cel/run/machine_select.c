/*
 * Fields, keys and indexes. Selecting from an optional yields an optional. Once a part is missing,
 * the rest of such a path is not evaluated and costs nothing.
 *
 * A step costs one unit, or nothing if an optional step finds nothing. `cost` of an instruction is
 * the additional cost of a path that does not begin at a variable; it is always charged. `n` of a
 * step that is not optional itself: its operand must have parts, even inside an optional.
 */
#include "cel/run/machine.h"

static inline bool is_nothing(const struct cel_value *v)
{
	return v->kind == CEL_ERROR && !v->error;
}

/* One step from the top, which is replaced. `optional`: what is missing is no error. */
static const struct cel_ins *maybe(struct cel_machine *m, const struct cel_ins *ins,
				   struct cel_value *top, const struct cel_value *key)
{
	struct cel_value found, from = *top;

	if (from.kind == CEL_OPTIONAL) {
		if (!from.optional)
			return cel_next(m, ins, ins->cost);
		from = *from.optional;
	}
	found = cel_qualify(m->ev, &from, key);
	if (UNLIKELY(ins->n && !cel_has_parts(&from)))
		found = cel_missing(m->ev, &from, key);
	if (found.kind != CEL_ERROR) {
		*top = cel_optional(m->ev, found);
		return cel_next(m, ins, ins->cost + 1);
	}
	*top = found.error ? found : cel_none();
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_select(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_key *key = ins->p;
	struct cel_value *top = m->sp - 1, found;

	if (LIKELY(top->kind == CEL_MAP))
		found = top->map.class->find(m->ev, top->map.self, &key->value);
	else if (top->kind == CEL_ERROR)
		return cel_next(m, ins, ins->cost);
	else if (top->kind == CEL_OPTIONAL)
		return maybe(m, ins, top, &key->value);
	else
		found = cel_qualify(m->ev, top, &key->value);
	if (UNLIKELY(is_nothing(&found))) {
		if (top->kind == CEL_LIST)
			found = cel_missing(m->ev, top, &key->value);
		else
			found.error = key->missing;
	}
	*top = found;
	return cel_next(m, ins, ins->cost + 1);
}

const struct cel_ins *cel_op_index(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 2, *key = m->sp - 1, found;

	m->sp--;
	if (UNLIKELY(key->kind == CEL_ERROR)) {
		uint64_t cost = top->kind == CEL_OPTIONAL ? 0 : 1;

		*top = *key;
		return cel_next(m, ins, cost);
	}
	if (UNLIKELY(top->kind == CEL_OPTIONAL))
		return maybe(m, ins, top, key);
	found = cel_qualify(m->ev, top, key);
	if (UNLIKELY(is_nothing(&found)))
		found = cel_missing(m->ev, top, key);
	*top = found;
	return cel_next(m, ins, ins->cost + 1);
}

const struct cel_ins *cel_op_opt_select(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_key *key = ins->p;
	struct cel_value *top = m->sp - 1;

	if (UNLIKELY(top->kind == CEL_ERROR))
		return cel_next(m, ins, ins->cost);
	return maybe(m, ins, top, &key->value);
}

const struct cel_ins *cel_op_opt_index(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 2, *key = m->sp - 1;

	m->sp--;
	if (UNLIKELY(key->kind == CEL_ERROR)) {
		*top = *key;
		return ins + 1;
	}
	return maybe(m, ins, top, key);
}

const struct cel_ins *cel_op_guard(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_value *top = m->sp - 1;
	bool nothing = top->kind == CEL_ERROR || (top->kind == CEL_OPTIONAL && !top->optional);

	return cel_jump(m, ins + (nothing ? ins->to : 1), ins->cost);
}

/*
 * has(): n is a unit that the path did not cost at its beginning and that free tests take
 * back nevertheless.
 */
const struct cel_ins *cel_op_has(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_key *key = ins->p;
	struct cel_value *top = m->sp - 1, from = *top, found = CEL_NOTHING;
	uint64_t cost = ins->cost;
	bool optional = from.kind == CEL_OPTIONAL;

	m->cost -= MIN(m->cost, (uint64_t)ins->n);
	if (UNLIKELY(from.kind == CEL_ERROR))
		return cel_next(m, ins, cost);
	if (optional)
		from = from.optional ? *from.optional : CEL_NULL_V;
	found = cel_qualify(m->ev, &from, &key->value);
	if (!optional || found.kind != CEL_ERROR)
		cost++;
	if (found.kind == CEL_ERROR && found.error)
		*top = found;
	else
		*top = CEL_BOOL_V(found.kind != CEL_ERROR);
	return cel_next(m, ins, cost);
}
