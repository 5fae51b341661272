/*
 * nearest - finds the intended word for a mistyped one.
 *
 *	struct nearest n;
 *	nearest_init(&n, STR("sevrer"));
 *	nearest_offer(&n, STR("scheduler"));
 *	nearest_offer(&n, STR("server"));
 *	nearest_get(&n);  -> "server"
 *
 * The distance is the restricted Damerau-Levenshtein distance: adding, removing or changing a
 * letter, or swapping two neighbours, is one mistake; case is ignored. One mistake is allowed per
 * three letters begun, and an abbreviation (a proper prefix of at least three letters) counts as
 * one.
 */
#ifndef BASE_TEXT_NEAREST_H
#define BASE_TEXT_NEAREST_H

#include "base/core/str.h"

/* Longer words never match, so the work stays bounded. */
enum { NEAREST_WORD_MAX = 64 };

struct nearest {
	struct str word; /* borrowed until the last offer */
	struct str best; /* borrowed from the offers */
	size_t distance; /* of best; initially one more than allowed */
};

void nearest_init(struct nearest *n, struct str word);

/* Considers one candidate; among equally near ones the first wins. */
void nearest_offer(struct nearest *n, struct str candidate);

/* The nearest offer; empty if none is near enough. */
struct str nearest_get(const struct nearest *n);

/* The number of mistakes between two words; SIZE_MAX if either exceeds NEAREST_WORD_MAX. */
size_t nearest_distance(struct str a, struct str b);

#endif
