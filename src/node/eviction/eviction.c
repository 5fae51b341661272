/*
 * Decisions in upstream's order: thresholds that are met, those that were acted on and are not
 * resolved, conditions of the Node, thresholds whose grace period is over, the most urgent of them.
 */
#include "node/eviction/eviction.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json/quantity.h"

/* --- thresholds --------------------------------------------------------------------- */

static bool threshold_is_met(const struct eviction_threshold *t, const struct eviction_figure *f,
			     bool with_reclaim)
{
	int64_t wanted;

	if (!f->known)
		return false;
	wanted = eviction_amount_at(&t->amount, f->capacity);
	if (with_reclaim) {
		int64_t more = eviction_amount_at(&t->reclaim, f->capacity);

		wanted = wanted > INT64_MAX - more ? INT64_MAX : wanted + more;
	}
	return f->available < wanted;
}

static bool condition_note(bool met, bool before, int64_t *at, int64_t transition_ms,
			   int64_t now_ms)
{
	if (met)
		*at = now_ms;
	return met || (before && now_ms - *at < transition_ms);
}

/* Memory is the most urgent; else the order of the configuration counts. */
static bool threshold_precedes(const struct eviction_threshold *a,
			       const struct eviction_threshold *b)
{
	return !b || (a->signal == EVICTION_MEMORY && b->signal != EVICTION_MEMORY);
}

const struct eviction_threshold *eviction_look(struct eviction_state *s,
					       const struct eviction_config *c,
					       const struct eviction_figure *figures,
					       int64_t now_ms)
{
	const struct eviction_threshold *first = NULL;
	bool memory = false, disk = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct eviction_threshold *t = &c->v[i];
		bool met = threshold_is_met(t, &figures[t->signal], s->due[i]);

		if (met && !s->met[i])
			s->met_at[i] = now_ms;
		s->met[i] = met;
		s->due[i] = met && (!t->soft || now_ms - s->met_at[i] >= t->grace_ms);
		memory |= met && t->signal == EVICTION_MEMORY;
		disk |= met && t->signal != EVICTION_MEMORY;
		if (s->due[i] && threshold_precedes(t, first))
			first = t;
	}
	s->memory = condition_note(memory, s->memory, &s->memory_at, c->transition_ms, now_ms);
	s->disk = condition_note(disk, s->disk, &s->disk_at, c->transition_ms, now_ms);
	return first;
}

bool eviction_relieved(const struct eviction_config *c, const struct eviction_figure *figures)
{
	for (size_t i = 0; i < c->n; i++) {
		if (threshold_is_met(&c->v[i], &figures[c->v[i].signal], true))
			return false;
	}
	return true;
}

/* --- pods --------------------------------------------------------------------------- */

/* Subtracts without overflow. */
static int64_t above(int64_t used, int64_t request)
{
	if (request < 0 && used > INT64_MAX + request)
		return INT64_MAX;
	return used - request;
}

static int order_flag(bool a, bool b)
{
	return a == b ? 0 : a ? -1 : 1;
}

static int order_larger(int64_t a, int64_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int order_by(const struct eviction_pod *a, const struct eviction_pod *b, int64_t above_a,
		    int64_t above_b)
{
	int r = order_flag(!a->known, !b->known);

	if (r == 0 && a->known)
		r = order_flag(above_a > 0, above_b > 0);
	if (r == 0)
		r = -order_larger(a->priority, b->priority);
	return r == 0 && a->known ? order_larger(above_a, above_b) : r;
}

static int order_memory(const void *x, const void *y)
{
	const struct eviction_pod *a = x, *b = y;

	return order_by(a, b, above(a->memory, a->memory_request),
			above(b->memory, b->memory_request));
}

static int order_disk(const void *x, const void *y)
{
	const struct eviction_pod *a = x, *b = y;

	return order_by(a, b, above(a->disk, a->disk_request), above(b->disk, b->disk_request));
}

/* Nobody requests inodes. */
static int order_inodes(const void *x, const void *y)
{
	const struct eviction_pod *a = x, *b = y;

	return order_by(a, b, a->inodes, b->inodes);
}

void eviction_rank(struct eviction_pod *pods, size_t n, enum eviction_signal signal)
{
	int (*order)(const void *, const void *) = order_disk;

	if (signal == EVICTION_MEMORY)
		order = order_memory;
	else if (signal == EVICTION_NODEFS_INODES || signal == EVICTION_IMAGEFS_INODES)
		order = order_inodes;
	if (n > 1)
		qsort(pods, n, sizeof(pods[0]), order);
}

const struct eviction_pod *eviction_pick(const struct eviction_pod *pods, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!pods[i].critical)
			return &pods[i];
	}
	return NULL;
}

/* --- texts -------------------------------------------------------------------------- */

static void put_amount(struct buf *out, int64_t value, bool bytes)
{
	(void)quantity_print(quantity_of(value, bytes ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI),
			     out);
}

static void put_container(struct buf *out, struct str name, int64_t used, int64_t request,
			  const char *resource)
{
	if (used < 0 || used <= request)
		return;
	(void)buf_printf(out, "Container %.*s was using ", STR_ARG(name));
	put_amount(out, used, true);
	(void)buf_addz(out, ", request is ");
	put_amount(out, request, true);
	(void)buf_printf(out, ", has larger consumption of %s. ", resource);
}

void eviction_message(const struct eviction_pod *pod, const struct eviction_threshold *t,
		      const struct eviction_figure *figure, struct buf *out)
{
	const char *resource = eviction_resource(t->signal);
	bool inodes = strcmp(resource, "inodes") == 0;

	(void)buf_printf(out, "The node was low on resource: %s. Threshold quantity: ", resource);
	put_amount(out, eviction_amount_at(&t->amount, figure->capacity), !inodes);
	(void)buf_addz(out, ", available: ");
	put_amount(out, figure->available, !inodes);
	(void)buf_addz(out, ". ");
	for (size_t i = 0; i < pod->ncontainers && pod->known && !inodes; i++) {
		const struct eviction_container *c = &pod->containers[i];

		if (t->signal == EVICTION_MEMORY)
			put_container(out, c->name, c->memory, c->memory_request, resource);
		else
			put_container(out, c->name, c->disk, c->disk_request, resource);
	}
}

bool eviction_admits(bool memory, bool disk, bool critical, bool best_effort, bool tolerates,
		     char ret_message[static 128])
{
	if ((!memory && !disk) || critical)
		return true;
	if (memory && !disk && (!best_effort || tolerates))
		return true;
	(void)snprintf(ret_message, 128, "The node had condition: [%s%s%s]. ",
		       memory ? "MemoryPressure" : "", memory && disk ? " " : "",
		       disk ? "DiskPressure" : "");
	return false;
}
