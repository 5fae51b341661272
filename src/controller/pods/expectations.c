/*
 * One entry per owner: a number of creations and a set of uids. The entry lives until it is
 * replaced or forgotten, also when it is met, so that late events find it.
 */
#include "controller/pods/expectations.h"

#include "base/core/mem.h"

struct expected {
	char *key;
	size_t created;
	struct map deleted; /* uids, which are their own values on the heap */
	int64_t since; /* ms */
};

static void expected_clear(struct expected *x)
{
	map_free_values(&x->deleted);
	x->created = 0;
}

static void expected_free(struct expected *x)
{
	expected_clear(x);
	free(x->key);
	free(x);
}

void expectations_init(struct expectations *e)
{
	map_init(&e->by_key);
}

void expectations_release(struct expectations *e)
{
	size_t at = 0;
	struct str key;
	void *x;

	while (map_next(&e->by_key, &at, &key, &x))
		expected_free(x);
	map_release(&e->by_key);
}

bool expectations_met(const struct expectations *e, struct str key, int64_t now_ms)
{
	const struct expected *x = map_get(&e->by_key, key);

	return !x || (x->created == 0 && x->deleted.n == 0) || now_ms - x->since > EXPECTATIONS_MS;
}

static struct expected *expected_of(struct expectations *e, struct str key)
{
	struct expected *x = map_get(&e->by_key, key);

	if (!x) {
		x = XNEW(struct expected);
		x->key = str_dup(key);
		map_init(&x->deleted);
		(void)map_put(&e->by_key, str_of(x->key, key.n), x);
	}
	return x;
}

static void expected_add(struct expected *x, struct str uid)
{
	char *copy;

	if (map_get(&x->deleted, uid))
		return;
	copy = str_dup(uid);
	(void)map_put(&x->deleted, str_of(copy, uid.n), copy);
}

void expectations_set(struct expectations *e, struct str key, size_t created,
		      const struct str *deleted, size_t n, int64_t now_ms)
{
	struct expected *x = expected_of(e, key);

	expected_clear(x);
	x->created = created;
	x->since = now_ms;
	for (size_t i = 0; i < n; i++)
		expected_add(x, deleted[i]);
}

void expectations_add_deleted(struct expectations *e, struct str key, struct str uid)
{
	expected_add(expected_of(e, key), uid);
}

bool expectations_deleting(const struct expectations *e, struct str key, struct str uid)
{
	const struct expected *x = map_get(&e->by_key, key);

	return x && map_get(&x->deleted, uid) != NULL;
}

void expectations_created(struct expectations *e, struct str key)
{
	struct expected *x = map_get(&e->by_key, key);

	if (x && x->created > 0)
		x->created--;
}

void expectations_deleted(struct expectations *e, struct str key, struct str uid)
{
	struct expected *x = map_get(&e->by_key, key);

	if (x)
		free(map_remove(&x->deleted, uid));
}

void expectations_forget(struct expectations *e, struct str key)
{
	struct expected *x = map_remove(&e->by_key, key);

	if (x)
		expected_free(x);
}
