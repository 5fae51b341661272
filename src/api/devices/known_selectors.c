/*
 * A table in which each text has one place, by its hash; a new text replaces the old one. The hash
 * is keyed, so that nobody can choose texts that evict each other; and an attacker would only gain
 * the cost of compiling. When all texts together use too much memory, places are emptied in turn.
 */
#include "api/devices/known_selectors.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"

enum {
	PLACES = 256, /* a power of two */
	BYTES_MAX = 512 * KIB, /* of all texts */
};

struct known_selectors {
	struct {
		char *text;
		size_t n;
	} places[PLACES];
	size_t bytes; /* of all texts */
	size_t hand; /* the next place to empty */
};

struct known_selectors *known_selectors_new(void)
{
	return xcalloc(1, sizeof(struct known_selectors));
}

void known_selectors_free(struct known_selectors *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < PLACES; i++)
		free(k->places[i].text);
	free(k);
}

static size_t known_selectors_place_of(struct str text)
{
	return hash_bytes(text, hash_process_seed()) & (PLACES - 1);
}

bool known_selectors_have(const struct known_selectors *k, struct str text)
{
	size_t at;

	if (!k || text.n == 0 || text.n > CEL_EXPRESSION_MAX)
		return false;
	at = known_selectors_place_of(text);
	return str_eq(str_of(k->places[at].text, k->places[at].n), text);
}

static void empty(struct known_selectors *k, size_t at)
{
	free(k->places[at].text);
	k->bytes -= k->places[at].n;
	k->places[at].text = NULL;
	k->places[at].n = 0;
}

void known_selectors_add(struct known_selectors *k, struct str text)
{
	size_t at;

	if (!k || text.n == 0 || text.n > CEL_EXPRESSION_MAX)
		return;
	at = known_selectors_place_of(text);
	empty(k, at);
	while (k->bytes + text.n > BYTES_MAX)
		empty(k, k->hand++ & (PLACES - 1));
	k->places[at].text = str_dup(text);
	k->places[at].n = text.n;
	k->bytes += text.n;
}
