/*
 * document_lazy - a document that is made on first demand.
 *
 * Reference-counted, so that successive catalogues share unchanged documents.
 *
 * Threads: any. If two threads request a missing document at the same time, both may make it, and
 * one result is kept.
 */
#ifndef SERVER_PUBLISH_DOCUMENT_LAZY_H
#define SERVER_PUBLISH_DOCUMENT_LAZY_H

#include <stdatomic.h>

#include "server/publish/document.h"

struct document_lazy {
	atomic_uint refs;
	_Atomic(struct document *) document;
};

struct document_lazy *document_lazy_new(void);
struct document_lazy *document_lazy_ref(struct document_lazy *l);
void document_lazy_unref(struct document_lazy *l); /* NULL allowed */

/*
 * The document, which lives as long as `l`. If it does not exist yet, `print` makes it in a
 * buffer of at most `max` bytes. NULL if it does not fit.
 */
const struct document *document_lazy_get(struct document_lazy *l, size_t max,
					 const char *content_type,
					 void (*print)(void *arg, struct buf *out), void *arg);

#endif
