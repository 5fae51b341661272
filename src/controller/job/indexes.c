/*
 * Each function is linear in the intervals. Only job_indexes_of() sorts.
 */
#include "controller/job/indexes.h"

#include "base/core/buf.h"

/* Appends, or extends the last interval if they touch. There must be room. */
static void indexes_add(struct job_indexes *set, struct job_interval i)
{
	struct job_interval *last = set->n ? &set->v[set->n - 1] : NULL;

	if (last && i.first <= last->last + 1)
		last->last = MAX(last->last, i.last);
	else
		set->v[set->n++] = i;
}

static bool interval_read(struct str text, struct job_interval *ret)
{
	struct str first = STR_NULL;
	bool pair = str_chr(text, '-') >= 0;

	if (!str_split(&text, '-', &first) || !str_to_i64(first, &ret->first))
		return false;
	ret->last = ret->first;
	if (pair && !str_to_i64(text, &ret->last))
		return false;
	return ret->first >= 0 && ret->last >= ret->first;
}

struct job_indexes job_indexes_read(struct arena *a, struct str text, int64_t completions)
{
	struct job_indexes set = { 0 };
	struct str piece;
	size_t room = 1;

	for (size_t i = 0; i < text.n; i++)
		room += text.p[i] == ',';
	set.v = ARENA_ARRAY(a, struct job_interval, room);
	while (text.n > 0 && str_split(&text, ',', &piece)) {
		struct job_interval i;

		if (!interval_read(piece, &i) || (set.n && i.first <= set.v[set.n - 1].last))
			continue;
		if (i.first >= completions)
			break;
		i.last = MIN(i.last, completions - 1);
		indexes_add(&set, i);
	}
	return set;
}

struct str job_indexes_print(struct arena *a, const struct job_indexes *set)
{
	struct buf b = BUF_INIT(SIZE_MAX);
	struct str text;

	for (size_t i = 0; i < set->n; i++) {
		const struct job_interval *v = &set->v[i];

		(void)buf_printf(&b, "%s%lld", i ? "," : "", (long long)v->first);
		if (v->last > v->first)
			(void)buf_printf(&b, "%c%lld", v->last == v->first + 1 ? ',' : '-',
					 (long long)v->last);
	}
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

static int compare_indexes(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct job_indexes job_indexes_of(struct arena *a, int64_t *v, size_t n)
{
	struct job_indexes set = { .v = ARENA_ARRAY(a, struct job_interval, n) };

	if (n > 0)
		qsort(v, n, sizeof(*v), compare_indexes);
	for (size_t i = 0; i < n; i++)
		indexes_add(&set, (struct job_interval){ v[i], v[i] });
	return set;
}

struct job_indexes job_indexes_merge(struct arena *a, const struct job_indexes *x,
				     const struct job_indexes *y)
{
	struct job_indexes set = { .v = ARENA_ARRAY(a, struct job_interval, x->n + y->n) };
	size_t i = 0, j = 0;

	while (i < x->n || j < y->n) {
		bool left = j == y->n || (i < x->n && x->v[i].first < y->v[j].first);

		indexes_add(&set, left ? x->v[i++] : y->v[j++]);
	}
	return set;
}

int64_t job_indexes_total(const struct job_indexes *set)
{
	int64_t total = 0;

	for (size_t i = 0; i < set->n; i++)
		total += set->v[i].last - set->v[i].first + 1;
	return total;
}

bool job_indexes_has(const struct job_indexes *set, int64_t index)
{
	size_t low = 0, high = set->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (set->v[mid].last >= index)
			high = mid;
		else
			low = mid + 1;
	}
	return low < set->n && set->v[low].first <= index;
}

int64_t job_indexes_common(const struct job_indexes *x, const struct job_indexes *y)
{
	int64_t common = 0;
	size_t i = 0, j = 0;

	while (i < x->n && j < y->n) {
		int64_t first = MAX(x->v[i].first, y->v[j].first);
		int64_t last = MIN(x->v[i].last, y->v[j].last);

		common += last >= first ? last - first + 1 : 0;
		if (x->v[i].last < y->v[j].last)
			i++;
		else
			j++;
	}
	return common;
}

size_t job_indexes_missing(const struct job_indexes *set, int64_t completions, int64_t *ret_v,
			   size_t max)
{
	int64_t at = 0;
	size_t n = 0;

	for (size_t i = 0; i <= set->n; i++) {
		int64_t end = i < set->n ? MIN(set->v[i].first, completions) : completions;

		while (n < max && at < end)
			ret_v[n++] = at++;
		if (i < set->n)
			at = MAX(at, set->v[i].last + 1);
	}
	return n;
}
