/*
 * The operations walk two sets side by side in their common order and rebuild each object from what
 * stays, so none of them searches. They recurse as deep as a set is nested, which
 * managed_set_read() limits.
 */
#include "api/managed/set.h"

#include <inttypes.h>

#include "api/api_limits.h"
#include "api/managed/type.h"

enum { FEW_MEMBERS = 16 };

/* Reads the number at *at and moves *at after it. */
static double take_number(struct str s, size_t *at)
{
	char text[32];
	size_t n = 0;

	while (*at < s.n && n < sizeof(text) - 1 &&
	       (str_is_digit(s.p[*at]) || strchr("+-.eE", s.p[*at])))
		text[n++] = s.p[(*at)++];
	text[n] = '\0';
	return strtod(text, NULL);
}

static int number_cmp(struct str a, size_t *i, struct str b, size_t *k)
{
	double x = take_number(a, i), y = take_number(b, k);

	return (x > y) - (x < y);
}

/* Returns the end of the quoted text at `at`: the position after its closing quote. */
static size_t skip_text(struct str s, size_t at)
{
	for (at++; at < s.n && s.p[at] != '"'; at++)
		if (s.p[at] == '\\')
			at++;
	return MIN(at + 1, s.n);
}

/* Compares two quoted texts without their quotes; a prefix comes first. */
static int text_cmp(struct str a, size_t *i, struct str b, size_t *k)
{
	size_t from_a = *i, from_b = *k;

	*i = skip_text(a, from_a);
	*k = skip_text(b, from_b);
	return str_cmp(str_of(a.p + from_a, *i - from_a - 1),
		       str_of(b.p + from_b, *k - from_b - 1));
}

/* Numbers come before strings, strings before the rest. */
static int value_rank(struct str s, size_t at)
{
	if (at < s.n && (str_is_digit(s.p[at]) || (s.p[at] == '-' && at + 1 < s.n)))
		return 0;
	return s.p[at] == '"' ? 1 : 2;
}

/* Compares JSON texts value by value. */
static int json_text_cmp(struct str a, struct str b)
{
	size_t i = 0, k = 0;
	int order = 0;

	while (order == 0 && i < a.n && k < b.n) {
		int rank = value_rank(a, i);

		order = rank - value_rank(b, k);
		if (order == 0 && rank == 0)
			order = number_cmp(a, &i, b, &k);
		else if (order == 0 && rank == 1)
			order = text_cmp(a, &i, b, &k);
		else if (order == 0)
			order = (unsigned char)a.p[i++] - (unsigned char)b.p[k++];
	}
	return order ? order : (i < a.n) - (k < b.n);
}

static int kind_rank(struct str step)
{
	switch (step.n ? step.p[0] : '\0') {
	case '.':
		return 0;
	case 'f':
		return 1;
	case 'k':
		return 2;
	case 'v':
		return 3;
	default:
		return 4;
	}
}

int managed_step_cmp(struct str a, struct str b)
{
	int rank_a = kind_rank(a), rank_b = kind_rank(b), order = 0;

	if (rank_a != rank_b)
		return rank_a < rank_b ? -1 : 1;
	if (a.n && a.p[0] != 'f')
		order = json_text_cmp(a, b);
	/* Numbers that are equal as doubles may still differ. */
	return order ? order : str_cmp(a, b);
}

static int compare_members(const void *a, const void *b)
{
	const struct json *x = *(const struct json *const *)a, *y = *(const struct json *const *)b;

	return managed_step_cmp(json_key(x), json_key(y));
}

static bool is_sorted(const struct json *object)
{
	JSON_FOREACH (child, object)
		if (child->next && compare_members(&child, &child->next) >= 0)
			return false;
	return true;
}

/* A few members are sorted in place, without the heap memory that qsort() may use. */
static void sort_members(struct json **members, size_t n)
{
	if (n > FEW_MEMBERS) {
		qsort(members, n, sizeof(*members), compare_members);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct json *member = members[i];
		size_t at = i;

		for (; at > 0 && compare_members(&members[at - 1], &member) > 0; at--)
			members[at] = members[at - 1];
		members[at] = member;
	}
}

void managed_set_sort(struct arena *a, struct json *object)
{
	struct json **members;
	size_t n = 0;

	if (is_sorted(object))
		return;
	members = ARENA_ARRAY(a, struct json *, object->n);
	JSON_FOREACH (child, object)
		members[n++] = child;
	sort_members(members, n);
	json_assign(object, &(struct json){ .type = JSON_OBJECT });
	for (size_t i = 0; i < n; i++)
		if (i == 0 || !str_eq(json_key(members[i]), json_key(members[i - 1])))
			json_add(object, json_key(members[i]), members[i]);
}

static bool is_dot(const struct json *member)
{
	return member && member->key_n == 1 && member->key[0] == '.';
}

static bool is_step(struct str key)
{
	if (key.n == 1 && key.p[0] == '.')
		return true;
	return key.n >= 2 && key.p[1] == ':' && str_is_one_of(key.p[0], "fkvi");
}

