/*
 * Two stores write the same few keys, on the etcd of etcd_world.h, while answers are lost, delayed
 * and reordered, connections break and members crash. Over many seeds:
 *  - an acknowledged write is in etcd's log, at its revision; a rejected one is not;
 *  - nothing takes effect twice;
 *  - no change is acknowledged to two writers, even if both wrote the same bytes;
 *  - both feeds equal that log, with each event once and before its write was acknowledged;
 *  - when the faults stop, nothing hangs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "store/etcd/client_world.h"

enum { SEEDS = 60, USERS = 2, KEYS = 5, WRITES = 150, HEAL_MS = 120 * 1000 };

struct chaos;

struct user {
	struct etcd_client_world client;
	struct etcd_world_write writes[WRITES];
	size_t n;
	struct etcd_world_write *last[KEYS]; /* the last write of each key */
};

struct chaos {
	struct etcd_world world;
	struct prng prng;
	struct user users[USERS];
	bool alike; /* writers write the same few values */
	bool down[ETCD_WORLD_MEMBERS];
};

static uint64_t draw(struct chaos *x, uint64_t n)
{
	return prng_below(&x->prng, n);
}

static void key_name(char out[static 8], size_t key)
{
	(void)snprintf(out, 8, "k%zu", key);
}

/* The key's last revision in the user's feed, or 0 if the key does not exist. */
static int64_t known_revision(const struct user *u, size_t key)
{
	int64_t revision = 0;
	char name[8];

	key_name(name, key);
	for (const char *at = u->client.events.p; *at; at = strchr(at, ' ') + 1) {
		if (strncmp(at, name, 2) == 0)
			revision = at[2] == '-' ? 0 : strtoll(strchr(at, '@') + 1, NULL, 10);
	}
	return revision;
}

/* Unless `alike`, every value is written only once, so that it identifies its write. */
static void print_value(const struct chaos *x, char out[static 32], size_t user, size_t i)
{
	if (x->alike)
		(void)snprintf(out, 32, "v%zu", i % 2);
	else
		(void)snprintf(out, 32, "u%zu-%zu", user, i);
}

static void write_one(struct chaos *x, size_t user)
{
	struct user *u = &x->users[user];
	size_t key = draw(x, KEYS);
	struct etcd_world_write *z = &u->writes[u->n], *last = u->last[key];
	bool chained = last && !last->done;
	bool deletes = draw(x, 6) == 0 && (chained || known_revision(u, key) > 0);
	char name[8], value[32];

	if (u->n == WRITES)
		return;
	key_name(name, key);
	print_value(x, value, user, u->n++);
	if (chained && !(deletes && !last->write.value))
		etcd_client_world_after(z, last, deletes ? NULL : value);
	else
		etcd_client_world_put(&u->client, z, name, deletes ? NULL : value,
				      known_revision(u, key));
	u->last[key] = z;
}

static void misbehave(struct chaos *x)
{
	struct etcd_world *w = &x->world;
	size_t member = draw(x, ETCD_WORLD_MEMBERS);

	switch (draw(x, 14)) {
	case 0:
	case 1:
	case 2:
		w->fate = (enum etcd_world_fate)draw(x, ETCD_WORLD_FULL + 1);
		w->fated = (unsigned)draw(x, 4);
		break;
	case 3:
		etcd_world_apply(w);
		break;
	case 4:
		etcd_world_answer(w);
		break;
	case 5:
		w->hold_events = true;
		break;
	case 6:
	case 7:
		etcd_world_let_events(w);
		break;
	case 8:
		(void)sim_break_conns(w->sim, 0.3);
		break;
	case 9:
		w->members[member].leaderless = draw(x, 2) == 0;
		break;
	case 10:
		w->piece = draw(x, 4);
		break;
	case 11:
		if (!x->down[member])
			etcd_world_crash(w, member);
		else
			etcd_world_start(w, member);
		x->down[member] = !x->down[member];
		break;
	default:
		break;
	}
}

static void heal(struct chaos *x)
{
	struct etcd_world *w = &x->world;

	w->fated = 0;
	for (size_t i = 0; i < w->nmembers; i++) {
		w->members[i].leaderless = false;
		if (x->down[i])
			etcd_world_start(w, i);
	}
	etcd_world_answer(w);
	etcd_world_let_events(w);
	etcd_world_run(w, HEAL_MS);
	etcd_world_apply(w);
	etcd_world_run(w, HEAL_MS);
}

/* --- invariants ---------------------------------------------------------------------------- */

static void check_feeds(struct chaos *x)
{
	struct buf want = BUF_INIT(MIB);

	for (size_t i = 0; i < x->world.log.changes.n; i++) {
		const struct etcd_log_change *c = &x->world.log.changes.v[i];
		ptrdiff_t space = str_chr(c->key, ' ');

		if (space >= 0)
			(void)buf_printf(&want, "%.*s%s%.*s@%" PRId64 " ",
					 STR_ARG(str_skip(c->key, (size_t)space + 1)),
					 c->deleted ? "-" : "=", STR_ARG(etcd_world_value(c)),
					 c->revision);
	}
	for (size_t u = 0; u < USERS; u++) {
		struct buf got = BUF_INIT(MIB);

		/* Leaves out the marks of the user's own writes. */
		for (const char *at = x->users[u].client.events.p; *at; at++)
			if (*at != '*')
				(void)buf_addc(&got, *at);
		assert_string_equal(got.p, want.p);
		buf_release(&got);
	}
	buf_release(&want);
}

