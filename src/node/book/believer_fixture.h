/*
 * podres_believer_fixture - for tests: a client of the book that checks its state.
 *
 * It unpacks messages and merges them into its own state ("belief"). After every message it checks
 * that nothing is with two pods and that no memory is assigned twice.
 */
#ifndef NODE_BOOK_BELIEVER_FIXTURE_H
#define NODE_BOOK_BELIEVER_FIXTURE_H

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/vec.h"
#include "node/book/held_fixture.h"
#include "node/book/podres.h"

/* Its state of one pod. */
struct belief {
	char *key; /* the uid, or the name */
	char *state; /* packed PodResources */
	size_t n;
	struct held held;
};

struct believer {
	struct podres *book; /* NULL: not connected */
	const uint64_t (*capacity)[HELD_NODES];
	bool kep; /* it knows only the KEP's fields */
	bool by_name; /* it began with a List, which has no uids */
	bool exact; /* it reads each change, and checks the action */
	bool steady; /* pods release nothing before they end, except claims */
	struct podres_cursor pods, node;
	VEC(struct belief) v;
	/* The last revision of each stream, and of the merged List. */
	int64_t last, last_node, listed;
	bool complete; /* it has received a full state, or a List */
	VEC(struct bytes *) early; /* events received before the List */
	struct bytes *answer; /* reply of a List in flight */
	char *allocatable; /* packed, without its revision; NULL: unknown */
	size_t allocatable_n;
	struct held node_held;
	bool live; /* the last event was not part of a longer catch-up */
	uint64_t messages; /* received on this connection, after the initial state */
	int64_t opened; /* the book's revision at that time */
	uint64_t catch_ups, resets, lost; /* counts */
};

static inline void believer_init(struct believer *c, const uint64_t capacity[][HELD_NODES])
{
	*c = (struct believer){ .capacity = capacity };
	vec_init(&c->v, SIZE_MAX);
	vec_init(&c->early, SIZE_MAX);
}

static inline void believer_forget(struct believer *c)
{
	for (size_t i = 0; i < c->v.n; i++) {
		free(c->v.v[i].key);
		free(c->v.v[i].state);
	}
	c->v.n = 0;
	c->complete = false;
}

static inline void believer_drop_early(struct believer *c)
{
	for (size_t i = 0; i < c->early.n; i++)
		bytes_unref(c->early.v[i]);
	c->early.n = 0;
	bytes_unref(c->answer);
	c->answer = NULL;
}

static inline void believer_release(struct believer *c)
{
	believer_forget(c);
	believer_drop_early(c);
	vec_release(&c->v);
	vec_release(&c->early);
	free(c->allocatable);
}

/* --- pods ---------------------------------------------------------------------------- */

static inline struct belief *believer_find(const struct believer *c, const char *key)
{
	for (size_t i = 0; i < c->v.n; i++) {
		if (strcmp(c->v.v[i].key, key) == 0)
			return &c->v.v[i];
	}
	return NULL;
}

static inline void believer_check(const struct believer *c)
{
	struct held all = { 0 };

	for (size_t i = 0; i < c->v.n; i++)
		held_add(&all, &c->v.v[i].held);
	held_check(&all, c->capacity);
}

static inline void believer_put(struct believer *c, const char *key,
				const Podresources__PodResources *p)
{
	struct belief *b = believer_find(c, key);

	if (!b) {
		(void)vec_push(&c->v, (struct belief){ .key = str_dup(str_from(key)) });
		b = &c->v.v[c->v.n - 1];
	}
	free(b->state);
	b->n = podresources__pod_resources__get_packed_size(p);
	b->state = xmalloc(b->n + 1);
	(void)podresources__pod_resources__pack(p, (uint8_t *)b->state);
	b->held = held_of_pod(p);
}

static inline void believer_remove(struct believer *c, struct belief *b)
{
	free(b->key);
	free(b->state);
	vec_remove_swap(&c->v, (size_t)(b - c->v.v));
}

/* A message without a pod: the end of the initial state, or a reset. */
static inline void believer_merge_empty(struct believer *c, const Podresources__PodEvent *e)
{
	assert_string_equal(e->uid, "");
	assert_false(c->kep);
	if (e->initial_end) {
		c->complete = true;
		return;
	}
	assert_int_equal(e->action, PODRESOURCES__ACTION__DELETED);
	c->resets++;
	believer_forget(c);
}

