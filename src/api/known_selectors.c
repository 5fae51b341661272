/*
 * A table in which each text has one place, by its hash, and the last one there counts. The hash is
 * keyed, so that nobody can choose texts that drive each other out; nor would it gain more
 * than what it costs to be judged.
 */
#include "api/known_selectors.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"

enum {
	PLACES = 256, /* a power of two */
	TEXT_MAX = 1024, /* so that all of them together are 256 KiB at most */
};

struct known_selectors {
	struct {
		char *text;
		size_t n;
	} places[PLACES];
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

static size_t place_of(struct str text)
{
	return hash_bytes(text, hash_process_seed()) & (PLACES - 1);
}

bool known_selectors_have(const struct known_selectors *k, struct str text)
{
	size_t at;

	if (!k || text.n == 0 || text.n > TEXT_MAX)
		return false;
	at = place_of(text);
	return str_eq(str_of(k->places[at].text, k->places[at].n), text);
}

void known_selectors_add(struct known_selectors *k, struct str text)
{
	size_t at;

	if (!k || text.n == 0 || text.n > TEXT_MAX)
		return;
	at = place_of(text);
	free(k->places[at].text);
	k->places[at].text = str_dup(text);
	k->places[at].n = text.n;
}
