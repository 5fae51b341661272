/*
 * document_lazy - a document that is made when it is first asked for.
 *
 * Counted, so that what did not change is shared by catalogues that follow each
 * other. Threads: any; two that ask at once for what is not there yet may both
 * make it, and one result is kept.
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
 * The document, which lives as long as `l`; printed by `print` into a buffer of the limit when
 * there is none yet. NULL when it does not fit.
 */
const struct document *document_lazy_get(struct document_lazy *l, size_t max,
					 const char *content_type,
					 void (*print)(void *arg, struct buf *out), void *arg);

#endif
