/*
 * discovery - which groups, versions and resources there are.
 *
 *	/api                 APIVersions
 *	/apis                APIGroupList
 *	/apis/<g>            APIGroup
 *	/api/v1, /apis/<g>/<v>   APIResourceList
 *
 * and /api and /apis in the aggregated form, one APIGroupDiscoveryList for all, when
 * the client asks for it (apidiscovery.k8s.io v2, or v2beta1 as kubectl before
 * 1.30 does). Each document is made from the list of kinds when it is first asked for;
 * kinds whose gate is off are not in them. /api/v1 says in `features` which
 * gates are on.
 * Threads: anybody may read.
 */
#ifndef SERVER_PUBLISH_DISCOVERY_H
#define SERVER_PUBLISH_DISCOVERY_H

#include "api/schema/gates.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct accept; /* server/request/negotiate.h */
struct discovery;
struct document; /* server/publish/document.h */
struct schema_kind;

/*
 * Of these kinds, which are borrowed: groups one after the other, their versions with the
 * preferred one first.
 */
struct discovery *discovery_new(const struct gates *gates, const struct schema_kind *const *kinds,
				size_t nkinds);
void discovery_free(struct discovery *d);

/*
 * The document at a path, in the form that was asked for: aggregated when
 * accept->as is ACCEPT_DISCOVERY_V2 (v2beta1 when accept->as_version is that) and
 * the path has such a form, else the old one. A slash at the end of the path is
 * ignored. The document lives as long as `d`. -ERR_NOT_FOUND, -ERR_TOO_LARGE.
 */
int discovery_get(const struct discovery *d, struct str path, const struct accept *accept,
		  const struct document **ret_document, struct error *err);

#endif
