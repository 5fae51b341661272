/*
 * Three walks over the places: to manage, to replace and to count. Each is upstream's switch over
 * the state of one node, cut into functions.
 */
#include "controller/daemon_set/plan.h"

#include "controller/daemon_set/backoff.h"

#include <stdlib.h>

/* --- pods ------------------------------------------------------------------------------------ */

static int compare_pods(const void *a, const void *b)
{
	const struct daemon_pod *x = *(const struct daemon_pod *const *)a;
	const struct daemon_pod *y = *(const struct daemon_pod *const *)b;

	if (x->bound != y->bound)
		return x->bound ? -1 : 1;
	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? -1 : 1;
	return str_cmp(x->name, y->name);
}

void daemon_pods_sort(const struct daemon_pod **pods, size_t n)
{
	if (n > 1)
		qsort(pods, n, sizeof(*pods), compare_pods);
}

static bool is_current(const struct daemon_plan *p, const struct daemon_pod *pod)
{
	return p->revision.n > 0 && str_eq(pod->revision, p->revision);
}

/* If only time is missing, *ret_wait_ns (may be NULL) is how long. */
static bool plan_available(const struct daemon_plan *p, const struct daemon_pod *pod,
			   int64_t *ret_wait_ns)
{
	int64_t wait = 0;

	if (pod->ready && p->spec->min_ready_s > 0 && pod->ready_ns)
		wait = pod->ready_ns + p->spec->min_ready_s * 1000000000 - p->now_ns;
	if (ret_wait_ns)
		*ret_wait_ns = MAX(wait, 0);
	return pod->ready && (p->spec->min_ready_s <= 0 || (pod->ready_ns && wait <= 0));
}

/* --- the spec -------------------------------------------------------------------------------- */

static bool read_percent(struct str text, int64_t *ret_percent)
{
	return str_ends(text, STR("%")) && str_to_i64(str_of(text.p, text.n - 1), ret_percent);
}

int64_t daemon_scaled(const struct json *value, size_t of)
{
	int64_t n = 0;

	if (json_is(value, JSON_STRING)) {
		if (!read_percent(json_str(value), &n) || n < 0)
			return 0;
		n = (MIN(n, 100) * (int64_t)MIN(of, (size_t)INT32_MAX) + 99) / 100;
	} else if (!json_i64(value, &n)) {
		return 0;
	}
	return n < 0 ? 0 : MIN(n, (int64_t)INT32_MAX);
}

void daemon_spec_read(const struct json *spec, struct daemon_spec *ret)
{
	const struct json *strategy = json_getz(spec, "updateStrategy");
	const struct json *rolling = json_getz(strategy, "rollingUpdate");
	int64_t min_ready = json_i64_at(spec, "minReadySeconds", 0);

	*ret = (struct daemon_spec){
		.rolling = str_eqz(json_text_at(strategy, "type"), "RollingUpdate"),
		.min_ready_s = MIN(MAX(min_ready, 0), (int64_t)INT32_MAX),
	};
	if (ret->rolling) {
		ret->max_unavailable = json_getz(rolling, "maxUnavailable");
		ret->max_surge = json_getz(rolling, "maxSurge");
	}
}

/* --- results --------------------------------------------------------------------------------- */

static size_t count_pods(const struct daemon_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nplaces; i++)
		n += p->places[i].n;
	return n;
}

static void plan_begin(struct daemon_plan *p)
{
	p->creations = ARENA_ARRAY(p->arena, const struct daemon_place *, p->nplaces);
	p->deletions = ARENA_ARRAY(p->arena, struct daemon_deletion, count_pods(p));
	p->ncreations = p->ndeletions = 0;
	p->wait_ms = 0;
}

static void plan_create(struct daemon_plan *p, const struct daemon_place *place)
{
	p->creations[p->ncreations++] = place;
}

static void plan_delete(struct daemon_plan *p, const struct daemon_pod *pod,
			enum daemon_reason reason)
{
	p->deletions[p->ndeletions++] = (struct daemon_deletion){ pod, reason };
}

/* --- managing -------------------------------------------------------------------------------- */

struct managing {
	struct daemon_plan *plan;
	struct daemon_backoff *backoff;
	int64_t now_ms;
	const struct daemon_pod **running; /* of one place */
	size_t n;
};

