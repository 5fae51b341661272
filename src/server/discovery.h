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
 * 1.30 does). All documents are made from the schema when the server starts;
 * kinds whose gate is off are not in them. /api/v1 says in `features` which
 * gates are on.
 * Threads: constant once made; anybody may read.
 */
#ifndef SERVER_DISCOVERY_H
#define SERVER_DISCOVERY_H

#include "api/gates.h"
#include "base/error.h"
#include "base/str.h"

struct accept; /* server/negotiate.h */
struct discovery;
struct document; /* server/document.h */

struct discovery *discovery_new(const struct gates *gates);
void discovery_free(struct discovery *d);

/*
 * The document at a path, in the form that was asked for: aggregated when
 * accept->as is ACCEPT_DISCOVERY_V2 (v2beta1 when accept->as_version is that) and
 * the path has such a form, else the old one. A slash at the end of the path is
 * ignored. The document lives as long as `d`. -ERR_NOT_FOUND.
 */
int discovery_get(const struct discovery *d, struct str path, const struct accept *accept,
		  const struct document **ret_document, struct error *err);

#endif
