/*
 * dra_state - devices and claims as the scheduler knows them: what was seen, and what was decided.
 *
 * Holds the inventory of src/dra and the claims by key with what this process has written or is
 * writing on top, until the watch shows it (upstream's assume cache): a claim that we allocated
 * is allocated for the next cycle, whatever the watch says yet.
 *
 * The scheduler's event handlers tell it of claims, slices, classes and taint rules before the
 * queue is told of the event.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_DRA_STATE_H
#define SCHEDULER_DRA_STATE_H

#include "base/error.h"
#include "base/str.h"

struct cached;
struct dra_state;
struct gates;
struct inventory;
struct log;

struct dra_state *dra_state_new(const struct gates *gates, const struct log *log);
void dra_state_free(struct dra_state *s);
struct inventory *dra_state_inventory(struct dra_state *s);

/* An object as the watch shows it. */
void dra_state_put_claim(struct dra_state *s, struct cached *o);
void dra_state_remove_claim(struct dra_state *s, struct cached *o);
void dra_state_put_slice(struct dra_state *s, struct cached *o);
void dra_state_remove_slice(struct dra_state *s, struct cached *o);
void dra_state_put_class(struct dra_state *s, struct cached *o);
void dra_state_remove_class(struct dra_state *s, struct cached *o);
void dra_state_put_taint_rule(struct dra_state *s, struct cached *o);
void dra_state_remove_taint_rule(struct dra_state *s, struct cached *o);

/* A claim with what we know beyond the watch; NULL: none. Borrowed until the next change. */
struct cached *dra_state_claim(const struct dra_state *s, struct str key);

#endif
