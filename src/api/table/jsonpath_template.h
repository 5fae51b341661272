/*
 * jsonpath_template - text with paths in braces, as in `kubectl get -o jsonpath=TEMPLATE`.
 *
 *   {.metadata.name}{"\n"}
 *   {range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}
 *
 * Text outside of braces is literal. The values of one path are separated by spaces; an object or
 * list is compact JSON with sorted names. kubectl's output is reproduced byte by byte, except that
 * kubectl shuffles what `..` and `.*` find in an object, and that a range without its end is an
 * error here.
 * Threads: a template is immutable; any thread may use it.
 */
#ifndef API_TABLE_JSONPATH_TEMPLATE_H
#define API_TABLE_JSONPATH_TEMPLATE_H

#include "api/table/jsonpath.h"

struct jsonpath_template;

/* All memory is the arena's. -ERR_BAD_REQUEST with a message. */
int jsonpath_template_compile(struct arena *a, struct str text,
			      const struct jsonpath_template **ret_template, struct error *err);

/*
 * Appends the text for this object. `a` is scratch memory, in which objects to be printed get
 * sorted: pass an arena that can be cleared or released afterwards. Fails like jsonpath_find().
 */
int jsonpath_template_print(const struct jsonpath_template *t, const struct json *root,
			    struct arena *a, struct buf *out, struct error *err);

#endif