static void delete_failed(struct managing *m, const struct daemon_pod *pod, struct str node)
{
	int64_t wait = daemon_backoff_take(m->backoff, node, m->now_ms);
	int64_t *soonest = &m->plan->wait_ms;

	if (wait == 0)
		plan_delete(m->plan, pod, DAEMON_FAILED);
	else
		*soonest = *soonest ? MIN(*soonest, wait) : wait;
}

/* Deletes what has ended, and lists what runs. */
static void sort_out_pods(struct managing *m, const struct daemon_place *place)
{
	m->n = 0;
	for (size_t i = 0; i < place->n; i++) {
		const struct daemon_pod *pod = place->pods[i];

		if (pod->deleting)
			continue;
		if (pod->failed)
			delete_failed(m, pod, place->node);
		else if (pod->succeeded)
			plan_delete(m->plan, pod, DAEMON_SUCCEEDED);
		else
			m->running[m->n++] = pod;
	}
}

/* An old and a new pod may run side by side until the new one is available. */
static void prune_surge(struct managing *m)
{
	const struct daemon_pod *current = NULL, *old = NULL;

	for (size_t i = 0; i < m->n; i++) {
		const struct daemon_pod **first = is_current(m->plan, m->running[i]) ? &current
										     : &old;

		if (*first)
			plan_delete(m->plan, m->running[i], DAEMON_REPLACED);
		else
			*first = m->running[i];
	}
	if (current && old && (!old->ready || plan_available(m->plan, current, NULL)))
		plan_delete(m->plan, old, DAEMON_REPLACED);
}

static void keep_place(struct managing *m, const struct daemon_place *place)
{
	bool surge = daemon_scaled(m->plan->spec->max_surge, 1) > 0;

	sort_out_pods(m, place);
	if (m->n == 0 && surge && place->fit == DAEMON_RUNS)
		plan_create(m->plan, place);
	else if (m->n > 1 && surge)
		prune_surge(m);
	for (size_t i = 1; i < m->n && !surge; i++)
		plan_delete(m->plan, m->running[i], DAEMON_REPLACED);
}

static void manage_place(struct managing *m, const struct daemon_place *place)
{
	if (place->fit == DAEMON_RUNS && place->n == 0) {
		plan_create(m->plan, place);
	} else if (place->fit != DAEMON_UNFIT) {
		keep_place(m, place);
	} else {
		/* Bound pods of a node that is gone are the pod garbage collector's. */
		for (size_t i = 0; i < place->n; i++) {
			if (place->exists ? !place->pods[i]->deleting : !place->pods[i]->bound)
				plan_delete(m->plan, place->pods[i], DAEMON_REPLACED);
		}
	}
}

void daemon_plan_manage(struct daemon_plan *p, struct daemon_backoff *backoff, int64_t now_ms)
{
	struct managing m = { .plan = p, .backoff = backoff, .now_ms = now_ms };

	plan_begin(p);
	m.running = ARENA_ARRAY(p->arena, const struct daemon_pod *, count_pods(p));
	for (size_t i = 0; i < p->nplaces; i++)
		manage_place(&m, &p->places[i]);
}

/* --- replacing ------------------------------------------------------------------------------- */

struct replacing {
	struct daemon_plan *plan;
	int64_t max_unavailable, max_surge, desired;
	int64_t unavailable, available, surging;
	/* Possible if the limits allow: old pods to delete, places for new ones. */
	const struct daemon_pod **candidates, **misplaced;
	const struct daemon_place **places;
	size_t ncandidates, nmisplaced, nplaces;
};

/* The pods of a place; false if it has several of one kind, which managing will delete. */
static bool pods_of(const struct daemon_plan *p, const struct daemon_place *place,
		    const struct daemon_pod **ret_current, const struct daemon_pod **ret_old)
{
	*ret_current = *ret_old = NULL;
	for (size_t i = 0; i < place->n; i++) {
		const struct daemon_pod *pod = place->pods[i];
		const struct daemon_pod **at = is_current(p, pod) ? ret_current : ret_old;

		if (pod->deleting)
			continue;
		if (*at)
			return false;
		*at = pod;
	}
	return true;
}

static void replace_in_place(struct replacing *r, const struct daemon_place *place)
{
	const struct daemon_pod *current, *old;

	if (!pods_of(r->plan, place, &current, &old) || !current == !old) {
		r->unavailable++;
	} else if (current) {
		r->unavailable += !plan_available(r->plan, current, NULL);
	} else if (!plan_available(r->plan, old, NULL)) {
		plan_delete(r->plan, old, DAEMON_REPLACED);
		r->unavailable++;
	} else {
		r->candidates[r->ncandidates++] = old;
	}
}

