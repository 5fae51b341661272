/*
 * The functions of a binding that plugins call.
 */
#include "scheduler/framework/binding.h"

struct cycle *binding_cycle(struct binding *b)
{
	return b->cycle;
}

struct podinfo *binding_pod(struct binding *b)
{
	return b->cycle->pod;
}

struct str binding_node(struct binding *b)
{
	return b->node;
}

bool binding_cancelled(const struct binding *b)
{
	return b->cancelled;
}

void binding_note_gone(struct binding *b)
{
	b->gone = true;
}

bool binding_gone(const struct binding *b)
{
	return b->gone || b->cancelled;
}

void binding_note_doubt(struct binding *b)
{
	b->doubted = true;
}

bool binding_doubted(const struct binding *b)
{
	return b->doubted;
}

void binding_on_cancel(struct binding *b, void (*fn)(void *arg, struct binding *b), void *arg)
{
	b->on_cancel = fn;
	b->cancel_arg = arg;
}

void binding_done(struct binding *b, struct verdict v)
{
	b->done(b, v);
}

void binding_failed(struct binding *b, const struct error *why)
{
	binding_done(b, verdict_print(&b->cycle->arena, VERDICT_ERROR, "%s", why->msg));
}
