/*
 * podres_book_fixture - for tests of podres.h: a book, and reads as text.
 */
#ifndef NODE_BOOK_BOOK_FIXTURE_H
#define NODE_BOOK_BOOK_FIXTURE_H

#include "node/book/podres_fixture.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "node/book/podres_impl.h"
#include "node/node_limits.h"

/* Revisions of these tests: the first change is 102. */
enum { EPOCH = 100 };

struct world {
	struct arena a;
	struct podres *b;
	struct buf out;
	unsigned heard; /* number of changes */
};

static inline void hear(void *arg)
{
	((struct world *)arg)->heard++;
}

static inline int setup(void **state)
{
	struct world *w = XNEW(struct world);

	arena_init(&w->a, SIZE_MAX);
	buf_init(&w->out, 64 * MIB);
	w->b = podres_new(EPOCH);
	podres_listen(w->b, hear, w);
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *w = *state;

	podres_free(w->b);
	buf_release(&w->out);
	arena_release(&w->a);
	free(w);
	return 0;
}

static inline struct str uid_of(struct world *w, const char *name)
{
	return str_from(arena_printf(&w->a, "u-%s", name));
}

static inline bool set(struct world *w, const char *name, const char *things)
{
	return podres_set_pod(w->b, uid_of(w, name), fixture_pod(&w->a, name, things), 0);
}

static inline bool drop(struct world *w, const char *name)
{
	return podres_drop_pod(w->b, uid_of(w, name));
}

static inline struct podres_entry entry(struct world *w, const char *name, const char *things)
{
	return (struct podres_entry){ uid_of(w, name),
				      things ? fixture_pod(&w->a, name, things) : NULL, 0 };
}

static inline struct podres_cursor begin(struct world *w)
{
	struct podres_cursor c;

	podres_begin(w->b, &c, PODRES_PODS, false, 0);
	return c;
}

static inline struct podres_cursor begin_initial(struct world *w)
{
	struct podres_cursor c;

	podres_begin(w->b, &c, PODRES_PODS, true, 0);
	return c;
}

static inline struct podres_cursor begin_after(struct world *w, int64_t revision)
{
	struct podres_cursor c;

	podres_begin(w->b, &c, PODRES_PODS, false, revision);
	return c;
}

/* Reads up to `n` messages, as text. */
static inline const char *read_some(struct world *w, struct podres_cursor *c, unsigned n)
{
	buf_clear(&w->out);
	(void)buf_addz(&w->out, "");
	while (n--) {
		CLEANUP(bytes_unref) struct bytes *m = podres_read(w->b, c);

		if (!m)
			break;
		fixture_print_event(&w->out,
				    fixture_unpack(&w->a, &podresources__pod_event__descriptor, m));
	}
	return w->out.p ? w->out.p : "";
}

static inline const char *read_all(struct world *w, struct podres_cursor *c)
{
	const char *text = read_some(w, c, UINT32_MAX);

	assert_int_equal(podres_backlog(w->b, c), 0);
	return text;
}

/* Makes so many changes that no earlier reader is still in the ring. */
static inline void fall_out(struct world *w)
{
	podres_ring_release(&w->b->events[PODRES_PODS]);
	podres_ring_init(&w->b->events[PODRES_PODS], PODRES_EVENTS_MAX, w->b->revision);
}

static inline Podresources__ListResponse *list(struct world *w)
{
	CLEANUP(bytes_unref) struct bytes *m = podres_list(w->b);

	return fixture_unpack(&w->a, &podresources__list_response__descriptor, m);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
