/*
 * podres_crowd_fixture - for tests: many clients of every kind around one book.
 *
 * Some begin with a List and watch after its revision. Some read at once, now and then, or hardly
 * ever. Some are cut at any moment and resume. Some know only the KEP and merge a List with events.
 */
#ifndef NODE_BOOK_CROWD_FIXTURE_H
#define NODE_BOOK_CROWD_FIXTURE_H

#include "base/core/random.h"
#include "node/book/believer_fixture.h"
#include "node/book/podres_impl.h"

enum reader { LISTING, FAST, LAZY, STUCK, RESUMING, KEP, READERS };
enum { EACH = 2, CLIENTS = READERS * EACH };

/* How often the rare cases happened, by reader. */
struct crowd_tally {
	uint64_t catch_ups[READERS], resets[READERS], lost[READERS];
};

struct crowd {
	struct podres *book;
	struct prng *g;
	bool steady; /* see struct believer */
	struct arena messages;
	struct believer client[CLIENTS];
};

static inline bool crowd_one_in(struct crowd *k, uint64_t n)
{
	return prng_below(k->g, n) == 0;
}

static inline enum reader crowd_reader(int i)
{
	return (enum reader)(i / EACH);
}

/* Fast clients have received one message per change. */
static inline void crowd_on_change(void *arg)
{
	struct crowd *k = arg;

	for (int i = 0; i < CLIENTS; i++) {
		struct believer *c = &k->client[i];

		if (crowd_reader(i) != FAST || !c->book)
			continue;
		believer_read(c, &k->messages, SIZE_MAX);
		assert_int_equal(c->messages, (podres_revision(k->book) - c->opened) / 2);
	}
}

/* Replaces the book by a new one with a short memory; connections to the old one end. */
static inline void crowd_new_book(struct crowd *k, int64_t epoch)
{
	for (int i = 0; i < CLIENTS; i++)
		k->client[i].book = NULL;
	podres_free(k->book);
	k->book = podres_new(epoch);
	for (int kind = 0; kind < 2; kind++)
		k->book->events[kind].max = 1U << prng_below(k->g, 8);
	k->book->gone.max = 1U << prng_below(k->g, 7);
	podres_listen(k->book, crowd_on_change, k);
}

/* Cuts the client's connection, maybe in the middle of a catch-up; the client connects again. */
static inline void crowd_reconnect(struct crowd *k, int i)
{
	struct believer *c = &k->client[i];

	c->exact = crowd_reader(i) == FAST;
	c->steady = k->steady;
	if (crowd_reader(i) == KEP) {
		believer_open_kep(c, k->book);
		return;
	}
	if (crowd_reader(i) == LISTING) {
		believer_open_after_list(c, k->book, &k->messages);
		return;
	}
	if (c->last == 0 || c->last_node == 0 || crowd_one_in(k, 8)) {
		believer_forget(c);
		believer_open(c, k->book, true, false);
	} else {
		believer_open(c, k->book, crowd_one_in(k, 2), true);
	}
	if (crowd_reader(i) == FAST)
		believer_read(c, &k->messages, SIZE_MAX);
}

static inline void crowd_reconnect_all(struct crowd *k)
{
	for (int i = 0; i < CLIENTS; i++)
		crowd_reconnect(k, i);
}

static inline void crowd_act_one(struct crowd *k, int i)
{
	static const uint64_t rarely[READERS] = {
		[LISTING] = 40, [FAST] = 60, [LAZY] = 3, [STUCK] = 150, [RESUMING] = 6, [KEP] = 12
	};
	struct believer *c = &k->client[i];
	enum reader r = crowd_reader(i);

	if (!crowd_one_in(k, rarely[r]))
		return;
	if (r == KEP && crowd_one_in(k, 2))
		believer_list(c, &k->messages);
	else if (r == FAST || (r == RESUMING && crowd_one_in(k, 3)) ||
		 ((r == KEP || r == LISTING) && crowd_one_in(k, 10)))
		crowd_reconnect(k, i);
	else if (r == STUCK && crowd_one_in(k, 2))
		believer_read(c, &k->messages, SIZE_MAX);
	else
		believer_read(c, &k->messages, prng_below(k->g, 8));
}

/* Runs between two changes; then frees unpacked messages. */
static inline void crowd_act(struct crowd *k)
{
	for (int i = 0; i < CLIENTS; i++)
		crowd_act_one(k, i);
	arena_clear(&k->messages);
}

/* `book` must exist. */
static inline void crowd_init(struct crowd *k, struct prng *g,
			      const uint64_t capacity[][HELD_NODES])
{
	*k = (struct crowd){ .g = g };
	arena_init(&k->messages, SIZE_MAX);
	for (int i = 0; i < CLIENTS; i++)
		believer_init(&k->client[i], capacity);
}

/* At the end, all clients catch up, and their state must equal List. */
static inline void crowd_settle(struct crowd *k, struct crowd_tally *t)
{
	for (int i = 0; i < CLIENTS; i++) {
		struct believer *c = &k->client[i];

		believer_settle(c, &k->messages);
		t->catch_ups[crowd_reader(i)] += c->catch_ups;
		t->resets[crowd_reader(i)] += c->resets;
		t->lost[crowd_reader(i)] += c->lost;
	}
}

static inline void crowd_release(struct crowd *k)
{
	for (int i = 0; i < CLIENTS; i++)
		believer_release(&k->client[i]);
	podres_free(k->book);
	arena_release(&k->messages);
}

/*
 * Runs seeds 0, 1, .. `seeds`, or those of PODRES_SEEDS and PODRES_SEED. After a full run, the rare
 * cases must have happened.
 */
static inline void crowd_run(void (*run)(uint64_t seed, struct crowd_tally *t), uint64_t seeds)
{
	const char *one = getenv("PODRES_SEED"), *many = getenv("PODRES_SEEDS");
	uint64_t from = one ? strtoull(one, NULL, 10) : 0;
	uint64_t n = one ? 1 : many ? strtoull(many, NULL, 10) : seeds;
	struct crowd_tally t = { 0 };

	for (uint64_t seed = from; seed < from + n; seed++)
		run(seed, &t);
	if (n < seeds)
		return;
	for (int r = LISTING; r < READERS; r++)
		assert_true(t.catch_ups[r] > n);
	assert_true(t.resets[RESUMING] > n && t.resets[STUCK] > n / 8 && t.lost[KEP] > n / 8);
}

#endif
