/*
 * Scalars are few (a pod has none or one, a node a handful), so they are in a sorted array that is
 * searched from its end: sums usually add the same names in the same order.
 *
 * While amounts are read, names go through several temporary sums and are not counted. The final
 * sum counts its names once (amounts_hold()), and names that only the temporary sums had are freed
 * then.
 */
#include "scheduler/cache/amounts.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/json/quantity.h"

void amount_names_init(struct amount_names *n)
{
	map_init(&n->by_name);
	vec_init(&n->names, UINT32_MAX);
	vec_init(&n->free, UINT32_MAX);
	vec_init(&n->unheld, UINT32_MAX);
}

void amount_names_release(struct amount_names *n)
{
	for (size_t i = 0; i < n->names.n; i++)
		free(n->names.v[i]);
	vec_release(&n->names);
	vec_release(&n->free);
	vec_release(&n->unheld);
	map_release(&n->by_name);
}

static uint32_t next_number(struct amount_names *n)
{
	if (n->free.n > 0)
		return n->free.v[--n->free.n];
	(void)vec_push(&n->names, NULL);
	return (uint32_t)(n->names.n - 1);
}

uint32_t amount_names_read(struct amount_names *n, struct str name)
{
	struct amount_name *a = map_get(&n->by_name, name);

	if (a)
		return a->id;
	a = xmalloc(sizeof(*a) + name.n + 1);
	str_put(a + 1, name);
	((char *)(a + 1))[name.n] = '\0';
	*a = (struct amount_name){ .id = next_number(n), .name = str_of(a + 1, name.n) };
	n->names.v[a->id] = a;
	map_put(&n->by_name, a->name, a);
	(void)vec_push(&n->unheld, a->id);
	return a->id;
}

uint32_t amount_names_id(struct amount_names *n, struct str name)
{
	uint32_t id = amount_names_read(n, name);

	n->names.v[id]->holds++;
	return id;
}

static void amounts_forget(struct amount_names *n, uint32_t id)
{
	struct amount_name *a = n->names.v[id];

	map_remove(&n->by_name, a->name);
	n->names.v[id] = NULL;
	(void)vec_push(&n->free, id);
	free(a);
}

struct str amount_names_text(const struct amount_names *n, uint32_t id)
{
	return id < n->names.n && n->names.v[id] ? n->names.v[id]->name : STR_NULL;
}

void amounts_hold(const struct amounts *a, struct amount_names *names)
{
	for (size_t i = 0; i < a->scalars.n; i++)
		names->names.v[a->scalars.v[i].name]->holds++;
	for (size_t i = 0; i < names->unheld.n; i++)
		if (names->names.v[names->unheld.v[i]]->holds == 0)
			amounts_forget(names, names->unheld.v[i]);
	names->unheld.n = 0;
}

void amounts_drop(const struct amounts *a, struct amount_names *names)
{
	for (size_t i = 0; i < a->scalars.n; i++)
		if (--names->names.v[a->scalars.v[i].name]->holds == 0)
			amounts_forget(names, a->scalars.v[i].name);
}

void amounts_init(struct amounts *a)
{
	*a = (struct amounts){ .cpu_milli = 0 };
	vec_init(&a->scalars, UINT32_MAX);
}

void amounts_release(struct amounts *a)
{
	vec_release(&a->scalars);
}

void amounts_copy(struct amounts *to, const struct amounts *from)
{
	to->cpu_milli = from->cpu_milli;
	to->memory = from->memory;
	to->ephemeral = from->ephemeral;
	to->pods = from->pods;
	to->scalars.n = 0;
	if (from->scalars.n == 0)
		return;
	(void)vec_reserve(&to->scalars, from->scalars.n);
	memcpy(to->scalars.v, from->scalars.v, from->scalars.n * sizeof(*from->scalars.v));
	to->scalars.n = from->scalars.n;
}

/* Returns the entry of the name, and creates it if necessary. */
static struct amount_scalar *amounts_need(struct amounts *a, uint32_t name)
{
	size_t at = a->scalars.n;

	while (at > 0 && a->scalars.v[at - 1].name > name)
		at--;
	if (at > 0 && a->scalars.v[at - 1].name == name)
		return &a->scalars.v[at - 1];
	(void)vec_push(&a->scalars, (struct amount_scalar){ 0 });
	memmove(&a->scalars.v[at + 1], &a->scalars.v[at],
		(a->scalars.n - 1 - at) * sizeof(*a->scalars.v));
	a->scalars.v[at] = (struct amount_scalar){ .name = name };
	return &a->scalars.v[at];
}

