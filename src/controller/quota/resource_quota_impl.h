/*
 * resource_quota_impl - the parts of the controller of quotas: whom it follows
 * (resource_quota_follow.c) and what it writes (resource_quota.c).
 */
#ifndef CONTROLLER_QUOTA_RESOURCE_QUOTA_IMPL_H
#define CONTROLLER_QUOTA_RESOURCE_QUOTA_IMPL_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "client/informer/informer.h"
#include "controller/quota/book.h"
#include "controller/quota/resource_quota.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"
#include "net/loop/loop.h"

/* A kind that some quota names. */
struct quota_followed {
	struct resource_quotas *owner;
	unsigned id;
	struct quota_kind kind; /* its text is in the arena */
	struct arena arena;
	struct resource resource;
	/* `handler.informer` is NULL while it is not followed: nobody serves it, it seems. */
	struct informer_handler handler;
	bool looked; /* discovery has been asked for it */
};

struct resource_quotas {
	struct context ctx;
	struct quota_book *book;
	struct resource resource, class_resource;
	struct informer *quotas;
	struct informer_handler on_quotas;
	struct informer_handler on_classes; /* in no informer until claims are followed */
	VEC(struct quota_followed *) kinds;
	struct map tallies; /* struct tallied by key */
	struct workqueue *queue;
	struct list jobs;
	struct arena scratch, context_arena;
	struct served_wait wait;
	struct loop_timer look; /* for kinds that were not served */
	struct loop_timer recount; /* everything */
	bool muted; /* a namespace is being put in anew */
};

/* Follows what a quota with these names is counted by, and asks for what is not known. */
void resource_quotas_follow(struct resource_quotas *r, const struct amount_list *names);

/* Puts the namespace's objects into the book, which has forgotten them. */
void resource_quotas_refill(struct resource_quotas *r, struct str ns);

/* Whether all of this kind has been seen; or is not served, then *ret_counts is false. */
bool resource_quotas_knows(const struct quota_followed *f, bool *ret_counts);

/* A context for this turn; what it returns lives in context_arena. */
struct quota_context resource_quotas_context(struct resource_quotas *r);

/* All quotas are counted anew. */
void resource_quotas_recount(struct resource_quotas *r);

/* Sums have changed, or whether they are known. */
void resource_quotas_touch(struct resource_quotas *r, struct str ns, struct str name, bool less);
/* A counted object uses so much less. */
void resource_quotas_freed(struct resource_quotas *r, struct str ns, struct str name,
			   const struct amount *amount);
void resource_quotas_touch_all(struct resource_quotas *r);

void resource_quotas_follow_init(struct resource_quotas *r);
void resource_quotas_follow_release(struct resource_quotas *r);

#endif