/* "." counts only next to other members, and not for the whole object. */
static void read_dot(struct json *set, unsigned depth)
{
	if (!is_dot(set->first))
		return;
	if (depth == 0 || set->n == 1)
		(void)json_unlink(set, set->first);
	else
		json_assign(set->first, &(struct json){ .type = JSON_OBJECT });
}

static bool read_level(struct arena *a, struct json *set, unsigned depth)
{
	if (!json_is(set, JSON_OBJECT) || depth > OBJECT_DEPTH_MAX)
		return false;
	JSON_FOREACH (child, set)
		if (!is_step(json_key(child)) ||
		    (!is_dot(child) && !read_level(a, child, depth + 1)))
			return false;
	managed_set_sort(a, set);
	read_dot(set, depth);
	return true;
}

bool managed_set_read(struct arena *a, struct json *set)
{
	return read_level(a, set, 0);
}

/* --- spelling --------------------------------------------------------------------------- */

/* Whether it can be a step's value: keys are scalars, and so are elements of sets. */
static bool is_value(const struct json *v, bool keys)
{
	if (!keys)
		return !json_is_container(v) && v->type != JSON_NULL;
	if (v->type != JSON_OBJECT || v->n == 0)
		return false;
	JSON_FOREACH (key, v)
		if (!is_value(key, false))
			return false;
	return true;
}

/* Returns the step in canonical spelling; p NULL if it is invalid. */
static struct str spell(struct arena *a, struct str step)
{
	static const struct json_style html = { .html = true };
	CLEANUP(buf_release) struct buf b = BUF_INIT(MANAGED_STEP_MAX);
	struct json *v;
	int64_t place;

	if (step.p[0] == 'i')
		return str_to_i64(str_skip(step, 2), &place)
			       ? str_from(arena_printf(a, "i:%" PRId64, place))
			       : STR_NULL;
	if (step.p[0] != 'k' && step.p[0] != 'v')
		return step;
	if (json_parse(a, str_skip(step, 2), NULL, &v, NULL) < 0 || !is_value(v, step.p[0] == 'k'))
		return STR_NULL;
	json_sort(a, v);
	(void)buf_add_str(&b, str_of(step.p, 2));
	return json_print(&b, v, &html) < 0 ? STR_NULL : arena_str(a, buf_str(&b));
}

bool managed_set_normalise(struct arena *a, struct json *set)
{
	struct json same = { .type = JSON_OBJECT }, *next;
	struct str step;
	size_t n;

	for (struct json *child = set->first; child; child = next) {
		next = child->next;
		step = spell(a, json_key(child));
		if (!step.p || !managed_set_normalise(a, child))
			return false;
		json_add(&same, step, child);
	}
	n = same.n;
	json_assign(set, &same);
	managed_set_sort(a, set);
	return set->n == n; /* else two were the same step in different spellings */
}

/* --- operations -------------------------------------------------------------------------- */

/* Fills an emptied object: "." if it is in the set and has members, then the members. */
static void set_fill(struct arena *a, struct json *v, struct json *kept, bool member)
{
	struct json *child = kept->first, *next;

	json_assign(v, &(struct json){ .type = JSON_OBJECT });
	if (member && kept->n)
		json_add(v, STR("."), json_make_object(a));
	for (; child; child = next) {
		next = child->next;
		json_add(v, json_key(child), child);
	}
}

/* Returns true if the field or something below it is left. `member`: the field was in the set. */
static bool subtract(struct arena *a, struct json *set, const struct json *minus, bool member)
{
	struct json kept = { .type = JSON_OBJECT }, *child = set->first, *next;
	const struct json *m = minus->first;
	int order;

	for (; child; child = next) {
		next = child->next;
		if (is_dot(child))
			continue;
		order = -1;
		for (; m; m = m->next) {
			order = managed_step_cmp(json_key(child), json_key(m));
			if (order <= 0)
				break;
		}
		if (m && order == 0 &&
		    !subtract(a, child, m, managed_set_has_node(child) && !managed_set_has_node(m)))
			continue;
		json_add(&kept, json_key(child), child);
	}
	set_fill(a, set, &kept, member);
	return member || set->n;
}

bool managed_set_subtract(struct arena *a, struct json *set, const struct json *minus)
{
	if (!minus)
		return set->n > 0;
	return subtract(a, set, minus, false);
}

static int unite(struct arena *a, struct json *set, const struct json *plus, bool member);

/* Adds to `kept` the members of plus, starting at *p, that come before `key`. */
static int add_before(struct arena *a, struct json *kept, const struct json **p, struct str key)
{
	struct json *copy;
	int r;

	for (; *p; *p = (*p)->next) {
		if (is_dot(*p))
			continue;
		if (key.p && managed_step_cmp(json_key(*p), key) >= 0)
			return 0;
		r = json_copy(a, *p, &copy, NULL);
		if (r < 0)
			return r;
		json_add(kept, arena_str(a, json_key(*p)), copy);
	}
	return 0;
}

