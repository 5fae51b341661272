/*
 * selector_trial - the expressions about devices in a body, judged before the write is decided.
 *
 * Compiling them can take a hundred times as long as all else that a write does. A trial does it in
 * parts, so that others are served in between; the decision then finds the verdicts here and
 * compiles nothing. Expressions without a verdict are judged as ever: a trial saves time and
 * decides nothing.
 *
 * Texts and the body are borrowed; verdicts are in the arena given.
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

/* All that validation wants to know about one expression, whatever it is used for. */
struct selector_verdict {
	struct str text;
	uint64_t steps; /* that compiling took; see struct cel_budget */
	uint64_t cost; /* of evaluating it, at most */
	bool compiled;
	bool complex; /* compiling it takes more than SELECTOR_COMPILE_MAX */
	bool internal; /* `fault` is an internal error upstream */
	struct str fault; /* of one that does not compile */
	/* Why it does not yield what a selector, or a derived attribute, must; empty: it does. */
	struct str unselecting, underivable;
};

/* Compiles the text and says what came of it. The budget may be NULL; it may be spent by this. */
struct selector_verdict selector_judge(struct str text, const struct gates *gates,
				       struct cel_budget *budget, struct arena *a);

/*
 * A trial of all expressions in an object of this kind, or in a patch of one, that are not known.
 * NULL: there are none. Lives as long as the arena.
 */
struct selector_trial *selector_trial_new(struct arena *a, const struct schema_kind *kind,
					  const struct json *body, const struct gates *gates,
					  const struct known_selectors *known);

/*
 * Judges until that took so many steps, or there are no more; one expression may take more than
 * that. False: it is over.
 */
bool selector_trial_go_on(struct selector_trial *t, uint64_t steps);

/* The verdict on an expression; NULL: it was not judged. The trial may be NULL. */
const struct selector_verdict *selector_trial_find(const struct selector_trial *t, struct str text);

#endif
