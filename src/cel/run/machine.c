/*
 * The loop is three lines: each instruction knows the function that executes it, so that
 * adding one touches no central switch and every handler stays small. The stack is on the C
 * stack where the program is short, which nearly all are; no memory is asked for then.
 *
 * Errors travel as values, but for those of an evaluation that is over: what it costs and
 * whether it is exhausted is one comparison. && and || look at both sides before they give one
 * back; the first one wins, as everywhere.
 */
#include "cel/run/machine.h"

#include "cel/run/program_impl.h"

enum {
	SMALL_FRAME = 40, /* values: a kilobyte */
};

const struct cel_ins *cel_op_end(struct cel_machine *m, const struct cel_ins *ins)
{
	(void)m;
	(void)ins;
	return NULL;
}

const struct cel_ins *cel_op_const(struct cel_machine *m, const struct cel_ins *ins)
{
	*m->sp++ = *(const struct cel_value *)ins->p;
	return cel_next(m, ins, ins->cost);
}

/* A part that the checker rejected, in an expression without type checking. */
const struct cel_ins *cel_op_fault(struct cel_machine *m, const struct cel_ins *ins)
{
	return cel_op_const(m, ins);
}

const struct cel_ins *cel_op_var(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value v = m->vars[ins->n];

	if (UNLIKELY(v.kind == CEL_ERROR && !v.error))
		v.error = ins->p;
	*m->sp++ = v;
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_slot(struct cel_machine *m, const struct cel_ins *ins)
{
	*m->sp++ = m->slots[ins->n];
	return cel_next(m, ins, ins->cost);
}

const struct cel_ins *cel_op_jump(struct cel_machine *m, const struct cel_ins *ins)
{
	(void)m;
	return ins + ins->to;
}

/* --- logic -------------------------------------------------------------------------- */

const struct cel_ins *cel_op_and_test(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_value *top = m->sp - 1;

	return ins + (top->kind == CEL_BOOL && !top->b ? ins->to : 1);
}

const struct cel_ins *cel_op_or_test(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_value *top = m->sp - 1;

	return ins + (top->kind == CEL_BOOL && top->b ? ins->to : 1);
}

/*
 * Combines two terms of && or ||, the first of which is not decisive. `decisive` is the deciding
 * value.
 */
static inline const struct cel_ins *machine_join(struct cel_machine *m, const struct cel_ins *ins,
						 bool decisive)
{
	struct cel_value *a = m->sp - 2, *b = m->sp - 1;

	m->sp--;
	if (b->kind == CEL_BOOL && b->b == decisive) {
		*a = *b;
		return ins + ins->to;
	}
	if (UNLIKELY(a->kind != CEL_BOOL))
		*a = cel_not_bool(m->ev, *a);
	else if (UNLIKELY(b->kind != CEL_BOOL))
		*a = cel_not_bool(m->ev, *b);
	return ins + 1;
}

const struct cel_ins *cel_op_and_join(struct cel_machine *m, const struct cel_ins *ins)
{
	return machine_join(m, ins, false);
}

const struct cel_ins *cel_op_or_join(struct cel_machine *m, const struct cel_ins *ins)
{
	return machine_join(m, ins, true);
}

const struct cel_ins *cel_op_choose(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1;

	if (LIKELY(top->kind == CEL_BOOL)) {
		m->sp--;
		return ins + (top->b ? 1 : ins->to);
	}
	*top = cel_not_bool(m->ev, *top);
	return ins + ins->to2;
}

const struct cel_ins *cel_op_not(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1;

	if (LIKELY(top->kind == CEL_BOOL))
		top->b = !top->b;
	else
		*top = cel_not_bool(m->ev, *top);
	return cel_next(m, ins, 1);
}

const struct cel_ins *cel_op_not_strictly_false(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1;

	if (top->kind != CEL_BOOL)
		*top = CEL_BOOL_V(true);
	return cel_next(m, ins, 1);
}

const struct cel_ins *cel_op_strict(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1;

	if (LIKELY(top->kind != CEL_ERROR))
		return ins + 1;
	m->sp -= ins->n;
	m->sp[-1] = *top;
	return cel_jump(m, ins + ins->to, ins->cost);
}

const struct cel_ins *cel_op_opt_or(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1;

	if (top->kind == CEL_OPTIONAL && !top->optional) {
		m->sp--;
		return ins + 1;
	}
	if (top->kind != CEL_OPTIONAL)
		*top = cel_not_bool(m->ev, *top);
	return ins + ins->to;
}

const struct cel_ins *cel_op_opt_or_value(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1;

	if (top->kind == CEL_OPTIONAL && !top->optional) {
		m->sp--;
		return ins + 1;
	}
	*top = top->kind == CEL_OPTIONAL ? *top->optional : cel_not_bool(m->ev, *top);
	return ins + ins->to;
}

/* --- running ------------------------------------------------------------------------ */

static struct cel_value machine_run(struct cel_machine *m, const struct cel_ins *ins)
{
	while (ins)
		ins = ins->run(m, ins);
	m->ev->cost = m->cost;
	if (LIKELY(m->cost < m->ev->bound))
		return m->sp[-1];
	return CEL_ERROR_V(m->ev->exhausted ? m->ev->exhausted : CEL_COST_EXCEEDED);
}

struct cel_value cel_run(const struct cel_program *p, struct cel_eval *ev,
			 const struct cel_value *vars)
{
	struct cel_value small[SMALL_FRAME] UNZEROED, *frame = small;
	struct cel_machine m = {
		.ev = ev,
		.vars = vars,
		.cost = ev->cost,
	};

	ev->indexes = NULL;
	ev->work = 0;
	ev->depth = 0;
	ev->exhausted = NULL;
	ev->bound = ev->cost_limit && ev->cost_limit < UINT64_MAX ? ev->cost_limit + 1 : UINT64_MAX;
	if (p->nslots + p->nstack > SMALL_FRAME) {
		frame = cel_alloc(ev, (p->nslots + p->nstack) * sizeof(*frame));
		if (!frame)
			return cel_too_large();
	}
	m.slots = frame;
	m.sp = frame + p->nslots;
	return machine_run(&m, p->code);
}
