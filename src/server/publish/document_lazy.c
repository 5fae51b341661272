/*
 * The document is stored by compare-and-swap; the thread that loses the race frees its copy.
 */
#include "server/publish/document_lazy.h"

#include <stdlib.h>

#include "base/core/mem.h"

struct document_lazy *document_lazy_new(void)
{
	struct document_lazy *l = XNEW(struct document_lazy);

	atomic_init(&l->refs, 1);
	atomic_init(&l->document, NULL);
	return l;
}

struct document_lazy *document_lazy_ref(struct document_lazy *l)
{
	atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

static void document_free(struct document *d)
{
	if (!d)
		return;
	document_release(d);
	free(d);
}

void document_lazy_unref(struct document_lazy *l)
{
	if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) > 1)
		return;
	document_free(atomic_load(&l->document));
	free(l);
}

const struct document *document_lazy_get(struct document_lazy *l, size_t max,
					 const char *content_type,
					 void (*print)(void *arg, struct buf *out), void *arg)
{
	struct document *there = atomic_load_explicit(&l->document, memory_order_acquire);
	struct buf out = BUF_INIT(max);
	struct document *mine;

	if (there)
		return there;
	print(arg, &out);
	if (out.overflow) {
		buf_release(&out);
		return NULL;
	}
	mine = XNEW(struct document);
	document_init(mine, &out, content_type);
	if (atomic_compare_exchange_strong_explicit(&l->document, &there, mine,
						    memory_order_acq_rel, memory_order_acquire))
		return mine;
	document_free(mine);
	return there;
}
