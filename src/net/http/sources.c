/* A source lives while it has connections. */
#include "net/http/sources.h"

#include <netinet/in.h>

#include "base/core/mem.h"

enum { PREFIX = 8 }; /* bytes of an IPv6 address that count */

struct http_source {
	size_t conns;
	struct str key;
	char address[PREFIX];
};

void http_sources_init(struct http_sources *s, size_t max)
{
	lock_init(&s->lock);
	map_init(&s->map);
	s->max = max;
}

void http_sources_release(struct http_sources *s)
{
	map_release(&s->map);
	lock_destroy(&s->lock);
}

static struct str sources_key_of(const struct addr *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&from->sa;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&from->sa;

	if (from->kind != ADDR_INET)
		return STR_NULL;
	return from->sa.ss_family == AF_INET6 ? str_of(&v6->sin6_addr, PREFIX)
					      : str_of(&v4->sin_addr, sizeof(v4->sin_addr));
}

static struct http_source *source_of(struct http_sources *s, struct str key)
{
	struct http_source *source = map_get(&s->map, key);

	if (source)
		return source;
	source = XNEW(struct http_source);
	str_put(source->address, key);
	source->key = str_of(source->address, key.n);
	(void)map_put(&s->map, source->key, source);
	return source;
}

bool http_sources_enter(struct http_sources *s, const struct addr *from,
			struct http_source **ret_source)
{
	struct str key = s->max ? sources_key_of(from) : STR_NULL;
	struct http_source *source;
	bool room;

	*ret_source = NULL;
	if (!key.p)
		return true;
	lock_acquire(&s->lock);
	source = source_of(s, key);
	room = source->conns < s->max;
	if (room)
		source->conns++;
	lock_release(&s->lock);
	*ret_source = room ? source : NULL;
	return room;
}

void http_sources_leave(struct http_sources *s, struct http_source *source)
{
	if (!source)
		return;
	lock_acquire(&s->lock);
	if (--source->conns == 0) {
		(void)map_remove(&s->map, source->key);
		free(source);
	}
	lock_release(&s->lock);
}
