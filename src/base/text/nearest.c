/*
 * Edit distance over three rows of the usual table: the row being filled, the
 * one above it, and the one above that, which a swap of neighbours looks at.
 * Words are bounded, so the rows live on the stack.
 */
#include "base/text/nearest.h"

enum { ABBREVIATION_MIN = 3, LETTERS_PER_MISTAKE = 3 };

static bool nearest_same(char a, char b)
{
	return str_ieq(str_of(&a, 1), str_of(&b, 1));
}

size_t nearest_distance(struct str a, struct str b)
{
	size_t rows[3][NEAREST_WORD_MAX + 1];
	size_t *above2 = rows[0], *above = rows[1], *row = rows[2], *spare;

	if (a.n > NEAREST_WORD_MAX || b.n > NEAREST_WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.n; j++)
		above[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			row[j] = MIN(MIN(row[j - 1], above[j]) + 1,
				     above[j - 1] + !nearest_same(a.p[i - 1], b.p[j - 1]));
			if (i > 1 && j > 1 && nearest_same(a.p[i - 1], b.p[j - 2]) &&
			    nearest_same(a.p[i - 2], b.p[j - 1]))
				row[j] = MIN(row[j], above2[j - 2] + 1);
		}
		spare = above2;
		above2 = above;
		above = row;
		row = spare;
	}
	return above[b.n];
}

static bool abbreviates(struct str word, struct str full)
{
	return word.n >= ABBREVIATION_MIN && word.n < full.n &&
	       str_ieq(word, str_of(full.p, word.n));
}

void nearest_init(struct nearest *n, struct str word)
{
	*n = (struct nearest){
		.word = word,
		.distance = (word.n + LETTERS_PER_MISTAKE - 1) / LETTERS_PER_MISTAKE + 1,
	};
}

void nearest_offer(struct nearest *n, struct str candidate)
{
	size_t distance = nearest_distance(n->word, candidate);

	if (abbreviates(n->word, candidate))
		distance = MIN(distance, (size_t)1);
	/* If all letters differ, it is a different word, however short both are. */
	if (distance >= n->distance || distance >= MAX(n->word.n, candidate.n))
		return;
	n->best = candidate;
	n->distance = distance;
}

struct str nearest_get(const struct nearest *n)
{
	return n->best;
}