void amounts_add(struct amounts *a, const struct amounts *b)
{
	a->cpu_milli = amount_sum(a->cpu_milli, b->cpu_milli);
	a->memory = amount_sum(a->memory, b->memory);
	a->ephemeral = amount_sum(a->ephemeral, b->ephemeral);
	a->pods = amount_sum(a->pods, b->pods);
	for (size_t i = 0; i < b->scalars.n; i++) {
		struct amount_scalar *s = amounts_need(a, b->scalars.v[i].name);

		s->value = amount_sum(s->value, b->scalars.v[i].value);
	}
}

/* Removes entries of 0, because their names may no longer be held. */
static void drop_zeros(struct amounts *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->scalars.n; i++)
		if (a->scalars.v[i].value != 0)
			a->scalars.v[n++] = a->scalars.v[i];
	a->scalars.n = n;
}

void amounts_sub(struct amounts *a, const struct amounts *b)
{
	a->cpu_milli = amount_sum(a->cpu_milli, -b->cpu_milli);
	a->memory = amount_sum(a->memory, -b->memory);
	a->ephemeral = amount_sum(a->ephemeral, -b->ephemeral);
	a->pods = amount_sum(a->pods, -b->pods);
	for (size_t i = 0; i < b->scalars.n; i++) {
		struct amount_scalar *s = amounts_need(a, b->scalars.v[i].name);

		s->value = amount_sum(s->value, -b->scalars.v[i].value);
	}
	if (b->scalars.n > 0)
		drop_zeros(a);
}

void amounts_max(struct amounts *a, const struct amounts *b)
{
	a->cpu_milli = MAX(a->cpu_milli, b->cpu_milli);
	a->memory = MAX(a->memory, b->memory);
	a->ephemeral = MAX(a->ephemeral, b->ephemeral);
	a->pods = MAX(a->pods, b->pods);
	for (size_t i = 0; i < b->scalars.n; i++) {
		struct amount_scalar *s = amounts_need(a, b->scalars.v[i].name);

		s->value = MAX(s->value, b->scalars.v[i].value);
	}
}

int64_t amounts_scalar(const struct amounts *a, uint32_t name)
{
	for (size_t i = a->scalars.n; i > 0 && a->scalars.v[i - 1].name >= name; i--)
		if (a->scalars.v[i - 1].name == name)
			return a->scalars.v[i - 1].value;
	return 0;
}

void amounts_set_scalar(struct amounts *a, uint32_t name, int64_t value)
{
	amounts_need(a, name)->value = value;
}

void amounts_clamp(struct amounts *a)
{
	a->cpu_milli = amount_clamp(a->cpu_milli);
	a->memory = amount_clamp(a->memory);
	a->ephemeral = amount_clamp(a->ephemeral);
	a->pods = amount_clamp(a->pods);
	for (size_t i = 0; i < a->scalars.n; i++)
		a->scalars.v[i].value = amount_clamp(a->scalars.v[i].value);
}

/*
 * Whether the name is a scalar: an extended resource, huge pages or attachable volumes. Other names
 * without a domain are ignored.
 */
static bool is_scalar(struct str name)
{
	if (str_starts(name, STR("hugepages-")) || str_starts(name, STR("attachable-volumes-")))
		return true;
	return str_chr(name, '/') >= 0 && !str_starts(name, STR("requests."));
}

static void add_one(struct amounts *a, struct amount_names *names, struct str name,
		    struct quantity q)
{
	struct amount_scalar *s;

	if (str_eqz(name, "cpu")) {
		a->cpu_milli = amount_sum(a->cpu_milli, quantity_milli(q));
	} else if (str_eqz(name, "memory")) {
		a->memory = amount_sum(a->memory, quantity_value(q));
	} else if (str_eqz(name, "ephemeral-storage")) {
		a->ephemeral = amount_sum(a->ephemeral, quantity_value(q));
	} else if (str_eqz(name, "pods")) {
		a->pods = amount_sum(a->pods, quantity_value(q));
	} else if (is_scalar(name)) {
		s = amounts_need(a, amount_names_read(names, name));
		s->value = amount_sum(s->value, quantity_value(q));
	}
}

bool amounts_add_list(struct amounts *a, struct amount_names *names, const struct json *list,
		      size_t max)
{
	struct quantity q;

	if (!json_is(list, JSON_OBJECT))
		return true;
	JSON_FOREACH (v, list) {
		if (quantity_read(v, &q))
			add_one(a, names, json_key(v), q);
		if (a->scalars.n > max)
			return false;
	}
	return true;
}
