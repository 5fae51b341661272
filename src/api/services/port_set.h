/*
 * port_set - a set of port numbers, 1 to 65535. Other numbers are ignored.
 */
#ifndef API_SERVICES_PORT_SET_H
#define API_SERVICES_PORT_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { PORT_SET_MAX = 65535, PORT_SET_WORDS = (PORT_SET_MAX + 1) / 64 };

/* All zero: empty. */
struct port_set {
	uint64_t words[PORT_SET_WORDS];
};

static inline bool port_set_takes(int64_t port)
{
	return port >= 1 && port <= PORT_SET_MAX;
}

static inline bool port_set_has(const struct port_set *s, int64_t port)
{
	return port_set_takes(port) && (s->words[port / 64] >> (port % 64) & 1);
}

static inline void port_set_add(struct port_set *s, int64_t port)
{
	if (port_set_takes(port))
		s->words[port / 64] |= (uint64_t)1 << (port % 64);
}

static inline void port_set_remove(struct port_set *s, int64_t port)
{
	if (port_set_takes(port))
		s->words[port / 64] &= ~((uint64_t)1 << (port % 64));
}

/* Returns the first port that is not below `from`; 0 if not found. Most sets are nearly empty. */
static inline int64_t port_set_next(const struct port_set *s, int64_t from)
{
	uint64_t mask = UINT64_MAX << (uint64_t)from % 64;

	for (int64_t i = from / 64; port_set_takes(from) && i < PORT_SET_WORDS; i++) {
		if (s->words[i] & mask)
			return i * 64 + __builtin_ctzll(s->words[i] & mask);
		mask = UINT64_MAX;
	}
	return 0;
}

static inline bool port_set_empty(const struct port_set *s)
{
	return port_set_next(s, 1) == 0;
}

#define PORT_SET_FOREACH(port, set) \
	for (int64_t port = port_set_next(set, 1); port; port = port_set_next(set, port + 1))

#endif
