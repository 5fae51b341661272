/*
 * document - an answer that is made once and sent many times.
 *
 * Discovery and OpenAPI are such: bytes, what they are, and an ETag by which
 * clients find out that they have them already. The ETag is a hash of the
 * bytes, so it is the same in every server of the same build and settings.
 * Threads: constant once made; anybody may read.
 */
#ifndef SERVER_PUBLISH_DOCUMENT_H
#define SERVER_PUBLISH_DOCUMENT_H

#include "base/core/buf.h"
#include "base/core/bytes.h"

/* 32 hex digits in double quotes, and a NUL. */
enum { DOCUMENT_ETAG_SIZE = 35 };

struct document {
	struct bytes *bytes; /* whoever has the document holds one reference */
	struct bytes *zipped; /* the same, gzipped; NULL: too small to be worth it */
	const char *content_type;
	char etag[DOCUMENT_ETAG_SIZE]; /* with its quotes, as it goes into the header */
};

/* Takes the content of `content`, which is left empty. */
void document_init(struct document *d, struct buf *content, const char *content_type);
void document_release(struct document *d);

/* The hash of the ETag without quotes: for URLs that change with their content. */
struct str document_hash(const struct document *d);

/* Whether an If-None-Match header names this ETag, which has its quotes: answer 304. */
bool document_matches(const struct document *d, struct str if_none_match);
bool document_tag_matches(const char *etag, struct str if_none_match);

#endif