/* Checks that the action fits the known state of the pod. */
static inline void believer_check_action(const struct believer *c, const Podresources__PodEvent *e,
					 const struct belief *known)
{
	struct held now = held_of_pod(e->pod_resources[0]);
	bool names_only = e->pod_resources[0]->n_containers == 0;

	if (e->action == PODRESOURCES__ACTION__DELETED) {
		assert_true(names_only);
		assert_true(known || !c->exact);
		return;
	}
	if (c->exact && c->live)
		assert_int_equal(e->action, known ? PODRESOURCES__ACTION__UPDATED
						  : PODRESOURCES__ACTION__ADDED);
	if (c->by_name || !c->complete || !known)
		return;
	if (c->live)
		assert_int_not_equal(e->action, PODRESOURCES__ACTION__ADDED);
	/* A change either releases or gains. */
	if (c->exact && c->live)
		assert_true(held_within(&known->held, &now) || held_within(&now, &known->held));
	/* A catch-up shows a pod that has gone since without any resources. */
	if (c->steady && !names_only)
		assert_true(held_within(&known->held, &now));
}

/* Merges the event alone; its revision was checked before. */
static inline void believer_merge(struct believer *c, const Podresources__PodEvent *e)
{
	const Podresources__PodResources *p = e->n_pod_resources ? e->pod_resources[0] : NULL;
	struct belief *known;
	const char *key;

	if (!p) {
		believer_merge_empty(c, e);
		return;
	}
	assert_int_equal(e->n_pod_resources, 1);
	assert_string_equal(p->namespace_, "ns");
	assert_string_not_equal(e->uid, "");
	key = c->by_name ? p->name : e->uid;
	known = believer_find(c, key);
	believer_check_action(c, e, known);
	if (e->action != PODRESOURCES__ACTION__DELETED)
		believer_put(c, key, p);
	else if (known)
		believer_remove(c, known);
	believer_check(c);
}

/* --- connections --------------------------------------------------------------------- */

/* Opens both watches; without initial and resume, as the KEP specifies. */
static inline void believer_open(struct believer *c, struct podres *book, bool initial, bool resume)
{
	c->book = book;
	c->messages = 0;
	c->opened = podres_revision(book);
	c->last = resume ? c->last : 0;
	c->last_node = resume ? c->last_node : 0;
	podres_begin(book, &c->pods, PODRES_PODS, initial, c->last);
	podres_begin(book, &c->node, PODRES_ALLOCATABLE, initial, c->last_node);
}

/* For a client that knows only the KEP: its connection has ended, and it starts with nothing. */
static inline void believer_open_kep(struct believer *c, struct podres *book)
{
	believer_forget(c);
	believer_drop_early(c);
	free(c->allocatable);
	c->allocatable = NULL;
	c->kep = c->by_name = true;
	believer_open(c, book, false, false);
}

/* Only the last message of a catch-up has a revision to resume from: an even one. */
static inline void believer_see_revision(struct believer *c, int64_t *last, int64_t revision,
					 bool initial_end)
{
	assert_true(revision % 2 != 0 || initial_end ? revision >= *last : revision > *last);
	c->catch_ups += revision % 2 != 0 && revision != *last;
	c->messages += revision > c->opened;
	if (c->exact && revision > c->opened)
		assert_int_equal(revision % 2, 0);
	*last = revision;
}

static inline bool believer_read_pods(struct believer *c, struct arena *a)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_read(c->book, &c->pods);
	const Podresources__PodEvent *e;

	if (!b && c->pods.lost) {
		assert_true(c->kep);
		c->lost++;
		believer_open_kep(c, c->book);
		return false;
	}
	if (!b)
		return false;
	e = held_unpack(b, &podresources__pod_event__descriptor, a);
	c->live = e->revision % 2 == 0 && c->last != e->revision - 1 && e->revision > c->opened;
	believer_see_revision(c, &c->last, e->revision, e->initial_end);
	if (c->kep && !c->complete)
		(void)vec_push(&c->early, bytes_ref(b));
	if (!c->kep || !c->complete || e->revision > c->listed)
		believer_merge(c, e);
	return true;
}

static inline void believer_see_node(struct believer *c, Podresources__AllocatableResponse *m)
{
	c->node_held = held_of_node(m);
	m->revision = 0;
	free(c->allocatable);
	c->allocatable_n = podresources__allocatable_response__get_packed_size(m);
	c->allocatable = xmalloc(c->allocatable_n + 1);
	(void)podresources__allocatable_response__pack(m, (uint8_t *)c->allocatable);
}

static inline bool believer_read_node(struct believer *c, struct arena *a)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_read(c->book, &c->node);
	Podresources__AllocatableResponse m = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	const struct held before = c->node_held;
	const Podresources__AllocatableEvent *e;

	assert_false(c->node.lost);
	if (!b)
		return false;
	e = held_unpack(b, &podresources__allocatable_event__descriptor, a);
	believer_see_revision(c, &c->last_node, e->revision, e->initial_end);
	if (e->initial_end)
		return true;
	m.devices = e->devices;
	m.n_devices = e->n_devices;
	m.cpu_ids = e->cpu_ids;
	m.n_cpu_ids = e->n_cpu_ids;
	m.memory = e->memory;
	m.n_memory = e->n_memory;
	believer_see_node(c, &m);
	if (c->exact && e->revision > c->opened && e->action == PODRESOURCES__ACTION__ADDED)
		assert_true(held_within(&before, &c->node_held));
	if (c->exact && e->revision > c->opened && e->action == PODRESOURCES__ACTION__DELETED)
		assert_true(held_within(&c->node_held, &before));
	return true;
}

