/*
 * openapi - the schema as OpenAPI documents.
 *
 *	/openapi/v2                   one document for all, JSON or protobuf
 *	/openapi/v3                   the URLs of the group versions' documents
 *	/openapi/v3/api/v1, /openapi/v3/apis/<g>/<v>   JSON
 *
 * Clients read from them which fields exist (`explain`, client-side validation of kubectl before
 * 1.25), how lists merge (`apply`), and that the server validates fields itself (the
 * fieldValidation parameter of PATCH).
 *
 * Each document is made on first demand and kept. The URLs in /openapi/v3 include a hash of their
 * document, so clients may cache it forever.
 *
 * Threads: any. If two threads request a missing document at the same time, both may make it, and
 * one result is kept.
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
 * For these kinds, which are borrowed. Takes over the documents of `before` (may be NULL) for
 * group versions with the same kinds.
 */
struct openapi *openapi_new(const struct gates *gates, const struct schema_kind *const *kinds,
			    size_t nkinds, const struct openapi *before);
void openapi_free(struct openapi *o);

/*
 * The document at a path, in the first available type of the Accept header (may be empty). It
 * lives as long as `o`. -ERR_NOT_FOUND, -ERR_NOT_ACCEPTABLE, -ERR_TOO_LARGE.
 *
 * A request for a document of /openapi/v3/ may have `?hash=`. If that differs from
 * document_hash(), reply 301 to the same path with the right hash.
 */
int openapi_get(struct openapi *o, struct str path, struct str accept,
		const struct document **ret_document, struct error *err);

#endif
