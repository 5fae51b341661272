/*
 * nearest - find what a mistyped word was meant to be.
 *
 *	struct nearest n;
 *	nearest_init(&n, STR("sevrer"));
 *	nearest_offer(&n, STR("scheduler"));
 *	nearest_offer(&n, STR("server"));
 *	nearest_get(&n);  -> "server"
 *
 * The distance is Damerau-Levenshtein's in its restricted form: a letter
 * added, lost or changed, or two neighbours swapped, is one mistake; letters'
 * case is ignored. One mistake is forgiven for each three letters begun, and
 * an abbreviation (a true beginning of at least three letters) counts as one.
 */
#ifndef BASE_TEXT_NEAREST_H
#define BASE_TEXT_NEAREST_H

#include "base/core/str.h"

/* Words longer than this have no neighbours: the work stays bounded. */
enum { NEAREST_WORD_MAX = 64 };

struct nearest {
	struct str word; /* borrowed until the last offer */
	struct str best; /* borrowed from the offers */
	size_t distance; /* of best; while there is none, one more than is forgiven */
};

void nearest_init(struct nearest *n, struct str word);

/* Considers one candidate; of equally near ones the first offered wins. */
void nearest_offer(struct nearest *n, struct str candidate);

/* The nearest offer, or an empty one when none is near enough to be worth naming. */
struct str nearest_get(const struct nearest *n);

/* Mistakes between two words; SIZE_MAX when either exceeds NEAREST_WORD_MAX. */
size_t nearest_distance(struct str a, struct str b);

#endif
