/*
 * node_selector - core/v1 NodeSelector: selects nodes by labels and by name.
 *
 * Terms are alternatives. Within a term all requirements must hold: those on labels
 * (matchExpressions) and those on fields (matchFields, which supports only metadata.name). A term
 * without requirements matches no node.
 */
#ifndef API_SELECTOR_NODE_SELECTOR_H
#define API_SELECTOR_NODE_SELECTOR_H

#include "api/selector/selector.h"
#include "base/json/json.h"

struct node_selector_term {
	struct selector labels, fields;
};

struct node_selector {
	const struct node_selector_term *terms;
	size_t n;
};

/*
 * Reads the object; everything is copied into the arena. -ERR_INVALID for an unknown operator, or
 * values that do not fit it.
 */
int node_selector_read(struct arena *a, const struct json *v, struct node_selector *ret_selector,
		       struct error *err);

/* `labels` is an object of strings, or NULL. */
bool node_selector_matches(const struct node_selector *s, struct str node,
			   const struct json *labels);

/* Makes a requirement as in the API: {key, operator, values}. Text is borrowed. */
struct json *node_selector_requirement(struct arena *a, const struct selector_term *t);

#endif
