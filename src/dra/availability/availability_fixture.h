/*
 * availability_fixture - random slices and claims, for tests. After every change, each status must
 * be the same as in a fresh inventory with the same objects. Each slice whose status changes with
 * claims must be listed by availability_claim_slices() before or after the change.
 */
#ifndef DRA_AVAILABILITY_AVAILABILITY_FIXTURE_H
#define DRA_AVAILABILITY_AVAILABILITY_FIXTURE_H

#include "base/core/limits.h"
#include "base/core/random.h"
#include "dra/availability/availability.h"
#include "dra/inventory/inventory_fixture.h"

enum { STORY_STEPS = 40, STORY_SLICES = 6, STORY_DEVICES = 8, STORY_CLAIMS = 6, STORY_LINE = 512 };

struct story {
	struct prng prng;
	struct inventory *inv;
	char slices[STORY_SLICES][STORY_LINE], claims[STORY_CLAIMS][STORY_LINE]; /* or empty */
	struct str status[STORY_SLICES];
	struct map named; /* names of slices */
	struct arena arena;
	size_t changed;
};

static inline unsigned story_below(struct story *s, unsigned n)
{
	return (unsigned)prng_below(&s->prng, n);
}

/* Sometimes device names are duplicated, counters are scarce, or pools are incomplete. */
static inline void story_draw_slice(struct story *s, unsigned i)
{
	struct buf line = BUF_INIT(STORY_LINE);
	bool counters = i < 2;

	buf_printf(&line, "%s s%u p%u 1/%u n", counters ? "counters" : "slice", i,
		   story_below(s, 12) / 11,
		   story_below(s, 4) ? STORY_SLICES : 1 + story_below(s, STORY_SLICES));
	for (unsigned c = 0; counters && c < 2; c++)
		buf_printf(&line, " c%u.x=%u", i * 2 + c, 3 + story_below(s, 12));
	for (unsigned d = 0; !counters && d < 3; d++) {
		unsigned id = story_below(s, 10) ? (i * 3 + d) % (STORY_DEVICES * 2)
						 : story_below(s, STORY_DEVICES);

		buf_printf(&line, " g%u", id);
		if (story_below(s, 3))
			buf_printf(&line, "(c%u.x:%u,c%u.x:%u,memory=%uGi)", story_below(s, 2),
				   1 + story_below(s, 6), 2 + story_below(s, 3),
				   1 + story_below(s, 6), 1 + story_below(s, 9));
		else if (story_below(s, 2))
			buf_printf(&line, "(multi,memory=%uGi)", 1 + story_below(s, 9));
	}
	snprintf(s->slices[i], STORY_LINE, "%.*s", STR_ARG(buf_str(&line)));
	buf_release(&line);
}

static inline void story_draw_claim(struct story *s, unsigned i)
{
	struct buf line = BUF_INIT(STORY_LINE);

	buf_printf(&line, "claim ns/c%u", i);
	for (unsigned n = story_below(s, 4); n > 0; n--) {
		buf_printf(&line, " p%u/g%u", story_below(s, 12) / 11,
			   6 + story_below(s, STORY_DEVICES * 2 - 5));
		if (story_below(s, 4) == 0)
			buf_printf(&line, "(share=s%u-%u,memory=1Gi)", i, n);
		else if (story_below(s, 6) == 0)
			buf_addz(&line, "(admin)");
	}
	snprintf(s->claims[i], STORY_LINE, "%.*s", STR_ARG(buf_str(&line)));
	buf_release(&line);
}

static inline struct str story_status_text(struct inventory *inv, unsigned slice, struct arena *a)
{
	const struct json *v = availability_slice_status(
		inv, NULL, str_from(arena_printf(a, "s%u", slice)), NULL, 0, a);
	struct buf text = BUF_INIT(MIB);
	struct str copy;

	if (v)
		assert_int_equal(json_print(&text, v, NULL), 0);
	copy = arena_str(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

static inline void story_name_concerned(struct story *s, unsigned claim)
{
	struct str *names;
	size_t n = availability_claim_slices(s->inv, STR("ns"),
					     str_from(arena_printf(&s->arena, "c%u", claim)),
					     &s->arena, &names);

	for (size_t i = 0; i < n; i++)
		(void)map_put(&s->named, names[i], s);
}

/* Each status must be the same as in a fresh inventory with the same objects. */
static inline void story_see(struct story *s, unsigned seed, bool claims_only)
{
	struct inventory *fresh = inventory_new(inventory_defaults);

	for (unsigned i = 0; i < STORY_SLICES; i++)
		assert_int_equal(world_tell(fresh, str_from(s->slices[i])), 0);
	for (unsigned i = 0; i < STORY_CLAIMS; i++)
		if (s->claims[i][0])
			assert_int_equal(world_tell(fresh, str_from(s->claims[i])), 0);
	for (unsigned i = 0; i < STORY_SLICES; i++) {
		char *name = arena_printf(&s->arena, "s%u", i);
		struct str now = story_status_text(s->inv, i, &s->arena);
		bool same = str_eq(now, s->status[i]);

		if (!str_eq(now, story_status_text(fresh, i, &s->arena)))
			fail_msg("seed %u: %s is told as %.*s", seed, name, STR_ARG(now));
		if (claims_only && !same && !map_get(&s->named, str_from(name)))
			fail_msg("seed %u: %s was not named and is %.*s", seed, name, STR_ARG(now));
		s->changed += claims_only && !same;
		s->status[i] = now;
	}
	inventory_free(fresh);
}

static inline void story_change_claims(struct story *s)
{
	bool which[STORY_CLAIMS] = { false };

	for (unsigned n = 1 + story_below(s, 3); n > 0; n--)
		which[story_below(s, STORY_CLAIMS)] = true;
	map_clear(&s->named);
	for (unsigned i = 0; i < STORY_CLAIMS; i++)
		if (which[i])
			story_name_concerned(s, i);
	for (unsigned i = 0; i < STORY_CLAIMS; i++) {
		if (!which[i])
			continue;
		story_draw_claim(s, i);
		assert_int_equal(world_tell(s->inv, str_from(s->claims[i])), 0);
	}
	for (unsigned i = 0; i < STORY_CLAIMS; i++)
		if (which[i])
			story_name_concerned(s, i);
}

/* Returns how often a status changed with a claim. */
static inline size_t tell_story(unsigned seed)
{
	struct story s = { .inv = inventory_new(inventory_defaults) };

	prng_init(&s.prng, seed);
	map_init(&s.named);
	arena_init(&s.arena, SIZE_MAX);
	for (unsigned i = 0; i < STORY_SLICES; i++) {
		story_draw_slice(&s, i);
		assert_int_equal(world_tell(s.inv, str_from(s.slices[i])), 0);
	}
	story_see(&s, seed, false);
	for (unsigned step = 0; step < STORY_STEPS; step++) {
		unsigned slice = story_below(&s, STORY_SLICES);
		bool claims_only = story_below(&s, 5) > 0;

		if (claims_only) {
			story_change_claims(&s);
		} else {
			story_draw_slice(&s, slice);
			assert_int_equal(world_tell(s.inv, str_from(s.slices[slice])), 0);
		}
		story_see(&s, seed, claims_only);
	}
	map_release(&s.named);
	arena_release(&s.arena);
	inventory_free(s.inv);
	return s.changed;
}

#endif
