/*
 * known_selectors - device selectors that were found right before.
 *
 * Compiling one to judge it takes as long as half of all else that a write does, and most claims of
 * a cluster have the few selectors of their templates. Remembers some of those seen last, by their
 * text: what is not here is judged as ever, so that forgetting costs time only. The gates must
 * be the same for all uses.
 *
 * Threads: one at a time.
 */
#ifndef API_DEVICES_KNOWN_SELECTORS_H
#define API_DEVICES_KNOWN_SELECTORS_H

#include "base/core/str.h"

struct known_selectors;

struct known_selectors *known_selectors_new(void);
void known_selectors_free(struct known_selectors *k);

/* Whether the text was added and is not forgotten. NULL knows nothing. */
bool known_selectors_have(const struct known_selectors *k, struct str text);

/* That is right: compiles, selects and is not too dear. Long ones are not kept. */
void known_selectors_add(struct known_selectors *k, struct str text);

#endif