static int unite(struct arena *a, struct json *set, const struct json *plus, bool member)
{
	struct json kept = { .type = JSON_OBJECT }, *child = set->first, *next;
	const struct json *p = plus->first;
	int r = 0;

	for (; child && r == 0; child = next) {
		next = child->next;
		if (is_dot(child))
			continue;
		r = add_before(a, &kept, &p, json_key(child));
		if (r == 0 && p && str_eq(json_key(p), json_key(child))) {
			r = unite(a, child, p,
				  managed_set_has_node(child) || managed_set_has_node(p));
			p = p->next;
		}
		json_add(&kept, json_key(child), child);
	}
	if (r == 0)
		r = add_before(a, &kept, &p, STR_NULL);
	set_fill(a, set, &kept, member);
	return r;
}

int managed_set_unite(struct arena *a, struct json *set, const struct json *plus)
{
	return unite(a, set, plus, false);
}

/* --- intersection ---------------------------------------------------------------------- */

/*
 * Returns the member with the same step at or after *at, or NULL. Moves *at forward in the order.
 */
static const struct json *same_step(const struct json **at, struct str step)
{
	for (; *at; *at = (*at)->next) {
		int order = managed_step_cmp(json_key(*at), step);

		if (order >= 0)
			return order == 0 ? *at : NULL;
	}
	return NULL;
}

static struct json *intersect(struct arena *a, const struct json *x, const struct json *y,
			      bool member)
{
	struct json *both = json_make_object(a), *below;
	const struct json *at = y->first, *other;

	JSON_FOREACH (child, x) {
		bool own;

		other = is_dot(child) ? NULL : same_step(&at, json_key(child));
		if (!other)
			continue;
		own = managed_set_has_node(child) && managed_set_has_node(other);
		below = intersect(a, child, other, own);
		if (own || below->n)
			json_add(both, json_key(child), below);
	}
	if (member && both->n) {
		json_add(both, STR("."), json_make_object(a));
		managed_set_sort(a, both);
	}
	return both;
}

struct json *managed_set_intersect(struct arena *a, const struct json *x, const struct json *y)
{
	return intersect(a, x, y, false);
}

/* --- other differences ------------------------------------------------------------------ */

static void subtract_deep(struct arena *a, struct json *set, const struct json *minus, bool member)
{
	struct json kept = { .type = JSON_OBJECT }, *next;
	const struct json *at = minus->first, *other;

	for (struct json *child = set->first; child; child = next) {
		bool own = managed_set_has_node(child);

		next = child->next;
		if (is_dot(child))
			continue;
		other = same_step(&at, json_key(child));
		if (other && managed_set_has_node(other))
			continue;
		if (other)
			subtract_deep(a, child, other, own);
		if (own || child->n)
			json_add(&kept, json_key(child), child);
	}
	set_fill(a, set, &kept, member);
}

void managed_set_subtract_deep(struct arena *a, struct json *set, const struct json *minus)
{
	if (minus)
		subtract_deep(a, set, minus, false);
}

bool managed_set_covers(const struct json *whole, const struct json *part)
{
	const struct json *at = whole->first, *other;

	JSON_FOREACH (child, part) {
		if (is_dot(child))
			continue;
		other = same_step(&at, json_key(child));
		if (!other || (managed_set_has_node(child) && !managed_set_has_node(other)))
			return false;
		if (child->n && !managed_set_covers(other, child))
			return false;
	}
	return true;
}

struct json *managed_set_copy(struct arena *a, const struct json *set)
{
	struct json *copy;

	return json_copy(a, set, &copy, NULL) == 0 ? copy : json_make_object(a);
}

/* --- paths ------------------------------------------------------------------------------ */

size_t managed_set_count(const struct json *set)
{
	size_t n = 0;

	JSON_FOREACH (child, set)
		if (!is_dot(child))
			n += managed_set_has_node(child) + managed_set_count(child);
	return n;
}

struct paths {
	struct arena *arena;
	struct buf text; /* of the current place */
	bool (*found)(void *arg, struct str path);
	void *arg;
};

static bool visit(struct paths *p, const struct json *set);

/* Visits the node itself, or the fields below it. */
static bool visit_node(struct paths *p, const struct json *node, bool below)
{
	size_t n = p->text.n;
	bool more;

	managed_print_step(p->arena, &p->text, json_key(node));
	more = !p->text.overflow && (below ? visit(p, node) : p->found(p->arg, buf_str(&p->text)));
	buf_cut(&p->text, n);
	return more;
}

static bool visit(struct paths *p, const struct json *set)
{
	JSON_FOREACH (child, set)
		if (!is_dot(child) && managed_set_has_node(child) && !visit_node(p, child, false))
			return false;
	JSON_FOREACH (child, set)
		if (!is_dot(child) && child->n && !visit_node(p, child, true))
			return false;
	return true;
}

void managed_set_paths(struct arena *a, const struct json *set,
		       bool (*found)(void *arg, struct str path), void *arg)
{
	struct paths p = {
		.arena = a, .text = BUF_INIT(MANAGED_STEP_MAX), .found = found, .arg = arg
	};

	(void)visit(&p, set);
	buf_release(&p.text);
}
