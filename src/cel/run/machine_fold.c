/*
 * Folds. A list that grows by one element per step is built in place, so that map() and
 * filter() are linear; a map likewise, whose keys are compared once at the end.
 *
 * The first value of an accumulator is computed when it is first asked for, as cel-go
 * does: cel.bind(x, costly, false && x) costs nothing. Its code is a subroutine that
 * returns to the instruction that asked, kept in the slot meanwhile.
 */
#include "cel/run/machine.h"

/* A list or the entries of a map in the making. */
struct building {
	struct cel_built_list list; /* first: values point here */
	size_t cap;
};

enum { BUILDING_FIRST = 8 };

/* --- ranges ------------------------------------------------------------------------- */

/* Returns the error of a fold over a value that is not a list or map. */
static struct cel_value not_iterable(struct cel_eval *ev, const struct cel_value *range, bool two)
{
	static const char *const names[CEL_KINDS] = {
		[CEL_NULL] = "types.Null",
		[CEL_BOOL] = "types.Bool",
		[CEL_INT] = "types.Int",
		[CEL_UINT] = "types.Uint",
		[CEL_DOUBLE] = "types.Double",
		[CEL_STRING] = "types.String",
		[CEL_BYTES] = "types.Bytes",
		[CEL_TIMESTAMP] = "types.Timestamp",
		[CEL_DURATION] = "types.Duration",
		[CEL_TYPE] = "*types.Type",
		[CEL_OPTIONAL] = "*types.Optional",
		[CEL_QUANTITY] = "cel.Quantity",
		[CEL_SEMVER] = "cel.Semver",
		[CEL_IP] = "cel.IP",
		[CEL_CIDR] = "cel.CIDR",
		[CEL_URL] = "cel.URL",
		[CEL_FORMAT] = "*cel.Format",
	};
	const char *name = names[range->kind] ? names[range->kind] : "object";

	if (two)
		return cel_errorf(ev, "unsupported comprehension range type: %s", name);
	return cel_errorf(ev, "got '%s', expected iterable type", name);
}

/* Takes the range from the stack; false leaves an error there. to2: two variables. */
static bool machine_fold_begin(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1, *slots = m->slots + ins->n;

	if (top->kind != CEL_LIST && top->kind != CEL_MAP) {
		if (top->kind != CEL_ERROR)
			*top = not_iterable(m->ev, top, ins->to2);
		return false;
	}
	slots[CEL_FOLD_RANGE] = *top;
	slots[CEL_FOLD_AT].u = 0;
	slots[CEL_FOLD_SIZE].u = top->kind == CEL_LIST ? cel_list_size(top) : 0;
	m->sp--;
	return true;
}

const struct cel_ins *cel_op_fold_begin(struct cel_machine *m, const struct cel_ins *ins)
{
	if (!machine_fold_begin(m, ins))
		return ins + ins->to;
	if (ins->p)
		m->slots[ins->n] = *(const struct cel_value *)ins->p;
	else
		m->slots[ins->n].kind = CEL_UNSET;
	return ins + 1;
}

const struct cel_ins *cel_op_fold_build(struct cel_machine *m, const struct cel_ins *ins)
{
	struct building *b;

	if (!machine_fold_begin(m, ins))
		return ins + ins->to;
	b = cel_alloc(m->ev, sizeof(*b));
	if (b) {
		*b = (struct building){ .cap = 0 };
		m->slots[ins->n] = (struct cel_value){ .kind = CEL_LIST,
						       .list = { &cel_built_list_class, b } };
	} else {
		m->slots[ins->n] = cel_too_large();
	}
	return ins + 1;
}

/* The next element and its index, or key and value. */
static inline bool advance(struct cel_machine *m, struct cel_value *slots,
			   struct cel_value *ret_first, struct cel_value *ret_second)
{
	const struct cel_value *range = &slots[CEL_FOLD_RANGE], *items;
	size_t at = slots[CEL_FOLD_AT].u;
	bool more;

	if (range->kind == CEL_MAP) {
		more = cel_map_next(m->ev, range, &at, ret_first, ret_second);
		slots[CEL_FOLD_AT].u = at;
		return more;
	}
	if (at >= slots[CEL_FOLD_SIZE].u)
		return false;
	slots[CEL_FOLD_AT].u = at + 1;
	items = cel_list_items(range);
	*ret_first = CEL_INT_V((int64_t)at);
	*ret_second = items ? items[at] : cel_list_at(m->ev, range, at);
	return true;
}

/* Steps of a loop may cost nothing, however long it is. */
static inline bool iterate(struct cel_machine *m, const struct cel_ins *ins)
{
	return cel_work(m->ev, 1 + (uint32_t)ins->to / 4);
}

const struct cel_ins *cel_op_fold_next(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *slots = m->slots + ins->n, first, second;

	if (!advance(m, slots, &first, &second))
		return ins + ins->to;
	if (UNLIKELY(!iterate(m, ins)))
		return NULL;
	slots[CEL_FOLD_VAR] = slots[CEL_FOLD_RANGE].kind == CEL_MAP ? first : second;
	return ins + 1;
}

