/*
 * cel_answer - one expression, evaluated for people and scripts.
 */
#ifndef CLI_CEL_ANSWER_H
#define CLI_CEL_ANSWER_H

#include "base/json/writer.h"
#include "cel/run/program.h"
#include "cli/program/cli.h"

struct cel_question {
	struct str text;
	struct str container; /* of struct cel_env */
	const struct json *vars; /* an object: one variable per member, of type dyn; or NULL */
	const struct cel_library *const *libraries;
	unsigned flags; /* of struct cel_env */
	/*
	 * When the checker refuses the expression, evaluate it all the same, without types: CEL's
	 * typing is gradual.
	 */
	bool lenient;
};

struct cel_answer {
	struct cel_value value; /* CEL_ERROR: see fault */
	struct str fault; /* why there is no value; or empty */
	struct cel_issues refused; /* when it did not compile */
	struct str issues; /* of the checker, although there is a value; or empty */
	uint64_t cost;
	struct cel_cost estimate; /* when it compiled */
	bool compiled;
};

/* All memory is the arena's, from which ev->scratch is taken, too. */
void cel_answer_find(struct cel_answer *answer, const struct cel_question *q, struct cel_eval *ev,
		     struct arena *a);

/* {"type":..,"value":..} or {"error":..}; "issues" beside a value where there are some. */
void cel_answer_write(const struct cel_answer *answer, struct cel_eval *ev, struct json_writer *w);

/*
 * Tells all issues of an expression, as long as they are, on the error stream. Returns
 * -ERR_INVALID.
 */
int cel_refuse(struct cli *cli, const struct cel_issues *issues, struct error *err);

#endif
