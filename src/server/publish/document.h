/*
 * document - a reply that is made once and sent many times.
 *
 * For discovery and OpenAPI: bytes, a content type, and an ETag by which clients recognize a copy
 * that they already have. The ETag is a hash of the bytes, so it is the same on every server with
 * the same build and settings.
 *
 * Threads: constant once made; any thread may read.
 */
#ifndef SERVER_PUBLISH_DOCUMENT_H
#define SERVER_PUBLISH_DOCUMENT_H

#include "base/core/buf.h"
#include "base/core/bytes.h"

/* 32 hex digits in double quotes, and a NUL. */
enum { DOCUMENT_ETAG_SIZE = 35 };

struct document {
	struct bytes *bytes; /* the document holds one reference */
	struct bytes *zipped; /* the same, gzipped; NULL: too small to be worth it */
	const char *content_type;
	char etag[DOCUMENT_ETAG_SIZE]; /* with its quotes, as in the header */
};

/* Takes over the content of `content`, which is left empty. */
void document_init(struct document *d, struct buf *content, const char *content_type);
void document_release(struct document *d);

/* The hash in the ETag, without quotes: for URLs that change with their content. */
struct str document_hash(const struct document *d);

/* Whether an If-None-Match header names this ETag (quotes included): then reply 304. */
bool document_matches(const struct document *d, struct str if_none_match);
bool document_tag_matches(const char *etag, struct str if_none_match);

#endif