static const struct etcd_log_change *change_at(const struct etcd_world *w, int64_t revision)
{
	for (size_t i = 0; i < w->log.changes.n; i++)
		if (w->log.changes.v[i].revision == revision &&
		    str_chr(w->log.changes.v[i].key, ' ') >= 0)
			return &w->log.changes.v[i];
	return NULL;
}

static bool is_absent(const struct etcd_world *w, const char *name, int64_t revision)
{
	const struct etcd_log_change *c;
	char key[64];

	(void)snprintf(key, sizeof(key), "/registry/core/pods/ns %s", name);
	c = etcd_log_find(&w->log, str_from(key), revision);
	return !c || c->deleted;
}

/* Whether the change is what the write would make. */
static bool wants(const struct chaos *x, const struct user *u, size_t i,
		  const struct etcd_log_change *c)
{
	const struct etcd_world_write *z = &u->writes[i];
	char value[32];

	print_value(x, value, (size_t)(u - x->users), i);
	if (!str_ends(c->key, str_from(z->name)))
		return false;
	return z->deletes ? c->deleted : !c->deleted && str_eqz(etcd_world_value(c), value);
}

/* Counts the changes in the log that the write would make. */
static size_t count_wanted(const struct chaos *x, const struct user *u, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < x->world.log.changes.n; k++)
		n += wants(x, u, i, &x->world.log.changes.v[k]);
	return n;
}

static void check_write(struct chaos *x, const struct user *u, size_t i)
{
	const struct etcd_world_write *z = &u->writes[i];
	const struct etcd_log_change *c;
	bool named = !x->alike && !z->deletes;

	assert_true(z->done);
	if (z->result == 0) {
		c = change_at(&x->world, z->write.revision);
		/* Deleting an absent key changes nothing. */
		assert_true(c ? wants(x, u, i, c)
			      : z->deletes && is_absent(&x->world, z->name, z->write.revision));
		assert_true(z->delivered_then >= z->write.revision);
		assert_true(!named || count_wanted(x, u, i) == 1);
		return;
	}
	assert_true(z->result == -ERR_CONFLICT || z->result == -ERR_TIMEOUT ||
		    z->result == -ERR_UNAVAILABLE);
	assert_true(!named || count_wanted(x, u, i) <= (z->result == -ERR_TIMEOUT));
}

/* Every change has one maker: at most one write was acknowledged with its revision. If none was,
 * the change is what a write with an unknown outcome would make. */
static void check_makers(const struct chaos *x)
{
	for (size_t k = 0; k < x->world.log.changes.n; k++) {
		const struct etcd_log_change *c = &x->world.log.changes.v[k];
		size_t makers = 0, unknown = 0;

		if (str_chr(c->key, ' ') < 0)
			continue;
		for (size_t n = 0; n < (size_t)USERS * WRITES; n++) {
			const struct user *u = &x->users[n / WRITES];
			const struct etcd_world_write *z = &u->writes[n % WRITES];

			makers += z->result == 0 && z->write.revision == c->revision;
			unknown += z->result == -ERR_TIMEOUT && wants(x, u, n % WRITES, c);
		}
		assert_true(makers == 1 || (makers == 0 && unknown > 0));
	}
}

static void run_seed(uint64_t seed, size_t *ret_results)
{
	struct chaos *x = XNEW(struct chaos);

	x->alike = seed % 2;
	prng_init(&x->prng, seed);
	etcd_world_init(&x->world, seed, ETCD_WORLD_MEMBERS);
	for (size_t u = 0; u < USERS; u++)
		etcd_client_world_init(&x->users[u].client, &x->world);
	/* The later ones did not see what the first ones' names did to the revision. */
	while (x->users[0].n < WRITES || x->users[1].n < WRITES) {
		write_one(x, draw(x, USERS));
		if (draw(x, 3) == 0)
			misbehave(x);
		etcd_world_run(&x->world, (int64_t)draw(x, draw(x, 10) ? 5 : 2000));
	}
	heal(x);
	for (size_t u = 0; u < USERS; u++) {
		for (size_t i = 0; i < WRITES; i++) {
			check_write(x, &x->users[u], i);
			ret_results[-x->users[u].writes[i].result]++;
		}
		assert_int_equal(store_health(x->users[u].client.store, NULL), 0);
	}
	check_feeds(x);
	check_makers(x);
	for (size_t u = 0; u < USERS; u++)
		etcd_client_world_release(&x->users[u].client);
	etcd_world_release(&x->world);
	free(x);
}

static void no_fault_makes_an_acknowledged_write_untrue(void **state UNUSED)
{
	size_t results[ERR_COUNT] = { 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed, results);
	/* There are enough faults to matter, and few enough that most writes succeed. */
	assert_true(results[0] > (size_t)SEEDS * USERS * WRITES / 4);
	assert_true(results[ERR_CONFLICT] > 0 && results[ERR_TIMEOUT] > 0 &&
		    results[ERR_UNAVAILABLE] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_fault_makes_an_acknowledged_write_untrue),
	};

	return cmocka_run_group_tests_name("store/etcd_chaos", tests, NULL, NULL);
}
