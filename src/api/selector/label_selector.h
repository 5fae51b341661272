/*
 * label_selector - matches labels with a LabelSelector in an object's tree.
 *
 * Reads the tree directly and allocates nothing. A selector that fits its type but breaks its rules
 * (an unknown operator) matches nothing.
 */
#ifndef API_SELECTOR_LABEL_SELECTOR_H
#define API_SELECTOR_LABEL_SELECTOR_H

#include <stdbool.h>

struct json;

/* Both parts must hold. An empty selector matches everything, a missing one (NULL) nothing. */
bool label_selector_matches(const struct json *selector, const struct json *labels);

/* Whether it has no part, and so matches everything. Also true for NULL. */
bool label_selector_is_empty(const struct json *selector);

#endif
