/*
 * label_selector - whether a LabelSelector, as an object has it, finds labels.
 *
 * Reads the tree as it is, without memory of its own. What fits its type but
 * not its rules (an operator that does not exist) finds nothing.
 */
#ifndef API_SELECTOR_LABEL_SELECTOR_H
#define API_SELECTOR_LABEL_SELECTOR_H

#include <stdbool.h>

struct json;

/* Both parts must hold; an empty selector finds everything, none (NULL) finds nothing. */
bool label_selector_matches(const struct json *selector, const struct json *labels);

/* Whether it has no part: what finds everything. NULL is empty, too. */
bool label_selector_is_empty(const struct json *selector);

#endif
