/*
 * A record per image, by id. A node has at most some hundred images, so each look walks them all.
 */
#include "node/images/image_book.h"

#include <stdlib.h>

#include "base/core/map.h"
#include "base/core/mem.h"

struct image_record {
	char *id;
	int64_t first_ms, used_ms; /* used INT64_MIN: never, as far as we know */
	int64_t size;
	uint64_t look; /* the last look that found it */
	bool pinned, in_use;
};

struct image_book {
	struct map records; /* by id */
	uint64_t look;
};

struct image_book *image_book_new(void)
{
	struct image_book *b = XNEW(struct image_book);

	map_init(&b->records);
	return b;
}

static void image_record_free(struct image_record *r)
{
	free(r->id);
	free(r);
}

void image_book_free(struct image_book *b)
{
	struct str key;
	size_t at = 0;
	void *r;

	if (!b)
		return;
	while (map_next(&b->records, &at, &key, &r))
		image_record_free(r);
	map_release(&b->records);
	free(b);
}

/* --- looks -------------------------------------------------------------------------- */

/* All names by which containers refer to images. */
static void image_names_of(const struct runtime_pods *pods, struct map *names)
{
	for (size_t i = 0; i < pods->n; i++) {
		for (size_t j = 0; j < pods->v[i].ncontainers; j++) {
			const struct runtime_container *c = &pods->v[i].containers[j];

			if (c->image.n > 0)
				(void)map_put(names, c->image, names);
			if (c->image_id.n > 0)
				(void)map_put(names, c->image_id, names);
		}
	}
}

static bool image_is_used(const struct map *names, const struct runtime_image_info *image)
{
	if (map_get(names, image->id))
		return true;
	for (size_t i = 0; i < image->nnames; i++) {
		if (map_get(names, image->names[i]))
			return true;
	}
	return false;
}

static struct image_record *image_record_of(struct image_book *b, struct str id, int64_t now_ms)
{
	struct image_record *r = map_get(&b->records, id);

	if (r)
		return r;
	r = XNEW(struct image_record);
	r->id = str_dup(id);
	r->first_ms = now_ms;
	r->used_ms = INT64_MIN;
	(void)map_put(&b->records, str_from(r->id), r);
	return r;
}

static void image_book_sweep(struct image_book *b)
{
	struct str key;
	size_t at = 0;
	void *v;

	while (map_next(&b->records, &at, &key, &v)) {
		struct image_record *r = v;

		if (r->look == b->look)
			continue;
		(void)map_remove(&b->records, key);
		image_record_free(r);
		at = 0;
	}
}

void image_book_look(struct image_book *b, const struct runtime_image_info *images, size_t n,
		     const struct runtime_pods *pods, int64_t now_ms)
{
	struct map names;

	b->look++;
	map_init(&names);
	image_names_of(pods, &names);
	for (size_t i = 0; i < n; i++) {
		struct image_record *r = image_record_of(b, images[i].id, now_ms);

		r->look = b->look;
		r->size = images[i].size < 0 ? 0 : images[i].size;
		r->pinned = images[i].pinned;
		r->in_use = image_is_used(&names, &images[i]);
		if (r->in_use)
			r->used_ms = now_ms;
	}
	map_release(&names);
	image_book_sweep(b);
}

/* --- choices ------------------------------------------------------------------------ */

static int image_record_order(const void *a, const void *b)
{
	const struct image_record *x = *(const struct image_record *const *)a;
	const struct image_record *y = *(const struct image_record *const *)b;

	if (x->used_ms != y->used_ms)
		return x->used_ms < y->used_ms ? -1 : 1;
	if (x->first_ms != y->first_ms)
		return x->first_ms < y->first_ms ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* An image that was never used counts from its first look. */
static bool image_is_aged(const struct image_record *r, const struct image_policy *p,
			  int64_t began_ms, int64_t now_ms)
{
	int64_t since = r->used_ms == INT64_MIN ? r->first_ms : r->used_ms;

	return p->max_age_ms > 0 && now_ms - began_ms > p->max_age_ms &&
	       now_ms - since > p->max_age_ms;
}

static size_t image_book_sorted(const struct image_book *b, struct arena *a,
				struct image_record ***ret_v)
{
	struct image_record **v = ARENA_ARRAY(a, struct image_record *, b->records.n);
	struct str key;
	size_t at = 0, n = 0;
	void *r;

	while (map_next(&b->records, &at, &key, &r)) {
		const struct image_record *one = r;

		if (!one->in_use && !one->pinned)
			v[n++] = r;
	}
	qsort(v, n, sizeof(v[0]), image_record_order);
	*ret_v = v;
	return n;
}

size_t image_book_choose(const struct image_book *b, const struct image_policy *p, int64_t began_ms,
			 int64_t now_ms, struct arena *a, struct image_choice **ret_v)
{
	struct image_record **v;
	size_t n = image_book_sorted(b, a, &v), chosen = 0;
	struct image_choice *out = ARENA_ARRAY(a, struct image_choice, n);

	for (int aged = 1; aged >= 0; aged--) {
		for (size_t i = 0; i < n; i++) {
			bool old = image_is_aged(v[i], p, began_ms, now_ms);

			if (old != aged || (!old && now_ms - v[i]->first_ms < p->min_age_ms))
				continue;
			out[chosen++] = (struct image_choice){ .id = arena_str(a,
									       str_from(v[i]->id)),
							       .size = v[i]->size,
							       .aged = old };
		}
	}
	*ret_v = out;
	return chosen;
}

int64_t image_book_excess(const struct image_policy *p, int64_t capacity, int64_t available,
			  int *ret_percent)
{
	int64_t hundredth = capacity / 100, keep;

	*ret_percent = 0;
	if (capacity <= 0)
		return -1;
	available = MAX(0, MIN(available, capacity));
	/* In doubles, because a product with 100 may overflow. */
	*ret_percent = 100 - (int)((double)available * 100 / (double)capacity);
	if (p->high_percent >= 100 || *ret_percent < p->high_percent)
		return 0;
	keep = hundredth * (100 - p->low_percent) + capacity % 100 * (100 - p->low_percent) / 100;
	return MAX(0, keep - available);
}
