/*
 * resource_quota_impl - the two parts of the quota controller: the informers
 * (resource_quota_follow.c) and the writes (resource_quota.c).
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
#include "controller/shared/work.h"
#include "net/loop/loop.h"

/* A kind that some quota names. */
struct quota_followed {
	struct resource_quotas *owner;
	unsigned id;
	struct quota_kind kind; /* its text is in the arena */
	struct arena arena;
	struct resource resource;
	/*
	 * `handler.informer` is NULL while the kind is not followed, because discovery does not
	 * list it.
	 */
	struct informer_handler handler;
	bool looked; /* discovery has been checked for it */
};

struct resource_quotas {
	struct context ctx;
	struct quota_book *book;
	struct resource resource, class_resource;
	struct informer *quotas;
	struct informer_handler on_quotas;
	struct informer_handler on_classes; /* not added to an informer until claims are followed */
	VEC(struct quota_followed *) kinds;
	struct map tallies; /* struct tallied by key */
	struct workqueue *queue;
	struct works jobs;
	struct arena scratch, context_arena;
	struct served_wait wait;
	struct loop_timer look; /* checks discovery for kinds that were not served */
	struct loop_timer recount; /* recounts everything */
	bool muted; /* a namespace is being refilled */
};

/* Follows the kinds that count towards these names, and checks discovery for unknown ones. */
void resource_quotas_follow(struct resource_quotas *r, const struct amount_list *names);

/* Puts the namespace's objects into the book again, after it dropped them. */
void resource_quotas_refill(struct resource_quotas *r, struct str ns);

/*
 * Whether all objects of this kind have been seen. Also true if it is not served; then *ret_counts
 * is false.
 */
bool resource_quotas_knows(const struct quota_followed *f, bool *ret_counts);

/* A context for this turn; its results live in context_arena. */
struct quota_context resource_quotas_context(struct resource_quotas *r);

/* A sum has changed, or whether it is known. */
void resource_quotas_touch(struct resource_quotas *r, struct str ns, struct str name, bool less);
/* A counted object uses less, by this amount. */
void resource_quotas_freed(struct resource_quotas *r, struct str ns, struct str name,
			   const struct amount *amount);
void resource_quotas_touch_all(struct resource_quotas *r);

void resource_quotas_follow_init(struct resource_quotas *r);
void resource_quotas_follow_release(struct resource_quotas *r);

#endif
