/*
 * crd_cel_type - what rules in CEL know about the values of a schema.
 *
 * Every node of a structural schema has a type of CEL, with the size that its values can
 * have at most, or none: values whose structure is not known are not seen by rules. Names
 * of properties are escaped where they are no identifiers.
 *
 * Threads: types are immutable.
 */
#ifndef API_CRD_CEL_TYPE_H
#define API_CRD_CEL_TYPE_H

#include "api/crd/crd_impl.h"
#include "cel/core/type.h"

/* The bytes of a request that estimates reckon with. */
#define CRD_CEL_REQUEST_MAX (3 * 1024 * 1024)

/*
 * The type of a node whose children have theirs (struct crd_cel), or NULL. `name` is what an
 * object is called: another one for each. *ret_min_size is what its JSON takes at least.
 */
const struct cel_type *crd_cel_type(struct arena *a, const struct crd_schema *s, struct str name,
				    int64_t *ret_min_size);

/*
 * A property's name as an identifier: "a.b-c" is a__dot__b__dash__c, "namespace"
 * __namespace__. False when there is none, as for what begins with a digit.
 */
bool crd_cel_escape(struct arena *a, struct str name, struct str *ret_escaped);

/*
 * The reverse, in place when nothing is escaped, else in `room` (of escaped.n bytes). False
 * when it stands for no name.
 */
bool crd_cel_unescape(struct str escaped, char *room, struct str *ret_name);

/* Whether there is anything to unescape. */
static inline bool crd_cel_is_escaped(struct str name)
{
	for (size_t i = 0; i + 1 < name.n; i++)
		if (name.p[i] == '_' && name.p[i + 1] == '_')
			return true;
	return false;
}

#endif
