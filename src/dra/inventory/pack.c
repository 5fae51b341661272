/*
 * Reading twice costs time once, when an object changes. Reading once would cost memory for as long
 * as the object exists: slack at the end of blocks, or a header for each small allocation.
 */
#include "base/core/mem.h"
#include "dra/inventory/store.h"

static void *memory_alloc(struct cel_device_memory *m, size_t n, size_t align)
{
	return pack_alloc(CONTAINER_OF(m, struct pack, memory), n, align);
}

static struct str memory_text(struct cel_device_memory *m, struct str s)
{
	return pack_text(CONTAINER_OF(m, struct pack, memory), s);
}

static const struct cel_device_name *memory_name(struct cel_device_memory *m, struct str domain,
						 struct str id)
{
	struct pack *p = CONTAINER_OF(m, struct pack, memory);
	struct str key = pack_joined(p, domain, id);
	struct cel_device_name *name = map_get(&p->names, key);

	if (name)
		return name;
	name = PACK_NEW(p, struct cel_device_name);
	*name = (struct cel_device_name){ pack_text(p, domain), pack_text(p, id) };
	map_put(&p->names, key, name);
	return name;
}

/* Types are distinguished by their size, which is part of the key. */
static void *memory_shared(struct cel_device_memory *m, struct str text, size_t n, bool *ret_known)
{
	struct pack *p = CONTAINER_OF(m, struct pack, memory);
	struct str key = pack_joined(p, str_from(arena_printf(&p->scratch, "%zu", n)), text);
	void *known = map_get(&p->shared, key);

	*ret_known = known != NULL;
	if (known)
		return known;
	known = pack_alloc(p, n, _Alignof(max_align_t));
	map_put(&p->shared, key, known);
	return known;
}

void pack_init(struct pack *p)
{
	*p = (struct pack){ .memory = { memory_alloc, memory_text, memory_name, memory_shared } };
	arena_init(&p->scratch, SIZE_MAX);
	map_init(&p->texts);
	map_init(&p->names);
	map_init(&p->shared);
}

void pack_allocate(struct pack *p)
{
	p->split = p->front;
	p->block = xcalloc(1, p->front + p->back);
	p->front = p->back = 0;
	map_clear(&p->texts);
	map_clear(&p->names);
	map_clear(&p->shared);
}

void pack_release(struct pack *p)
{
	map_release(&p->texts);
	map_release(&p->names);
	map_release(&p->shared);
	arena_release(&p->scratch);
}

void *pack_alloc(struct pack *p, size_t n, size_t align)
{
	size_t at = ALIGN_UP(p->front, align);

	p->front = at + n;
	return p->block ? p->block + at : arena_calloc(&p->scratch, n);
}

struct str pack_text(struct pack *p, struct str s)
{
	char *text;

	if (s.n == 0)
		return STR("");
	text = map_get(&p->texts, s);
	if (text)
		return str_of(text, s.n);
	text = p->block ? p->block + p->split + p->back : arena_alloc(&p->scratch, s.n);
	str_put(text, s);
	p->back += s.n;
	map_put(&p->texts, str_of(text, s.n), text);
	return str_of(text, s.n);
}

struct str pack_near(struct pack *p, struct str s)
{
	char *text = pack_alloc(p, s.n, 1);

	str_put(text, s);
	return str_of(text, s.n);
}

struct str *pack_texts(struct pack *p, const struct json *array)
{
	struct str *texts;
	size_t n = 0;

	if (json_count(array) == 0)
		return NULL;
	texts = PACK_ARRAY(p, struct str, json_count(array));
	JSON_FOREACH (v, array)
		texts[n++] = pack_text(p, json_str(v));
	return texts;
}

struct str pack_joined(struct pack *p, struct str a, struct str b)
{
	char *text = arena_alloc(&p->scratch, a.n + 1 + b.n);

	str_put(text, a);
	text[a.n] = '/';
	str_put(text + a.n + 1, b);
	return str_of(text, a.n + 1 + b.n);
}
