/*
 * selector_trial - compiles the device expressions of a body before the write is decided.
 *
 * Compiling them can take a hundred times as long as the rest of a write. A trial compiles in
 * parts, so that other requests are served in between. The decision then finds the verdicts here
 * and compiles nothing. Expressions without a verdict are compiled as usual: a trial only saves
 * time.
 *
 * Texts and the body are borrowed; verdicts are in the given arena.
 * Threads: one at a time.
 */
#ifndef API_DEVICES_SELECTOR_TRIAL_H
#define API_DEVICES_SELECTOR_TRIAL_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct cel_budget;
struct gates;
struct json;
struct known_selectors;
struct schema_kind;
struct selector_trial;

/* Everything that validation needs to know about an expression, whatever its use. */
struct selector_verdict {
	struct str text;
	uint64_t steps; /* cost of compiling it; see struct cel_budget */
	uint64_t cost; /* maximum cost of evaluating it */
	bool compiled;
	bool complex; /* compiling it takes more than SELECTOR_COMPILE_MAX steps */
	bool internal; /* `fault` is an internal error upstream */
	struct str fault; /* why it does not compile */
	/* Why it is not a valid selector, or derived attribute; empty: it is valid. */
	struct str unselecting, underivable;
};

/* Compiles the text and returns the verdict. The budget may be NULL; this can use it up. */
struct selector_verdict selector_judge(struct str text, const struct gates *gates,
				       struct cel_budget *budget, struct arena *a);

/*
 * Starts a trial of all expressions in an object of this kind, or in a patch of one, that `known`
 * does not have. Returns NULL if nothing is left to compile. Lives as long as the arena.
 */
struct selector_trial *selector_trial_new(struct arena *a, const struct schema_kind *kind,
					  const struct json *body, const struct gates *gates,
					  const struct known_selectors *known);

/*
 * Compiles expressions until that took `steps` steps, or none is left. A single expression may
 * exceed the limit. Returns false when the trial is finished.
 */
bool selector_trial_go_on(struct selector_trial *t, uint64_t steps);

/* Returns the verdict on an expression, or NULL. The trial may be NULL. */
const struct selector_verdict *selector_trial_find(const struct selector_trial *t, struct str text);

#endif
