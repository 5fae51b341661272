/*
 * openapi - the schema as OpenAPI documents.
 *
 *	/openapi/v2                   one document for all, JSON or protobuf
 *	/openapi/v3                   where the documents of the group versions are
 *	/openapi/v3/api/v1, /openapi/v3/apis/<g>/<v>   JSON
 *
 * Clients find in them which fields there are (`explain`, client-side
 * validation of kubectl before 1.25), how lists merge (`apply`) and that the
 * server validates fields itself (the fieldValidation parameter of PATCH).
 *
 * Each document is made on first demand and kept. The URLs in /openapi/v3 carry
 * a hash of what is behind them, so that clients may keep it for ever.
 * Threads: any; two that ask at once for what is not there yet may both make
 * it, and one result is kept.
 */
#ifndef SERVER_PUBLISH_OPENAPI_H
#define SERVER_PUBLISH_OPENAPI_H

#include "api/schema/gates.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct document; /* server/publish/document.h */
struct openapi;

struct schema_kind;

/*
 * Of these kinds, which are borrowed. What `before` (may be NULL) has of a group version that has
 * the same kinds there is taken over.
 */
struct openapi *openapi_new(const struct gates *gates, const struct schema_kind *const *kinds,
			    size_t nkinds, const struct openapi *before);
void openapi_free(struct openapi *o);

/*
 * The document at a path, of the first type of the Accept header (may be empty) that
 * there is. It lives as long as `o`. -ERR_NOT_FOUND, -ERR_NOT_ACCEPTABLE, -ERR_TOO_LARGE.
 *
 * A request for a document of /openapi/v3/ may carry `?hash=`. When it is not
 * document_hash(), answer 301 to the same path with that hash.
 */
int openapi_get(struct openapi *o, struct str path, struct str accept,
		const struct document **ret_document, struct error *err);

#endif
