/*
 * discovery - the API groups, versions and resources.
 *
 *	/api                 APIVersions
 *	/apis                APIGroupList
 *	/apis/<g>            APIGroup
 *	/api/v1, /apis/<g>/<v>   APIResourceList
 *
 * /api and /apis are also served in the aggregated form, one APIGroupDiscoveryList for all, if
 * the client accepts it (apidiscovery.k8s.io v2, or v2beta1 for kubectl before 1.30). Each
 * document is made from the list of kinds on first demand. Kinds whose gate is off are left out.
 * /api/v1 lists the enabled gates in `features`.
 *
 * Threads: any thread may read.
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
 * For these kinds, which are borrowed. Kinds must be grouped by API group, with the preferred
 * version of each group first.
 */
struct discovery *discovery_new(const struct gates *gates, const struct schema_kind *const *kinds,
				size_t nkinds);
void discovery_free(struct discovery *d);

/*
 * The document at a path in the negotiated form: aggregated if accept->as is ACCEPT_DISCOVERY_V2
 * (v2beta1 if accept->as_version says so) and the path has such a form, else the traditional one.
 * A trailing slash is ignored. The document lives as long as `d`. -ERR_NOT_FOUND, -ERR_TOO_LARGE.
 */
int discovery_get(const struct discovery *d, struct str path, const struct accept *accept,
		  const struct document **ret_document, struct error *err);

#endif
