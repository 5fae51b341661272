/*
 * A unit is a NUMA node, a socket or a core. The units of one level are ordered by the units of the
 * level above, and within those by their number of free CPUs. Everything is computed again from the
 * set of available CPUs, because containers with exclusive CPUs are rare.
 */
#include "node/numa/cpu_pick.h"

#include <inttypes.h>

#include "base/core/mem.h"

enum level { LEVEL_NUMA, LEVEL_SOCKET, LEVEL_CORE };

struct unit {
	int id;
	int left, total; /* CPUs */
};

struct units {
	struct unit *v;
	size_t n;
};

struct pick {
	const struct machine *m;
	struct arena *a;
	struct cpu_set left, taken;
	int64_t needed;
	enum level first, second; /* the larger of node and socket, and the other */
};

static int id_at(const struct machine_cpu *c, enum level level)
{
	switch (level) {
	case LEVEL_NUMA:
		return c->numa;
	case LEVEL_SOCKET:
		return c->socket;
	case LEVEL_CORE:
		break;
	}
	return c->core;
}

static struct unit *find_unit(struct units u, int id)
{
	for (size_t i = 0; i < u.n; i++) {
		if (u.v[i].id == id)
			return &u.v[i];
	}
	return NULL;
}

static int cmp_units(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->left != y->left ? x->left - y->left : x->id - y->id;
}

/* Number of units of the level in the machine. */
static size_t count_units(const struct pick *p, enum level level)
{
	struct units u = { .v = ARENA_ARRAY(p->a, struct unit, p->m->ncpus) };

	for (size_t i = 0; i < p->m->ncpus; i++) {
		int id = id_at(&p->m->cpus[i], level);

		if (!find_unit(u, id))
			u.v[u.n++].id = id;
	}
	return u.n;
}

/* Units with free CPUs, within the unit `in` of the level above; NULL: all. */
static struct units units_in(const struct pick *p, enum level level, enum level above,
			     const struct unit *in)
{
	struct units u = { .v = ARENA_ARRAY(p->a, struct unit, p->m->ncpus) };

	for (size_t i = 0; i < p->m->ncpus; i++) {
		const struct machine_cpu *c = &p->m->cpus[i];

		if (cpu_set_has(&p->left, c->id) && (!in || id_at(c, above) == in->id) &&
		    !find_unit(u, id_at(c, level)))
			u.v[u.n++].id = id_at(c, level);
	}
	for (size_t i = 0; i < p->m->ncpus; i++) {
		struct unit *unit = find_unit(u, id_at(&p->m->cpus[i], level));

		if (!unit)
			continue;
		unit->total++;
		unit->left += cpu_set_has(&p->left, p->m->cpus[i].id);
	}
	qsort(u.v, u.n, sizeof(*u.v), cmp_units);
	return u;
}

/* All units with free CPUs, in the order in which they are taken. */
static struct units units_of(const struct pick *p, enum level level)
{
	enum level above = level == LEVEL_CORE ? p->second : p->first;
	struct units outer, u;

	if (level == p->first)
		return units_in(p, level, level, NULL);
	outer = units_of(p, above);
	u.v = ARENA_ARRAY(p->a, struct unit, p->m->ncpus);
	u.n = 0;
	for (size_t i = 0; i < outer.n; i++) {
		struct units inner = units_in(p, level, above, &outer.v[i]);

		for (size_t k = 0; k < inner.n; k++) {
			if (!find_unit(u, inner.v[k].id))
				u.v[u.n++] = inner.v[k];
		}
	}
	return u;
}

static void cpu_pick_take(struct pick *p, const struct unit *u, enum level level)
{
	for (size_t i = 0; i < p->m->ncpus && p->needed > 0; i++) {
		int id = p->m->cpus[i].id;

		if (id_at(&p->m->cpus[i], level) != u->id || !cpu_set_has(&p->left, id))
			continue;
		cpu_set_add(&p->taken, id);
		cpu_set_remove(&p->left, id);
		p->needed--;
	}
}

static void take_whole(struct pick *p, enum level level)
{
	struct units u = units_of(p, level);

	for (size_t i = 0; i < u.n; i++) {
		if (u.v[i].left == u.v[i].total && u.v[i].total <= p->needed)
			cpu_pick_take(p, &u.v[i], level);
	}
}

static void take_threads(struct pick *p)
{
	struct units u = units_of(p, LEVEL_CORE);

	for (size_t i = 0; i < u.n && p->needed > 0; i++)
		cpu_pick_take(p, &u.v[i], LEVEL_CORE);
}

int cpu_pick(const struct machine *m, const struct cpu_set *available, int64_t n, struct arena *a,
	     struct cpu_set *ret_cpus, struct error *err)
{
	struct pick p = { .m = m, .a = a, .needed = n };

	for (size_t i = 0; i < m->ncpus; i++)
		cpu_set_add(&p.left, m->cpus[i].id);
	cpu_set_and(&p.left, available);
	if (n > cpu_set_count(&p.left))
		return error_set(err, ERR_INVALID,
				 "not enough cpus available to satisfy request: requested=%" PRId64
				 ", available=%d",
				 n, cpu_set_count(&p.left));
	p.first = count_units(&p, LEVEL_SOCKET) >= count_units(&p, LEVEL_NUMA) ? LEVEL_NUMA
									       : LEVEL_SOCKET;
	p.second = p.first == LEVEL_NUMA ? LEVEL_SOCKET : LEVEL_NUMA;
	if (p.needed > 0)
		take_whole(&p, p.first);
	if (p.needed > 0)
		take_whole(&p, p.second);
	if (p.needed > 0)
		take_whole(&p, LEVEL_CORE);
	if (p.needed > 0)
		take_threads(&p);
	*ret_cpus = p.taken;
	return 0;
}