const struct cel_ins *cel_op_fold_next2(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *slots = m->slots + ins->n;

	if (!advance(m, slots, &slots[CEL_FOLD_VAR], &slots[CEL_FOLD_VAR2]))
		return ins + ins->to;
	if (UNLIKELY(!iterate(m, ins)))
		return NULL;
	return ins + 1;
}

const struct cel_ins *cel_op_fold_test(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_value *top = --m->sp;

	return ins + (top->kind == CEL_BOOL && !top->b ? ins->to : 1);
}

const struct cel_ins *cel_op_fold_step(struct cel_machine *m, const struct cel_ins *ins)
{
	m->slots[ins->n] = *--m->sp;
	return ins + ins->to;
}

/* --- first values ------------------------------------------------------------------- */

const struct cel_ins *cel_op_unset(struct cel_machine *m, const struct cel_ins *ins)
{
	m->slots[ins->n].kind = CEL_UNSET;
	return ins + ins->to;
}

const struct cel_ins *cel_op_lazy(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *slot = &m->slots[ins->n];

	if (slot->kind == CEL_UNSET) {
		*slot = (struct cel_value){ .kind = CEL_PENDING, .list = { NULL, ins } };
		return ins + ins->to;
	}
	*m->sp++ = *slot;
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_lazy_store(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_ins *back = m->slots[ins->n].list.self;

	m->slots[ins->n] = *--m->sp;
	return back;
}

/* --- building in place -------------------------------------------------------------- */

const struct cel_ins *cel_op_charge(struct cel_machine *m, const struct cel_ins *ins)
{
	return cel_next(m, ins, ins->cost);
}

/* Appends n values; false without memory. */
static bool machine_fold_append(struct cel_eval *ev, struct building *b,
				const struct cel_value *values, size_t n)
{
	struct cel_value *items = (struct cel_value *)(uintptr_t)b->list.items;

	if (b->cap - b->list.n < n) {
		size_t cap = MAX(b->cap * 2, MAX(b->list.n + n, (size_t)BUILDING_FIRST));

		items = cel_alloc(ev, cap * sizeof(*items));
		if (!items)
			return false;
		(void)cel_work(ev, b->list.n);
		if (b->list.n > 0)
			memcpy(items, b->list.items, b->list.n * sizeof(*items));
		b->list.items = items;
		b->cap = cap;
	}
	memcpy(items + b->list.n, values, n * sizeof(*values));
	b->list.n += n;
	return true;
}

/* Appends n values to the accumulator, which becomes an error otherwise. */
static void accumulate(struct cel_machine *m, struct cel_value *accu,
		       const struct cel_value *values, size_t n)
{
	if (!machine_fold_append(m->ev, (struct building *)(uintptr_t)accu->list.self, values, n))
		*accu = cel_too_large();
}

const struct cel_ins *cel_op_append(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *accu = &m->slots[ins->n];
	const struct cel_value *v = --m->sp;

	if (LIKELY(accu->kind != CEL_ERROR)) {
		if (UNLIKELY(v->kind == CEL_ERROR))
			*accu = *v;
		else
			accumulate(m, accu, v, 1);
	}
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_build_guard(struct cel_machine *m, const struct cel_ins *ins)
{
	bool error = m->slots[ins->n].kind == CEL_ERROR;

	return cel_jump(m, ins + (error ? ins->to : 1), ins->cost);
}

/* Key and value; the key is no error, which is not evaluated further than that. */
const struct cel_ins *cel_op_insert(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *accu = &m->slots[ins->n], *pair = m->sp - 2;

	m->sp -= 2;
	if (UNLIKELY(pair[1].kind == CEL_ERROR))
		*accu = pair[1];
	else
		accumulate(m, accu, pair, 2);
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_insert_all(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *accu = &m->slots[ins->n], pair[2];
	const struct cel_value *map = --m->sp;
	size_t at = 0;

	if (UNLIKELY(accu->kind == CEL_ERROR))
		return cel_next(m, ins, ins->cost);
	if (map->kind == CEL_ERROR)
		*accu = *map;
	else if (map->kind != CEL_MAP)
		*accu = cel_no_overload(m->ev);
	else
		while (accu->kind != CEL_ERROR && cel_map_next(m->ev, map, &at, &pair[0], &pair[1]))
			accumulate(m, accu, pair, 2);
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_build_choose(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_value *top = --m->sp;

	if (LIKELY(top->kind == CEL_BOOL))
		return ins + (top->b ? 1 : ins->to);
	m->slots[ins->n] = cel_not_bool(m->ev, *top);
	return ins + ins->to2;
}

const struct cel_ins *cel_op_build_map(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *accu = &m->slots[ins->n];
	const struct building *b = accu->list.self;

	if (accu->kind != CEL_ERROR)
		*accu = cel_map_of_pairs(m->ev, b->list.items, b->list.n / 2);
	return ins + 1;
}