/* Reads at most this many messages of each stream. */
static inline void believer_read(struct believer *c, struct arena *a, size_t most)
{
	for (size_t i = 0; i < most && believer_read_pods(c, a); i++)
		;
	for (size_t i = 0; i < most && believer_read_node(c, a); i++)
		;
}

/* --- List ---------------------------------------------------------------------------- */

/* Only the newest allocatable counts. */
static inline void believer_take_allocatable(struct believer *c, struct arena *a)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_allocatable(c->book);
	Podresources__AllocatableResponse *m = held_unpack(
		b, &podresources__allocatable_response__descriptor, a);

	if (!c->allocatable || m->revision >= c->last_node)
		believer_see_node(c, m);
}

/* Merges a List with the events received before its reply. */
static inline void believer_take_list(struct believer *c, struct arena *a)
{
	const Podresources__ListResponse *m = held_unpack(
		c->answer, &podresources__list_response__descriptor, a);

	believer_take_allocatable(c, a);
	believer_forget(c);
	c->listed = m->revision;
	c->complete = true;
	for (size_t i = 0; i < m->n_pod_resources; i++) {
		assert_null(believer_find(c, m->pod_resources[i]->name));
		believer_put(c, m->pod_resources[i]->name, m->pod_resources[i]);
	}
	believer_check(c);
	for (size_t i = 0; i < c->early.n; i++) {
		const Podresources__PodEvent *e = held_unpack(
			c->early.v[i], &podresources__pod_event__descriptor, a);

		if (e->revision > c->listed)
			believer_merge(c, e);
	}
	believer_drop_early(c);
}

/* A client that knows only the KEP requests a List now, or takes the reply of the one in flight. */
static inline void believer_list(struct believer *c, struct arena *a)
{
	if (c->answer)
		believer_take_list(c, a);
	else if (!c->complete)
		c->answer = podres_list(c->book);
}

/* Starts with the two replies and opens both watches after them: nothing is sent twice. */
static inline void believer_open_after_list(struct believer *c, struct podres *book,
					    struct arena *a)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_allocatable(book);
	const Podresources__AllocatableResponse *m = held_unpack(
		b, &podresources__allocatable_response__descriptor, a);

	believer_drop_early(c);
	c->book = book;
	c->by_name = true;
	c->answer = podres_list(book);
	c->last_node = m->revision;
	believer_take_allocatable(c, a);
	believer_take_list(c, a);
	c->last = c->listed;
	believer_open(c, book, false, true);
}

/* Checks that its state of the pod equals List's. */
static inline void believer_check_pod(const struct believer *c, const Podresources__PodResources *p)
{
	size_t n = podresources__pod_resources__get_packed_size(p), found = 0;
	char *state = xmalloc(n + 1);

	(void)podresources__pod_resources__pack(p, (uint8_t *)state);
	for (size_t i = 0; i < c->v.n; i++)
		found += str_eq(str_of(state, n), str_of(c->v.v[i].state, c->v.v[i].n));
	free(state);
	if (found != 1)
		fail_msg("%zu of %zu pods are as List says of %s", found, c->v.n, p->name);
}

static inline void believer_check_list(const struct believer *c, struct arena *a)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_list(c->book);
	const Podresources__ListResponse *m = held_unpack(
		b, &podresources__list_response__descriptor, a);

	assert_int_equal(m->revision, podres_revision(c->book));
	assert_int_equal(m->n_pod_resources, c->v.n);
	for (size_t i = 0; i < c->v.n; i++)
		believer_check_pod(c, m->pod_resources[i]);
}

static inline void believer_check_allocatable(struct believer *c, struct arena *a)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_allocatable(c->book);
	struct believer other;

	believer_init(&other, c->capacity);
	believer_see_node(&other,
			  held_unpack(b, &podresources__allocatable_response__descriptor, a));
	assert_int_equal(other.allocatable_n, c->allocatable_n);
	assert_memory_equal(other.allocatable, c->allocatable, c->allocatable_n);
	believer_release(&other);
}

/* Reads until it is up to date; then its state must equal List and allocatable. */
static inline void believer_settle(struct believer *c, struct arena *a)
{
	believer_read(c, a, SIZE_MAX);
	while (c->kep && !c->complete)
		believer_list(c, a);
	believer_read(c, a, SIZE_MAX);
	assert_true(c->complete);
	assert_int_equal(podres_backlog(c->book, &c->pods), 0);
	assert_int_equal(podres_backlog(c->book, &c->node), 0);
	believer_check_list(c, a);
	believer_check_allocatable(c, a);
}

#endif
