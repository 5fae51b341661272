/*
 * crd_cel_type - the CEL types of the values of a schema.
 *
 * Every node of a structural schema has a CEL type, with the maximum size of its values, or none:
 * rules cannot see values whose structure is unknown. Property names that are not identifiers are
 * escaped.
 *
 * Threads: types are immutable.
 */
#ifndef API_CRD_CEL_TYPE_H
#define API_CRD_CEL_TYPE_H

#include "api/crd/crd_impl.h"
#include "cel/core/type.h"

/* The maximum size of a request, in bytes, that cost estimates assume. */
#define CRD_CEL_REQUEST_MAX (3 * 1024 * 1024)

/*
 * Makes the type of a node whose children have theirs (struct crd_cel). Returns NULL if it has
 * none. `name` is the name of the object type; it must be unique. *ret_min_size is the minimum size
 * of its JSON.
 */
const struct cel_type *crd_cel_type(struct arena *a, const struct crd_schema *s, struct str name,
				    int64_t *ret_min_size);

/*
 * Escapes a property's name to an identifier: "a.b-c" becomes a__dot__b__dash__c, "namespace"
 * becomes __namespace__. Returns false if that is impossible, for example if it begins with a
 * digit.
 */
bool crd_cel_escape(struct arena *a, struct str name, struct str *ret_escaped);

/*
 * The reverse. If nothing is escaped, *ret_name is `escaped`; else it is in `room` (of escaped.n
 * bytes). Returns false if no name has this escaped form.
 */
bool crd_cel_unescape(struct str escaped, char *room, struct str *ret_name);

/* Whether the name may contain an escape: two underscores. */
static inline bool crd_cel_is_escaped(struct str name)
{
	for (size_t i = 0; i + 1 < name.n; i++)
		if (name.p[i] == '_' && name.p[i + 1] == '_')
			return true;
	return false;
}

#endif