static void finish_in_place(struct replacing *r)
{
	int64_t left = r->max_unavailable - r->unavailable;

	for (size_t i = 0; i < r->ncandidates && left > 0; i++, left--)
		plan_delete(r->plan, r->candidates[i], DAEMON_REPLACED);
}

/* There is an old pod only. */
static void surge_beside(struct replacing *r, const struct daemon_place *place,
			 const struct daemon_pod *old)
{
	bool works = plan_available(r->plan, old, NULL);

	if (place->fit != DAEMON_RUNS) {
		if (works)
			r->misplaced[r->nmisplaced++] = old;
		else
			plan_delete(r->plan, old, DAEMON_REPLACED);
	} else if (works) {
		r->places[r->nplaces++] = place;
	} else {
		plan_create(r->plan, place);
	}
}

static void surge_place(struct replacing *r, const struct daemon_place *place)
{
	const struct daemon_pod *current, *old;

	if (!pods_of(r->plan, place, &current, &old)) {
		r->surging++;
		return;
	}
	if (current || old)
		r->available += plan_available(r->plan, old ? old : current, NULL);
	if (!old)
		return;
	if (!current)
		surge_beside(r, place, old);
	else if (plan_available(r->plan, current, NULL))
		plan_delete(r->plan, old, DAEMON_REPLACED);
	else
		r->surging++;
}

/* A pod on a node that is no longer wanted stays until another node has an available one. */
static void finish_surge(struct replacing *r)
{
	int64_t spare = r->available - r->desired, left = r->max_surge - r->surging;

	for (size_t i = 0; i < r->nmisplaced && spare > 0; i++, spare--)
		plan_delete(r->plan, r->misplaced[i], DAEMON_REPLACED);
	for (size_t i = 0; i < r->nplaces && left > 0; i++, left--)
		plan_create(r->plan, r->places[i]);
}

/* If both limits are zero, which the server rejects, one pod may be unavailable. */
static void read_limits(struct replacing *r)
{
	const struct daemon_plan *p = r->plan;

	for (size_t i = 0; i < p->nplaces; i++)
		r->desired += p->places[i].fit == DAEMON_RUNS;
	r->max_unavailable = daemon_scaled(p->spec->max_unavailable, (size_t)r->desired);
	r->max_surge = daemon_scaled(p->spec->max_surge, (size_t)r->desired);
	if (r->max_unavailable == 0 && r->max_surge == 0)
		r->max_unavailable = 1;
}

void daemon_plan_roll(struct daemon_plan *p)
{
	struct replacing r = { .plan = p };

	plan_begin(p);
	if (!p->spec->rolling)
		return;
	read_limits(&r);
	r.candidates = ARENA_ARRAY(p->arena, const struct daemon_pod *, count_pods(p));
	r.misplaced = ARENA_ARRAY(p->arena, const struct daemon_pod *, count_pods(p));
	r.places = ARENA_ARRAY(p->arena, const struct daemon_place *, p->nplaces);
	for (size_t i = 0; i < p->nplaces; i++) {
		if (p->places[i].n == 0 && p->places[i].fit != DAEMON_RUNS)
			continue;
		if (r.max_surge == 0)
			replace_in_place(&r, &p->places[i]);
		else
			surge_place(&r, &p->places[i]);
	}
	if (r.max_surge == 0)
		finish_in_place(&r);
	else
		finish_surge(&r);
}

/* --- counting -------------------------------------------------------------------------------- */

static void count_place(const struct daemon_plan *p, const struct daemon_place *place,
			struct daemon_status *s)
{
	const struct daemon_pod *pod = place->n > 0 ? place->pods[0] : NULL;
	int64_t wait;

	if (place->fit != DAEMON_RUNS) {
		s->misscheduled += place->exists && pod;
		return;
	}
	s->desired++;
	if (!pod)
		return;
	s->current++;
	s->ready += pod->ready;
	s->available += plan_available(p, pod, &wait);
	if (wait > 0)
		s->wait_ns = s->wait_ns ? MIN(s->wait_ns, wait) : wait;
	s->updated += is_current(p, pod);
}

void daemon_plan_status(const struct daemon_plan *p, struct daemon_status *ret)
{
	struct daemon_status s = { 0 };

	for (size_t i = 0; i < p->nplaces; i++)
		count_place(p, &p->places[i], &s);
	s.unavailable = s.desired - s.available;
	*ret = s;
}
