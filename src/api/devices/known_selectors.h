/*
 * known_selectors - a cache of device selectors that were found valid.
 *
 * Compiling a selector to validate it takes as long as half of the rest of a write, and most claims
 * of a cluster use the few selectors of their templates. The cache holds some recently used ones,
 * by their text. A selector that is not cached is compiled as usual, so a miss costs only time. All
 * uses must have the same gates.
 *
 * Threads: one at a time.
 */
#ifndef API_DEVICES_KNOWN_SELECTORS_H
#define API_DEVICES_KNOWN_SELECTORS_H

#include "base/core/str.h"

struct known_selectors;

struct known_selectors *known_selectors_new(void);
void known_selectors_free(struct known_selectors *k);

/* Whether the text is in the cache. `k` may be NULL: an empty cache. */
bool known_selectors_have(const struct known_selectors *k, struct str text);

/*
 * Adds a valid selector: it compiles, selects and does not cost too much. Long texts are not
 * cached.
 */
void known_selectors_add(struct known_selectors *k, struct str text);

#endif
